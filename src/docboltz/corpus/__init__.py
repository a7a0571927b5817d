"""Text to counts."""
