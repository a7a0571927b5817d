"""What holds for the estimators and the baselines alike: one rule for each thing."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from docboltz import Finetuning, OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax
from docboltz.baselines import LSI, NMF, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.errors import InvalidCounts, InvalidParameter, NoDensityWarning
from tests.test_laws import corpus

pytestmark = pytest.mark.filterwarnings("ignore::docboltz.errors.NoDensityWarning")

FAST = {"pretraining": Pretraining(updates=10)}
TUNED = {"finetuning": Finetuning(updates=3, rungs=8, bridge=2, sweeps=1)}
MODELS: dict[str, Callable[..., Any]] = {
    "ors": lambda **seed: OverReplicatedSoftmax(4, **FAST, **seed),
    "ors fine-tuned": lambda **seed: OverReplicatedSoftmax(4, **FAST, **TUNED, **seed),
    "ors of many topics": lambda **seed: OverReplicatedSoftmax(17, latent_words=3, **FAST, **seed),
    "rs": lambda **seed: ReplicatedSoftmax(4, **FAST, **seed),
    "docnade": lambda **seed: DocNADE(4, updates=10, **seed),
    "docnade tree": lambda **seed: DocNADE(4, updates=10, output="tree", orderings=2, **seed),
    "lda": lambda **seed: LatentDirichletAllocation(
        4, method="variational", sweeps=3, inference_sweeps=3, particles=5, moves=2, **seed
    ),
    "lsi": lambda **seed: LSI(4, **seed),
    "nmf": lambda **seed: NMF(4, **seed),
    "tfidf": lambda **seed: TfIdf(),
    "unigram": lambda **seed: Unigram(),
}
X = corpus(40)
ANNEALED = {"method": "annealing", "replicas": 2, "particles": 8}
CALLS: dict[str, Callable[..., Any]] = {
    "score_samples": lambda m, **how: m.score_samples(X[:2], **how),
    "perplexity": lambda m, **how: m.perplexity(X[:2], **how).value,
    "score": lambda m: m.score(X[:2]),
    "sample": lambda m, **how: m.sample([5, 9], sweeps=3, **how).toarray(),
    "log_partition": lambda m, **how: m.log_partition([5], **ANNEALED, **how).value,
    "log_zeta": lambda m, **how: m.log_zeta([9], **ANNEALED, **how).value,
    "predict_words": lambda m: m.predict_words(X),
    "transform": lambda m: np.asarray(
        m.transform(X).toarray() if isinstance(m, TfIdf) else m.transform(X)
    ),
}


def same(a: Any, b: Any) -> bool:
    return bool(np.array_equal(np.asarray(a), np.asarray(b)))


@pytest.fixture(params=MODELS, scope="module")
def make(request: pytest.FixtureRequest) -> Callable[..., Any]:
    return MODELS[request.param]


@pytest.fixture(scope="module")
def fitted(make: Callable[..., Any]) -> Any:
    return make(random_state=0).fit(X)


def calls_of(model: Any) -> list[str]:
    return [name for name in CALLS if hasattr(model, name)]


# ---- random_state ----


def test_a_seeded_model_answers_alike_every_time(make: Any, fitted: Any) -> None:
    again = make(random_state=0).fit(X)
    for name in reversed(calls_of(fitted)):
        first = CALLS[name](fitted)
        assert same(CALLS[name](fitted), first), name
        assert same(CALLS[name](again), first), f"{name} depends on the calls before it"


def test_a_seed_given_to_a_method_is_used_instead(make: Any, fitted: Any) -> None:
    other = make(random_state=0).fit(X)
    if "random_state" in other.get_params():
        other.set_params(random_state=1)
    for name in calls_of(fitted):
        if "random_state" not in inspect.signature(getattr(fitted, name)).parameters:
            continue
        for seed in (5, np.int64(5)):
            assert same(CALLS[name](fitted, random_state=seed), CALLS[name](other, random_state=5))
        drawn = [CALLS[name](fitted, random_state=np.random.RandomState(3)) for _ in range(2)]
        assert same(*drawn), name
        state = np.random.RandomState(3)
        assert same(CALLS[name](fitted, random_state=state), drawn[0])
        with pytest.raises(InvalidParameter, match="'random_state' parameter"):
            CALLS[name](fitted, random_state="a")


RANDOM = {
    "ors": {"sample", "log_partition", "log_zeta"},
    "ors of many topics": {"score_samples", "perplexity", "score", "sample", "log_partition"},
    "rs": {"sample", "log_partition", "log_zeta"},
    "docnade": {"score_samples", "perplexity", "score"},
    "lda": {"score_samples", "perplexity", "score"},
}


@pytest.mark.parametrize("kind", RANDOM)
def test_what_is_random_follows_the_models_seed(kind: str) -> None:
    """Another seed gives other numbers, no seed fresh ones, and a RandomState goes on."""
    model = MODELS[kind](random_state=0).fit(X)
    for name in RANDOM[kind]:
        call, first = CALLS[name], CALLS[name](model.set_params(random_state=0))
        assert not same(call(model.set_params(random_state=1)), first), name
        model.set_params(random_state=None)
        assert not same(call(model), call(model)), name
        model.set_params(random_state=np.random.RandomState(0))
        assert not same(call(model), call(model)), name


def test_methods_do_not_draw_what_fit_drew() -> None:
    """The seed of a method is not the one that the first weights were drawn with."""
    model = OverReplicatedSoftmax(4, **FAST, random_state=0).fit(X)
    drawn = model.sample([30, 30], sweeps=3)
    assert not same(model.sample([30, 30], sweeps=3, random_state=0).toarray(), drawn.toarray())


# ---- a refused refit ----


def test_a_refused_refit_leaves_the_model_as_it_was(make: Any) -> None:
    model = make(random_state=0).fit(X)
    before = {name: CALLS[name](model) for name in calls_of(model)}
    wide = corpus(40, words=31).toarray()
    refused: list[tuple[Any, dict[str, Any]]] = [
        (-wide, {}),
        (0 * wide, {}),
        (["a text", "another"], {}),
        (wide[:0], {}),
    ]
    for name, wrong in (
        ("n_components", 0),
        ("random_state", "a"),
        ("device", "abacus"),
        ("recipe", "slow"),
        ("latent_words", -1),
        ("validation", -1.0),
        ("method", "guess"),
    ):
        if name in model.get_params():
            refused.append((wide, {name: wrong}))
    for documents, settings in refused:
        kept = {name: model.get_params()[name] for name in settings}
        with pytest.raises((InvalidCounts, InvalidParameter)):
            model.set_params(**settings).fit(documents)
        model.set_params(**kept)
        for name, answer in before.items():
            assert same(CALLS[name](model), answer), (settings, name)
    if hasattr(model, "partial_fit"):
        with pytest.raises(InvalidCounts):
            model.partial_fit(wide)
        with pytest.raises(InvalidCounts):
            model.partial_fit(-X)
        assert same(model.transform(X), before["transform"])


def test_a_refused_first_fit_leaves_nothing() -> None:
    for method in ("fit", "partial_fit"):
        model = OverReplicatedSoftmax(4, latent_words=-1)
        with pytest.raises(InvalidParameter):
            getattr(model, method)(X)
        assert not [name for name in vars(model) if name.endswith("_")]


# ---- parameters that cannot be written to ----


def arrays_of(model: Any) -> dict[str, np.ndarray]:
    return {name: a for name, a in vars(model).items() if isinstance(a, np.ndarray)}


def test_parameters_may_be_mapped_from_a_file(fitted: Any, tmp_path: Path) -> None:
    """joblib gives arrays of processes and of files as read-only memory maps."""
    joblib.dump(fitted, tmp_path / "model")
    mapped = joblib.load(tmp_path / "model", mmap_mode="r")
    assert all(isinstance(a, np.memmap) for a in arrays_of(mapped).values())
    frozen = joblib.load(tmp_path / "model")
    for array in arrays_of(frozen).values():
        array.setflags(write=False)
    for model in (mapped, frozen):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NoDensityWarning)
            for name in calls_of(model):
                assert same(CALLS[name](model), CALLS[name](fitted)), name
            if hasattr(model, "partial_fit"):
                model.partial_fit(X).partial_fit(X)


def test_documents_may_be_mapped_from_a_file(make: Any, fitted: Any, tmp_path: Path) -> None:
    joblib.dump(X.astype(np.float32), tmp_path / "counts")
    mapped = joblib.load(tmp_path / "counts", mmap_mode="r")
    assert not mapped.data.flags.writeable
    again = make(random_state=0).fit(mapped)
    for name in calls_of(fitted):
        assert same(CALLS[name](again), CALLS[name](fitted)), name
