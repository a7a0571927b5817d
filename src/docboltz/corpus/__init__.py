"""Text → counts.

`readers` gives a stream of documents, `text` says how they become terms, `counting` turns the
stream into a `counts.Corpus` with its `vocabulary`, and `datasets` has collections to try it on.
"""
