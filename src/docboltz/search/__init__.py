"""Vectors → hits: a collection's features and words on disk, and exact search in them.

NumPy and SciPy's sparse matrices only: a search must not wait for torch to be imported.
"""
