"""What was found of a trial: a typed record, kept as a file of JSON and strict when read back."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from docboltz.errors import DocboltzError, InvalidParameter
from docboltz.estimator.density import Perplexity
from docboltz.evaluation.by_length import ByLength, by_length
from docboltz.experiments.table1 import Table1
from docboltz.experiments.topics import TopicMeasures
from docboltz.experiments.trial import Trial
from docboltz.storage import parse_json, read_file, typed, write_text

Status = Literal["done", "incomplete", "failed", "skipped"]
FOLDER = "trials"
"""Where records are, below the folder of a run's results."""


@dataclass(frozen=True)
class Estimate:
    """A perplexity and its standard errors; None where one is not known."""

    value: float | None
    error: float | None
    documents_error: float | None
    numerator_error: float | None
    partition_error: float | None
    largest_log_partition_error: float | None
    method: str
    n_documents: int

    @classmethod
    def of(cls, found: Perplexity) -> Estimate:
        """Keep of a perplexity what a file can hold."""
        zeta = found.log_partition
        return cls(
            _finite(found.value),
            _finite(found.error),
            _finite(found.documents_error),
            _finite(found.numerator_error),
            _finite(found.partition_error),
            None if zeta is None else _finite(zeta.error.max()),
            found.method,
            found.n_documents,
        )


@dataclass(frozen=True)
class LengthCurve:
    """A `ByLength` with one entry for each length, as it is plotted, and its fifths."""

    length: tuple[int, ...]
    n: tuple[int, ...]
    value: tuple[float, ...]
    smoothed: tuple[float, ...]
    window: int
    n_left_out: int
    fifths: tuple[float, ...] | None
    """Mean of the shortest fifth of the documents, …, of the longest; None if they are too few."""

    @classmethod
    def of(cls, found: ByLength) -> LengthCurve:
        """Take the mean over the documents of each length."""
        length, where, n = np.unique(found.length, return_inverse=True, return_counts=True)
        return cls(
            tuple(length.tolist()),
            tuple(n.tolist()),
            rounded(np.bincount(where, found.value) / n),
            rounded(np.bincount(where, found.smoothed) / n),
            found.window,
            found.n_left_out,
            tuple(found.quantile_means(5).tolist()) if len(found.value) >= 5 else None,
        )

    @property
    def fifth_lengths(self) -> list[tuple[int, int]]:
        """The shortest and the longest length of each fifth."""
        fifths = np.array_split(np.repeat(self.length, self.n), 5)
        return [(int(group[0]), int(group[-1])) for group in fifths if len(group)]

    def expand(self, smoothed: Any = None) -> ByLength:
        """A measure to plot: every document has the mean of those of its length."""
        value, length = np.repeat(self.value, self.n), np.repeat(self.length, self.n)
        smooth = np.repeat(self.smoothed if smoothed is None else smoothed, self.n)
        found = by_length(value, length, window=self.window)
        return dataclasses.replace(found, smoothed=smooth, n_left_out=self.n_left_out)


