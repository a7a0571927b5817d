"""Features → topics that people can read: groups, their tree, words, names, documents."""
