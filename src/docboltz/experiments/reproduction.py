"""The paper's comparison: which trials it takes, all of them or a few.

>>> PLANS["quick"].trials(1)[0].name
'20news-2000_RS-paper_F128_seed0'
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, NamedTuple

from docboltz.device import choose_device
from docboltz.errors import InvalidParameter, require, whole_number
from docboltz.experiments.datasets import REUTERS, Sources
from docboltz.experiments.models import MODELS, Settings
from docboltz.experiments.record import Record, read_records, wall_seconds
from docboltz.experiments.running import Log, no_log, run
from docboltz.experiments.trial import Measures, Trial

DENSITY_UNITS = 128
"""Table 1 is for this number of units."""
CHOSEN = "chosen"
CHOSEN_FOR_DENSITY = {"20news-2000": 10, REUTERS: 10}
"""M that suits the density on each dataset: fewer latent words than the paper has."""

Purpose = Literal["features", "paper", "density"]
"""What a model is trained for: good features, Table 1 as the paper made it, or a good density."""


class Entry(NamedTuple):
    """A model that takes part."""

    model: str
    latent_words: int | str = "auto"
    """As `Settings` has it, or CHOSEN."""
    purpose: Purpose = "features"
    """All but the first are tried with DENSITY_UNITS alone."""
    every_size: bool = True
    """Whether it is tried with all numbers of units, not with DENSITY_UNITS alone."""


ENTRIES = (
    Entry("ors", 100),
    Entry("rs"),
    Entry("docnade"),
    Entry("rs", purpose="paper"),
    Entry("ors", 50, "paper"),
    Entry("ors", 100, "paper"),
    Entry("rs", purpose="density"),
    Entry("ors", CHOSEN, "density"),
    Entry("ors", 100, "density"),
    Entry("ors", 50, "density"),
    Entry("ors", 50),
    Entry("ors", "N", every_size=False),
    # With it a document has 129 latent words on average on 20 Newsgroups and 94 on Reuters. The
    # longest document of all has thousands of words.
    Entry("ors", "200-N", every_size=False),
    Entry("lsi"),
    Entry("tfidf"),
    Entry("unigram"),
    Entry("lda"),
)
"""Those that matter most come first."""


def _turn(trial: Trial) -> tuple[bool, bool]:
    """The paper's way comes first, and of it Reuters, which takes the longest of all."""
    other = trial.settings.recipe != "paper"
    return other, other or trial.dataset != REUTERS


@dataclass(frozen=True)
class Plan:
    """How much is done: all of it, or less."""

    name: str
    datasets: tuple[str, ...]
    sizes: tuple[int, ...]
    n_seeds: int
    """Seeds unless the user asks for others."""
    recipe: str
    density_recipe: str
    shorter: int
    """By how much the updates of the paper's way of training are divided."""
    measures: Measures
    entries: tuple[Entry, ...] = ENTRIES
    remark: str = ""
    """What the reader of the results has to know about it."""

    @property
    def features(self) -> bool:
        """Whether models are trained for their features, too."""
        made = (entry for entry in self.entries if entry.purpose == "features")
        return any(MODELS[entry.model].features for entry in made)

    @property
    def variants(self) -> set[str]:
        """The models that take part, as `Trial.variant` calls them."""
        return {trial.variant for trial in self.trials(1)}

    def trials(self, n_seeds: int) -> list[Trial]:
        """All trials: those of the paper's way, then for each seed, dataset and size the models."""
        every = (
            self._trial(entry, dataset, size, seed)
            for seed in range(n_seeds)
            for dataset in self.datasets
            for size in (*self.sizes, 0)
            for entry in self.entries
            if self._takes_part(entry, size, seed)
        )
        once = dict.fromkeys(every)  # M that is chosen may be one of the paper's
        return sorted(once, key=_turn)

    def _takes_part(self, entry: Entry, size: int, seed: int) -> bool:
        """Tell whether a model is tried with so many units, 0 for none, and this seed."""
        if not MODELS[entry.model].sized:
            return size == seed == 0
        every_size = entry.every_size and entry.purpose == "features"
        return size > 0 if every_size else size == DENSITY_UNITS

    def _trial(self, entry: Entry, dataset: str, size: int, seed: int) -> Trial:
        latent = CHOSEN_FOR_DENSITY[dataset] if entry.latent_words == CHOSEN else entry.latent_words
        recipes = {"features": self.recipe, "paper": "paper", "density": self.density_recipe}
        shorter = self.shorter if entry.purpose == "paper" else 1
        units, recipe = size or DENSITY_UNITS, recipes[entry.purpose]
        settings = Settings(units, recipe, latent, seed=seed, shorter=shorter)
        measures = self.measures
        if entry.purpose != "features":
            measures = replace(measures, retrieval=False, classification=False)
        elif MODELS[entry.model].softmax or size not in (0, DENSITY_UNITS):
            measures = Measures(chooses_penalty=measures.chooses_penalty)
        # Variational inference would do without, but the paper's LDA is by Gibbs sampling.
        needs = "tomotopy" if entry.model == "lda" else ""
        return Trial(entry.model, settings, measures, dataset, needs)


