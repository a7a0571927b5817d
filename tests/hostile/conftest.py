from __future__ import annotations

from tests.cli.conftest import _fitted, corpus, docboltz, model

__all__ = ["_fitted", "corpus", "docboltz", "model"]
