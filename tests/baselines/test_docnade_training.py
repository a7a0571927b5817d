"""What DocNADE climbs is the mean over orders of log p(v)/N, and climbing never ends in NaN."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from docboltz.baselines.docnade_network import Network, log_likelihood
from docboltz.baselines.docnade_training import (
    Learning,
    Learnt,
    Splits,
    learn,
    mean_log_word,
    sample_splits,
)
from docboltz.errors import TrainingDiverged
from tests.baselines.test_docnade_network import as_sequences, random_network

RARE = 1e-4
"""Failure rate of a statistical test, had the seed not been fixed."""


def one_cut(order: tuple[int, ...], known: int) -> Splits:
    n = len(order)
    return Splits(
        torch.tensor(order),
        torch.zeros(n, dtype=torch.long),
        torch.arange(n),
        torch.tensor([[known]]),
        torch.tensor([n]),
    )


def gradients(net: Network, value: torch.Tensor, learnt: list[torch.Tensor]) -> list[torch.Tensor]:
    return list(torch.autograd.grad(value, learnt))


@pytest.mark.parametrize("output", ["softmax", "tree"])
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_objective_and_gradient_are_unbiased(output, activation) -> None:
    """Their mean over all orders and cuts is log p(v)/N and its gradient, averaged over orders."""
    net, document = random_network(5, output=output, activation=activation), (0, 3, 3, 1)
    learnt = [t.requires_grad_() for t in net.learnt()]
    orders = list(permutations(document))
    exact = log_likelihood(net, as_sequences(orders, 5)).mean() / 4
    cuts = [mean_log_word(net, one_cut(order, known)) for order in orders for known in range(4)]
    estimate = torch.cat(cuts).mean()
    torch.testing.assert_close(estimate, exact)
    for found, expected in zip(
        gradients(net, estimate, learnt), gradients(net, exact, learnt), strict=True
    ):
        torch.testing.assert_close(found, expected)


def test_several_cuts_are_the_mean_of_single_ones() -> None:
    net = random_network(5)
    splits = sample_splits(
        as_sequences([(0, 1, 1, 4, 2), (3,), (2, 2)], 5),
        4,
        generator=torch.Generator().manual_seed(0),
    )
    found = mean_log_word(net, splits)
    for document in range(3):
        order = tuple(splits.tokens[splits.owner == document].tolist())
        single = [mean_log_word(net, one_cut(order, int(k))) for k in splits.known[document]]
        assert float(found[document]) == pytest.approx(float(torch.cat(single).mean()))


def test_every_cut_and_every_order_is_equally_likely() -> None:
    many = as_sequences([(0, 1, 2)] * 3000, 3)
    splits = sample_splits(many, 2, generator=torch.Generator().manual_seed(0))
    orders = splits.tokens.view(-1, 3) @ torch.tensor([9, 3, 1])
    seen = np.unique(orders.numpy(), return_counts=True)[1]
    assert len(seen) == 6
    assert chisquare(seen).pvalue > RARE
    # Two strata of a document share their draw's halves, not more: each cut is a third on average.
    known = torch.bincount(splits.known.view(-1)).double() / 6000
    # A binomial's standard error; strata only make it smaller.
    assert ((known - 1 / 3).abs() < 4 * (2 / 9 / 6000) ** 0.5).all()


def settings(**changes) -> Learning:
    values = {
        "updates": 300,
        "batch_size": 32,
        "contexts": 2,
        "rate": 1e-2,
        "dropout": 0.0,
        "weight_decay": 0.0,
        "patience": 1,
    }
    return Learning(**(values | changes))


def start(K: int) -> Network:
    generator = torch.Generator().manual_seed(0)
    frequency = torch.full((K,), 1 / K)
    return Network.initial(frequency, 4, "tanh", None, scale=0.01, generator=generator)


def go(documents, held, **changes) -> Learnt:
    net = start(documents.n_words)
    learnt = Learnt(net)
    learn(
        net,
        documents,
        held,
        settings(**changes),
        learnt,
        generator=torch.Generator().manual_seed(0),
        show=lambda done, total, note="": None,
    )
    return learnt


def test_it_learns_that_words_repeat() -> None:
    """Each document repeats one of 4 words: log p/N tends to −log 4 / 6, from −log 4."""
    documents = as_sequences([(k,) * 6 for k in range(4)] * 10, 4)
    learnt = go(documents, None)
    per_word = log_likelihood(learnt.net, documents).mean() / 6
    assert float(per_word) > -1.5 * np.log(4) / 6
    assert learnt.updates == 300


def test_the_state_that_predicts_held_out_documents_best_is_kept() -> None:
    """Held-out documents whose words do not repeat get worse as it learns that they do."""
    documents = as_sequences([(k,) * 6 for k in range(4)] * 10, 4)
    held = as_sequences([(0, 1, 2, 3)] * 5, 4)
    learnt = go(documents, held, patience=2)
    seen = [h["validation_perplexity"] for h in learnt.history]
    assert learnt.updates == learnt.history[int(np.argmin(seen))]["update"]
    assert learnt.updates < learnt.history[-1]["update"]


def test_divergence_leaves_the_last_good_state() -> None:
    documents = as_sequences([(k,) * 6 for k in range(4)] * 10, 4)
    net = start(4)
    learnt = Learnt(net)
    with pytest.raises(TrainingDiverged, match="Try a lower rate"):
        learn(
            net,
            documents,
            None,
            settings(rate=1e30),
            learnt,
            generator=torch.Generator().manual_seed(0),
            show=lambda done, total, note="": None,
        )
    assert all(bool(t.isfinite().all()) for t in learnt.net.learnt())