PLANS = {
    plan.name: plan
    for plan in (
        Plan(
            name="full",
            datasets=("20news-2000", REUTERS),
            sizes=(128, 512),
            n_seeds=3,
            recipe="two phases",
            density_recipe="density",
            shorter=1,
            measures=Measures(predicted=1000, longest=1000, draws=10),
        ),
        Plan(
            name="quick",
            datasets=("20news-2000",),
            sizes=(128,),
            n_seeds=1,
            recipe="reduced",
            density_recipe="reduced density",
            shorter=100,
            measures=Measures(chooses_penalty=False, predicted=40, longest=100, draws=2),
            entries=tuple(entry for entry in ENTRIES if entry.every_size),
            remark=(
                "This is a reduced run, `quick`: 20 Newsgroups alone, 128 units, one seed; "
                "features of the Replicated and the Over-Replicated Softmax by contrastive "
                'divergence alone (`recipe="quick"`), their density by 600 updates of maximum '
                "likelihood instead of 50,000 and with a quarter of the chains; DocNADE with "
                "1,000 updates instead of 6,000, LDA with 150 sweeps instead of 500 and 20 sweeps "
                "of inference instead of 100; a fixed penalty of the classifiers; perplexity on "
                "40 test documents of up to 100 words, of which 2 draws instead of 10 are made. "
                "It shows that everything works. It is not what the models can do."
            ),
        ),
        Plan(
            name="table 1",
            datasets=("20news-2000", REUTERS),
            sizes=(128,),
            n_seeds=3,
            recipe="reduced",
            density_recipe="shorter density",
            shorter=20,
            measures=Measures(retrieval=False, predicted=1000, longest=300, multiple=5, draws=10),
            entries=tuple(
                entry
                for entry in ENTRIES
                if entry.model == "unigram"
                or (entry.purpose != "features" and entry.latent_words != CHOSEN)
            ),
            remark=(
                "This run is of Table 1 alone, on a CPU: models trained the paper's way in a "
                "twentieth of its updates, models trained for density by a tenth of theirs and "
                "with a quarter of the chains, and test documents whose number of words is a "
                "multiple of 5, up to 300, as annealed importance sampling takes seconds for each "
                "length. "
                "All else is as in the full run."
            ),
        ),
    )
}
LABELS = {
    trial.variant: trial.label for plan in PLANS.values() for trial in plan.trials(plan.n_seeds)
}
"""Variants of models, in the order of the tables, and what these call them."""


def plan_of(records: Iterable[Record], folder: Path) -> Plan:
    """The plan whose trials the records are."""
    tried = {record.trial.shortened(1) for record in records}
    n_seeds = 1 + max((trial.settings.seed for trial in tried), default=0)
    for plan in PLANS.values():
        if tried <= {trial.shortened(1) for trial in plan.trials(n_seeds)}:
            return plan
    raise InvalidParameter(f"The trials in {folder} are not all of one run of docboltz reproduce.")


