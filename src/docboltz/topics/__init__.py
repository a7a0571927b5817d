"""Features → topics that people can read."""
