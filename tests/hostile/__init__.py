"""What somebody may do to docboltz, on purpose or by accident: one file a kind of it."""