def part_of(all_trials: Sequence[Trial], part: str) -> list[Trial]:
    """Every N-th trial from the I-th on, for a part "I/N".

    >>> [trial.model for trial in part_of(PLANS["quick"].trials(1), "2/4")]
    ['ors', 'docnade', 'ors', 'tfidf']
    """
    first, _, last = part.partition("/")
    number, parts = whole_number(first) or 0, whole_number(last) or 0
    ok = 1 <= number <= parts
    require(ok, "reproduce", "part", "I/N, the I-th of N parts, such as 1/4 to 4/4", part)
    return list(all_trials[number - 1 :: parts])


def select(some: Sequence[Trial], pattern: str) -> list[Trial]:
    """Those whose name contains a pattern."""
    chosen = [trial for trial in some if pattern in trial.name]
    expected = f"part of a trial's name, such as {some[0].name}"
    require(bool(chosen), "reproduce", "only", expected, pattern)
    return chosen


def reproduce(
    folder: Path,
    sources: Sources,
    *,
    plan: str = "full",
    n_seeds: int | None = None,
    only: str = "",
    part: str = "1/1",
    shorter: int | None = None,
    device: str = "auto",
    log: Log = no_log,
) -> None:
    """Run the trials of a plan that are not done yet, and keep their records in a folder.

    `only` picks trials by a part of their names, `part` the I-th of N parts "I/N", for several
    machines. `shorter` divides the updates of the models that are trained the paper's way, by
    default by the plan's number. Datasets that `sources` has not got are left out.
    `report.write_report` makes the page of what is there, which may come from several runs.
    """
    chosen = PLANS[plan]
    if shorter is not None:
        chosen = replace(chosen, shorter=shorter)
    trials = select(chosen.trials(n_seeds or chosen.n_seeds), only)
    on_gpu = choose_device(device, "reproduce").type != "cpu"
    records = read_records(folder)
    if records and (other := plan_of(records.values(), folder)).name != plan:
        raise InvalidParameter(
            f"{folder} holds trials of a {other.name} run, and this is a {plan} one.",
            hint="Choose another folder with {out}.",
            settings=("out",),
        )
    absent = sorted({trial.dataset for trial in trials if not sources.has(trial.dataset)})
    trials = part_of([trial for trial in trials if trial.dataset not in absent], part)
    for dataset in absent:
        log(f"Left out: {dataset}, of which there are no documents: they come from a folder.")
    for _ in run(
        trials,
        lambda dataset: sources.load(dataset, log),
        folder=folder,
        device=device,
        helpers=True,
        expected_seconds=lambda trial: _expected_seconds(trial, plan, on_gpu),
        log=log,
    ):
        pass
    records = read_records(folder)
    log(f"{len(records)} trials took {wall_seconds(records.values()) / 60:.1f} minutes.")


def _expected_seconds(trial: Trial, plan: str, on_gpu: bool) -> float:
    """Roughly how long it takes: a guess from what its steps take on an H200 or a CPU core."""
    info, longer = trial.info, trial.for_density
    if trial.settings.recipe == "paper":
        training, measuring = (120.0, 30.0) if on_gpu else (5000.0, 60.0)
        if plan == "table 1":
            measuring = 250.0
        return training / trial.settings.shorter + measuring
    if plan == "table 1":
        return 600.0 if info.softmax else 2.0
    if plan == "quick":
        softmax = 150.0 if longer else 55.0
        others = {"unigram": 2.0, "tfidf": 45.0, "lsi": 25.0}
        return softmax if info.softmax else others.get(trial.model, 80.0)
    if on_gpu:  # other cores do the rest meanwhile
        usual = 25.0 if trial.model == "docnade" else 75.0 if longer else 12.0
        return usual if info.on_device else 0.0
    if trial.model == "lda":
        return 300.0 + trial.units if find_spec("tomotopy") else 0.0
    return 500.0 * (8 if longer else 1) * trial.units / 128 if info.softmax else 60.0
