"""Text → counts.

`reading` gives a stream of documents, `analysis` says how they become terms, `counting` turns the
stream into a `corpus.Corpus` with its vocabulary, and `datasets` has collections to try it on.
"""