@dataclass
class Record:
    """What is known of a trial, filled in as it is found; None where something was not measured."""

    trial: Trial
    documents: str
    """Fingerprint of the split it was made on."""
    status: Status = "done"
    """"incomplete" if some measure failed, "failed" if the training did, "skipped" if this machine
    cannot do it; all of them are tried again."""
    reason: str = ""
    """Why it is not done."""
    notes: tuple[str, ...] = ()
    """Warnings, and what went otherwise than it should."""
    environment: dict[str, str] = field(default_factory=dict)
    began: float = 0.0
    ended: float = 0.0
    """Seconds since 1970."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Of training, perplexity, inference, evaluation."""
    settings: dict[str, Any] = field(default_factory=dict)
    """All parameters of the estimator."""
    n_features: int | None = None
    n_parameters: int | None = None
    mean_latent_words: float | None = None
    documents_per_second: float | None = None
    """Test documents turned into features."""
    mean_average_precision: float | None = None
    precision_at_10: float | None = None
    precision_at_recall: tuple[float, ...] | None = None
    """At each of `evaluation.retrieval.RECALL_POINTS`."""
    by_length: LengthCurve | None = None
    """Average precision of the queries by length."""
    classification: float | None = None
    """Accuracy, or mean average precision where documents have several labels."""
    C: float | None = None
    """Inverse strength of the classifiers' penalty."""
    halves_found: float | None = None
    """Share of halves of test documents that find the other half."""
    perplexity: Estimate | None = None
    table1: Table1 | None = None
    """What else Table 1 says of its perplexity."""
    topics: TopicMeasures | None = None
    """How good its topics are, as many as `Measures.topics`."""

    @property
    def trained(self) -> bool:
        """Whether there is anything to show."""
        return self.status in ("done", "incomplete")

    def stop(self, status: Status, reason: str) -> None:
        """Keep why the trial, or a part of it, is not done."""
        self.status, self.reason = status, "; ".join(filter(None, (self.reason, reason)))

    def note(self, *messages: str) -> None:
        """Keep remarks, each once."""
        self.notes = tuple(dict.fromkeys((*self.notes, *messages)))

    def get(self, path: str) -> Any:
        """What is in a field, or in one of a part: "perplexity.value"; None where nothing is."""
        value: Any = self
        for name in path.split("."):
            value = value.get(name) if isinstance(value, dict) else getattr(value, name, None)
        return value

    def summary(self) -> str:
        """The figures that matter, on one line."""
        if not self.trained:
            return f"{self.status}: {self.reason}"
        shown = [f"{self.seconds.get('training', 0.0):,.1f} s of training"]
        for name, path, digits in (
            ("MAP", "mean_average_precision", 3),
            ("P@10", "precision_at_10", 3),
            ("classification", "classification", 3),
            ("halves found", "halves_found", 3),
            ("NMI", "topics.agreement.nmi", 3),
            ("coherence", "topics.coherence", 3),
            ("perplexity", "perplexity.value", 1),
        ):
            if (value := self.get(path)) is not None:
                shown.append(f"{name} {value:,.{digits}f}")
        return ", ".join([*shown, *([self.reason] if self.reason else [])])

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON can hold it."""
        found: dict[str, Any] = plain(self)
        return found

    @classmethod
    def from_dict(cls, given: Any) -> Record:
        """What `to_dict` gave; InvalidParameter for anything else."""
        try:
            record: Record = typed(cls, given, "record")
        except DocboltzError as error:
            raise InvalidParameter(f"it does not describe a trial ({error})") from error
        return record

    def write(self, folder: Path) -> None:
        """Keep it below the folder of a run's results: whole or not at all."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        write_text(folder / FOLDER / f"{self.trial.name}.json", text + "\n")


def read_records(folder: Path) -> dict[str, Record]:
    """The records of a run's folder, by the trials' names."""
    found = {}
    for file in sorted((folder / FOLDER).glob("[!.]*.json")):
        try:
            record = Record.from_dict(parse_json(read_file(file)))
            if record.trial.name != file.stem:
                raise InvalidParameter(f"it is that of {record.trial.name}")
        except (OSError, ValueError, ArithmeticError) as error:
            raise InvalidParameter(
                f"{file} is not the record of a trial: {error}.",
                hint="Remove it to have it run anew.",
            ) from error
        found[file.stem] = record
    return found


def wall_seconds(records: Iterable[Record]) -> float:
    """Seconds during which any of the trials was under way."""
    total, until = 0.0, 0.0
    for record in sorted(records, key=lambda record: record.began):
        total += max(0.0, record.ended - max(record.began, until))
        until = max(until, record.ended)
    return total


def plain(value: Any) -> Any:
    """What JSON can hold; numbers that are not finite become None."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return _finite(value)
    if value is None or isinstance(value, str | int):
        return value
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    return str(value)


def rounded(values: Any) -> tuple[float, ...]:
    """As many digits as anyone plots."""
    return tuple(round(float(value), 5) for value in values)


def _finite(value: Any) -> float | None:
    return float(value) if math.isfinite(value) else None
