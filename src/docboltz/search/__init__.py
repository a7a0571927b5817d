"""Features → search: a collection's feature vectors on disk, and exact cosine search in them."""
