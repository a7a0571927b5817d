"""The page and the server, over the verbs of `TextModel` and nothing below them."""
