"""The command `docboltz`: parse, call, print."""
