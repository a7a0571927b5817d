"""Features of a collection → topics people can read: groups, their tree, words and names."""
