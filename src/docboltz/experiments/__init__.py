"""Models trained, measured and compared: one engine for `compare`, `tune` and `reproduce`.

`models` is the registry, `trial` says what is tried, `record` what was found; `measuring` turns one
into the other, and `running` does so for many, keeps what is done and goes on after an interrupt.
`comparison`, `tuning` and `reproduction` are lists of trials; the rest of the files report on them.
"""

from docboltz.experiments.comparison import compare
from docboltz.experiments.models import Settings
from docboltz.experiments.reproduction import reproduce
from docboltz.experiments.tuning import tune

__all__ = ["Settings", "compare", "reproduce", "tune"]
