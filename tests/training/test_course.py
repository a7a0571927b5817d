"""Which model held-out documents choose, and that it then learns from all of them."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from docboltz import Finetuning, Matching, OverReplicatedSoftmax, Pretraining, Validation
from docboltz.model.latent_words import FixedLatentWords
from docboltz.training.course import Course, Look, choose, looks_of, report
from tests.model.test_conditionals import sparse
from tests.training.fakes import CPU, small_parameters
from tests.training.test_validation import of_many_kinds


def corpus(n: int) -> Any:
    return of_many_kinds(n, 30, seed=0).numpy()


LOOKS = [
    Look(1, 0, 0.50, 900),
    Look(1, 100, 0.60, 700),
    Look(1, 200, 0.58, 650),
    Look(2, 0, 0.55, 950),
]


@pytest.mark.parametrize(
    ("tolerance", "expected"), [(0.0, (1, 100)), (0.04, (1, 200)), (0.09, (2, 0))]
)
def test_the_model_held_back_most_then_tuned_longest_is_chosen(
    tolerance: float, expected: tuple[int, int]
) -> None:
    chosen = choose(LOOKS, Validation(tolerance=tolerance))
    assert (chosen.strength, chosen.finetuning) == expected


def test_where_nothing_is_found_nothing_is_changed() -> None:
    nothing = [Look(1, 0, 0.0, 9), Look(1, 100, 0.0, 8), Look(2, 0, 0.0, 7)]
    assert choose(nothing, Validation()) == nothing[0]


def test_by_perplexity_the_lowest_is_chosen() -> None:
    assert choose(LOOKS, Validation(by="perplexity")) == LOOKS[2]


def test_the_looks_that_count_are_the_end_of_pretraining_and_all_after_it() -> None:
    history = [
        {"phase": "Pretraining", "update": 100, "halves_found": 0.1, "validation_perplexity": 9.0},
        {"phase": "Pretraining", "update": 130, "halves_found": 0.2, "validation_perplexity": 9.0},
        {"phase": "Fine-tuning", "update": 100, "halves_found": 0.3, "validation_perplexity": 9.0},
        {"phase": "Fine-tuning", "update": 130, "halves_found": 0.4, "validation_perplexity": 9.0},
        {"phase": "Matching", "update": 50, "halves_found": 0.5, "validation_perplexity": 8.0},
    ]
    assert looks_of(history, 2.0) == [
        Look(2, 0, 0.2, 9),
        Look(2, 100, 0.3, 9),
        Look(2, 130, 0.4, 9),
        Look(2, 130, 0.5, 8, matching=50),
    ]


def model(validation: Validation | None, **changes: object) -> OverReplicatedSoftmax:
    settings: dict = {
        "pretraining": Pretraining(updates=120, weight_decay=1.0),
        "finetuning": Finetuning(updates=150, chains="data", batch_size=32),
        "random_state": 0,
        "device": "cpu",
    }
    return OverReplicatedSoftmax(8, validation=validation, **(settings | changes))


def test_what_was_chosen_is_learnt_from_all_documents() -> None:
    """The same as if the choice had been given by hand."""
    X = corpus(300)
    fitted = model(Validation(strengths=(1, 3), tolerance=0.5)).fit(X)
    chosen = choose(fitted.looks_, Validation(tolerance=0.5))
    assert fitted.pretraining_.weight_decay == chosen.strength
    by_hand = model(
        None,
        pretraining=fitted.pretraining_,
        finetuning=fitted.finetuning_ and Finetuning(**vars(fitted.finetuning_)),
    ).fit(X)
    assert (by_hand.components_ == fitted.components_).all()


def test_no_counts_are_copied_to_hold_documents_out() -> None:
    """They may be on disk, and more than memory holds."""
    counts = sparse(of_many_kinds(300, 30, seed=0).float())
    course = Course(
        small_parameters(8, 30, dtype=torch.float32),
        counts,
        FixedLatentWords(0),
        CPU,
        pretraining=Pretraining(updates=1),
        finetuning=None,
        matching=None,
        validation=Validation(),
        seed=0,
    )
    documents = course.run._documents
    assert course.trial is not None
    assert len(documents) == 240
    assert documents.counts.words.data_ptr() == counts.words.data_ptr()
    assert documents.counts.counts.data_ptr() == counts.counts.data_ptr()


def test_stronger_decay_is_tried_until_it_finds_too_few(monkeypatch: pytest.MonkeyPatch) -> None:
    found = {1.0: 0.50, 2.0: 0.49, 4.0: 0.30}
    scripted = lambda history, strength: [Look(strength, 0, found[strength], 9)]  # noqa: E731
    monkeypatch.setattr("docboltz.training.course.looks_of", scripted)
    fitted = model(Validation(strengths=(1, 2, 4, 8)), finetuning=None).fit(corpus(300))
    assert [look.strength for look in fitted.looks_] == [1, 2, 4]
    assert fitted.pretraining_.weight_decay == 2


@pytest.mark.parametrize(
    ("before", "found", "taken"), [(0.50, 0.60, True), (0.50, 0.40, False), (0.92, 0.96, False)]
)
def test_matching_is_taken_where_halves_are_left_to_be_found(
    monkeypatch: pytest.MonkeyPatch, before: float, found: float, taken: bool
) -> None:
    def scripted(history: Any, strength: float) -> list[Look]:
        return [Look(strength, 0, before, 9), Look(strength, 0, found, 9, matching=20)]

    monkeypatch.setattr("docboltz.training.course.looks_of", scripted)
    wanted = {"finetuning": None, "matching": Matching(updates=30, max_passes=None)}
    fitted = model(Validation(strengths=(1.5,)), **wanted).fit(corpus(300))
    assert fitted.matching_ == (Matching(updates=20, max_passes=None) if taken else None)
    by_hand = model(None, pretraining=fitted.pretraining_, finetuning=None)
    by_hand.set_params(matching=fitted.matching_)
    assert (by_hand.fit(corpus(300)).components_ == fitted.components_).all()


def test_all_three_phases_go_one_after_the_other_and_are_chosen_together() -> None:
    chosen = [
        Look(1, 0, 0.50, 9),
        Look(1, 100, 0.55, 9),
        Look(1, 150, 0.56, 9),
        Look(1, 150, 0.70, 9, matching=60),
    ]
    assert choose(chosen, Validation()) == chosen[3]
    fitted = model(None, matching=Matching(updates=5)).fit(corpus(300))
    assert [entry["phase"] for entry in fitted.history_][-1] == "Matching"
    assert fitted.n_updates_ == 120 + 150 + 5


def test_a_trial_that_diverges_in_fine_tuning_is_judged_by_what_came_before() -> None:
    wild = Finetuning(updates=150, chains="data", batch_size=32, learning_rate=1e30)
    fitted = model(Validation(strengths=(1,)), finetuning=wild).fit(corpus(300))
    assert fitted.finetuning_ is None


def test_a_density_is_tuned_for_as_long_as_it_predicts_better() -> None:
    """60 documents of a kind are soon learnt by heart: held-out ones stop that."""
    tuned = Finetuning(updates=400, rungs=16, bridge=4, batch_size=64, learning_rate=0.02)
    by = Validation(by="perplexity", strengths=(1,), fewest=50)
    fitted = model(by, pretraining=Pretraining(updates=120), finetuning=tuned).fit(corpus(60))
    perplexity = {look.finetuning: look.perplexity for look in fitted.looks_}
    best = min(perplexity, key=perplexity.__getitem__)
    assert (fitted.finetuning_.updates if fitted.finetuning_ else 0) == best < 400
    assert perplexity[400] > perplexity[best]


def test_few_documents_are_all_learnt_from_by_a_recipe() -> None:
    few = OverReplicatedSoftmax(4, recipe="full", random_state=0, device="cpu")
    few.set_params(pretraining__updates=5, matching__updates=5)
    assert few.fit(corpus(60)).looks_ == []
    assert few.matching_ is None, "nothing could tell how far it may go"
    assert few.fit(corpus(300)).looks_ != []


@pytest.mark.parametrize(("given", "expected"), [(None, 5.0), (4.0, 6.4)])
def test_decay_that_was_not_given_is_not_multiplied_beyond_the_most(
    given: float | None, expected: float
) -> None:
    settings = Pretraining(updates=5, weight_decay=given)
    fitted = model(Validation(strengths=(1.6,)), pretraining=settings, finetuning=None)
    assert fitted.fit(corpus(300)).pretraining_.weight_decay == pytest.approx(expected)


def test_the_choice_is_put_into_words() -> None:
    assert "2.5 times the usual weight decay and 100 updates" in report(
        LOOKS, Look(2.5, 100, 0.5, 9)
    )
    matched = Look(1, 600, 0.5, 9, matching=200)
    assert "600 updates of fine-tuning and 200 updates of matching." in report([matched], matched)
    assert "and no matching, which does not help" in report([matched], Look(1, 600, 0.5, 9))
    assert "and no matching, which is not needed" in report([matched], Look(1, 600, 0.92, 9))
    assert report(LOOKS[:1], LOOKS[0]) == "Held-out documents chose the usual weight decay."
