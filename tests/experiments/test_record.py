"""Records: what is written is what is read back, and nothing else is taken for one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from docboltz.errors import InvalidParameter
from docboltz.evaluation.by_length import by_length
from docboltz.evaluation.groups import GroupAgreement
from docboltz.experiments.models import Settings
from docboltz.experiments.record import (
    Estimate,
    LengthCurve,
    Record,
    plain,
    read_records,
    wall_seconds,
)
from docboltz.experiments.topics import TopicMeasures
from docboltz.experiments.trial import Measures, Trial

from .records import record

TOPICS = TopicMeasures(
    (3, 1),
    (("sea", "ship"), ("oven", "salt")),
    0.2,
    -0.5,
    1.0,
    None,
    GroupAgreement(1, 0.9, 0.8, 4),
)
TRIAL = Trial("ors", Settings(latent_words=100), Measures(predicted=10, draws=2), "20news-2000")


def whole():
    return replace(record(TRIAL), topics=TOPICS)


def test_a_record_survives_being_written(tmp_path):
    whole().write(tmp_path)
    assert read_records(tmp_path) == {TRIAL.name: whole()}
    assert [path.name for path in (tmp_path / "trials").iterdir()] == [f"{TRIAL.name}.json"]


SHARES = {"mean_average_precision", "precision_at_10", "classification", "C", "halves_found"}
SHARES |= {"mean_latent_words", "documents_per_second", "began", "ended"}


def accepts(given):
    try:
        Record.from_dict(given)
    except InvalidParameter:
        return False
    return True


@pytest.mark.parametrize(
    ("value", "fitting"),
    [
        ("nothing", {"documents", "reason"}),
        (-1.5, SHARES),
        ([3], {"precision_at_recall"}),
        ({"a": [1]}, {"settings"}),
        (True, set()),
    ],
)
def test_only_fields_of_its_kind_take_a_value(value, fitting):
    given = json.loads(json.dumps(whole().to_dict()))
    assert {name for name in given if accepts({**given, name: value})} == fitting
    assert not any(accepts({k: v for k, v in given.items() if k != name}) for name in given)
    assert not accepts({**given, "more": value})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("trial", "model"), "oracle"),
        (("trial", "settings", "recipe"), "slow"),
        (("trial", "settings", "units"), 0),
        (("trial", "measures", "predicted"), "many"),
        (("trial", "measures"), {}),
        (("status",), "perhaps"),
        (("by_length", "window"), None),
        (("perplexity", "method"), 3),
        (("table1", "log_zeta", "d"), [0.5]),
        (("seconds", "training"), "long"),
        (("topics", "words"), [["sea", 3]]),
        (("topics", "agreement"), 0.9),
    ],
)
def test_a_part_that_makes_no_sense_is_refused(path, value):
    given = json.loads(json.dumps(whole().to_dict()))
    part = given
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    with pytest.raises(InvalidParameter, match="does not describe a trial"):
        Record.from_dict(given)


@pytest.mark.parametrize("text", ["{", "[]", "3", '"x"', "null", '{"model": "RS"}', "\udcff"])
def test_a_damaged_file_is_named(tmp_path, text):
    whole().write(tmp_path)
    file = tmp_path / "trials" / f"{TRIAL.name}.json"
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(InvalidParameter, match=r"seed0\.json is not the record of.*Remove it"):
        read_records(tmp_path)


def test_a_file_of_another_trial_is_named(tmp_path):
    whole().write(tmp_path)
    file = tmp_path / "trials" / f"{TRIAL.name}.json"
    file.rename(file.with_name("x.json"))
    with pytest.raises(InvalidParameter, match=r"x\.json is not.*that of 20news-2000_ORS-M100"):
        read_records(tmp_path)


def test_the_clock_stands_still_between_runs():
    times = [(0, 10), (5, 20), (6, 7), (30, 31)]
    some = [replace(whole(), began=float(a), ended=float(b)) for a, b in reversed(times)]
    assert wall_seconds(some) == 20 + 1
    assert wall_seconds([]) == 0


def test_numbers_that_are_not_finite_are_none():
    assert plain({"a": np.float32("nan"), "b": [np.inf, 1], "c": np.int64(3)}) == {
        "a": None,
        "b": [None, 1],
        "c": 3,
    }
    estimate = Estimate(600.0, None, None, 0.1, 0.4, None, "exact", 1)
    assert json.loads(json.dumps(plain(estimate)))["error"] is None


def test_what_is_kept_by_length_is_what_is_plotted():
    rng = np.random.RandomState(0)
    full = by_length(rng.rand(200), rng.randint(1, 30, 200))
    kept = LengthCurve.of(full)
    back = kept.expand()
    assert back.length.tolist() == full.length.tolist()
    assert np.allclose(kept.fifths, full.quantile_means(5))
    for length in np.unique(full.length):
        at = full.length == length
        assert back.smoothed[at].mean() == pytest.approx(full.smoothed[at].mean(), abs=1e-5)
