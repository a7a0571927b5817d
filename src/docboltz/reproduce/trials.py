"""What is run: every dataset, model, number of topics and seed.

>>> trials(QUICK, 1)[0].name
'20news-2000_ORS-M100_F128_seed0'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from docboltz.errors import InvalidParameter
from docboltz.reproduce.models import KINDS, QUICK, Effort, Kind

__all__ = ["QUICK", "Trial", "part_of", "select", "trials"]

DENSITY_TOPICS = 128
"""Table 1 is for this number of topics."""


@dataclass(frozen=True)
class Trial:
    """A model trained once."""

    dataset: str
    model: str
    n_topics: int
    """0 for a model without topics."""
    seed: int

    @property
    def kind(self) -> Kind:
        """The model's entry."""
        return KINDS[self.model]

    @property
    def name(self) -> str:
        """What its file is called."""
        size = f"_F{self.n_topics}_seed{self.seed}" if self.n_topics else ""
        return f"{self.dataset}_{self.model}{size}"

    @property
    def measures_density(self) -> bool:
        """Whether its perplexity is measured."""
        return self.kind.density and self.n_topics in (0, DENSITY_TOPICS)

    def expected_seconds(self, effort: Effort, *, cuda: bool) -> float:
        """Roughly how long it takes: a guess from what its steps take on an H200 or a CPU core."""
        if effort.name == "quick":
            return {"Unigram": 2.0, "TF-IDF": 45.0, "LSI": 25.0}.get(self.model, 80.0)
        if cuda:  # other cores do the rest meanwhile
            usual = {"DocNADE": 25.0}.get(self.model, 45.0 if self.kind.for_density else 12.0)
            return usual if self.kind.on_device else 0.0
        if self.model == "LDA":
            return 300.0 + self.n_topics if find_spec("tomotopy") else 0.0
        longer = 8.0 if self.kind.for_density else 1.0
        return 500.0 * longer * self.n_topics / 128 if self.kind.topic_model else 60.0


def trials(effort: Effort, n_seeds: int) -> list[Trial]:
    """All trials: for each seed, dataset and size the models, those that matter most first."""
    found = []
    for seed in range(n_seeds):
        for dataset in effort.datasets:
            for size in (*effort.n_topics, 0):
                found += [
                    Trial(dataset, model, size, seed)
                    for model, kind in KINDS.items()
                    if kind.takes_part(effort, dataset, size, seed)
                ]
    return found


def part_of(all_trials: Sequence[Trial], part: str) -> list[Trial]:
    """Every N-th trial from the I-th on, for a part "I/N".

    >>> [t.model for t in part_of(trials(QUICK, 1), "2/4")]
    ['RS', 'LDA']
    """
    number, slash, parts = part.partition("/")
    ok = bool(slash) and number.isdecimal() and parts.isdecimal()
    if not ok or not 1 <= int(number) <= int(parts):
        raise InvalidParameter(
            f"--part must be I/N, the I-th of N parts, such as 1/4 to 4/4. Got {part!r} instead."
        )
    return list(all_trials[int(number) - 1 :: int(parts)])


def select(some: Sequence[Trial], pattern: str) -> list[Trial]:
    """Those whose name contains a pattern."""
    chosen = [trial for trial in some if pattern in trial.name]
    if not chosen:
        raise InvalidParameter(
            f"--only must be part of a trial's name, such as {some[0].name}. Got {pattern!r} "
            "instead."
        )
    return chosen
