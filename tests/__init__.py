"""docboltz comes before torch, whose threads it makes polite on shared cores."""

import docboltz  # noqa: F401
