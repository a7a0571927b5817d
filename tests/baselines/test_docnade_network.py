"""DocNADE's equations against sums over all documents and over all orders."""

from __future__ import annotations

from itertools import product

import pytest
import torch

from docboltz.baselines import docnade_network
from docboltz.baselines.docnade_network import (
    Network,
    Tree,
    document_hidden,
    log_likelihood,
    log_words,
)
from docboltz.model.counts import SparseCounts

ACTIVATIONS, OUTPUTS = ["tanh", "sigmoid"], ["softmax", "tree"]


def random_network(
    K: int, F: int = 3, activation: str = "tanh", output: str = "softmax", seed: int = 0
) -> Network:
    g = torch.Generator().manual_seed(seed)
    tree = Tree.balanced(torch.randperm(K, generator=g)) if output == "tree" else None
    rows = K if tree is None else K - 1
    shapes = ((K, F), (F,), (rows, F), (rows,))
    W, c, V, b = (torch.randn(*shape, generator=g, dtype=torch.float64) for shape in shapes)
    return Network(W, c, V, b, activation, tree)  # type: ignore[arg-type]


def as_sequences(documents: list[tuple[int, ...]], K: int) -> SparseCounts:
    starts = torch.tensor([0, *map(len, documents)]).cumsum(0)
    words = torch.tensor([word for document in documents for word in document], dtype=torch.long)
    return SparseCounts(starts, words, torch.ones(len(words)), K)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize(("K", "n"), [(1, 2), (5, 1), (5, 2), (6, 3)])
def test_probabilities_of_all_sequences_sum_to_one(activation, output, K: int, n: int) -> None:
    net = random_network(K, activation=activation, output=output)
    every = as_sequences(list(product(range(K), repeat=n)), K)
    assert float(log_likelihood(net, every).exp().sum()) == pytest.approx(1)


@pytest.mark.parametrize("output", OUTPUTS)
def test_likelihood_is_the_product_of_its_definition(output) -> None:
    net, document = random_network(6, output=output), (2, 0, 2, 5)
    said = 0.0
    for i, word in enumerate(document):
        h = torch.tanh(net.c + sum((net.W[w] for w in document[:i]), torch.zeros(3)))
        said += float(log_words(net, h[None], torch.tensor([0]), torch.tensor([word])))
    found = log_likelihood(net, as_sequences([(1,), document, (), (3, 3)], 6))
    assert float(found[1]) == pytest.approx(said)
    assert float(found[2]) == 0


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("words", [1, 2, 3, 7])
def test_blocks_are_the_whole(monkeypatch, output, words: int) -> None:
    net = random_network(6, output=output)
    documents = as_sequences([(1,), (), (2, 0, 2, 5, 1, 1, 4), (3, 3), (0, 1, 2, 3)], 6)
    whole = log_likelihood(net, documents)
    monkeypatch.setattr(docnade_network, "BLOCK_ENTRIES", 6 * words)
    torch.testing.assert_close(log_likelihood(net, documents), whole)


@pytest.mark.parametrize("K", [2, 3, 8, 13])
def test_every_word_has_its_own_short_path(K: int) -> None:
    tree = Tree.balanced(torch.randperm(K, generator=torch.Generator().manual_seed(K)))
    steps = tree.signs.abs().sum(1)
    assert int(steps.max() - steps.min()) <= 1
    assert int(tree.nodes.max()) == K - 2
    paths = {
        tuple(zip(nodes, signs, strict=True))
        for nodes, signs in zip(tree.nodes.tolist(), tree.signs.tolist(), strict=True)
    }
    assert len(paths) == K


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_to_begin_with_it_is_the_unigram(activation, output) -> None:
    frequency = torch.tensor([0.4, 0.3, 0.15, 0.1, 0.05], dtype=torch.float64)
    tree = Tree.balanced(torch.tensor([3, 0, 4, 1, 2])) if output == "tree" else None
    generator = torch.Generator().manual_seed(0)
    net = Network.initial(frequency, 3, activation, tree, scale=0.5, generator=generator)
    found = log_likelihood(net.to("cpu", torch.float64), as_sequences([(0, 3, 3), (4,)], 5))
    expected = torch.tensor([0.4 * 0.1 * 0.1, 0.05], dtype=torch.float64).log()
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=0)  # b is float32


def test_without_weights_of_words_before_the_order_is_irrelevant() -> None:
    net = random_network(5)
    net = net.with_learnt([0 * net.W, *net.learnt()[1:]])
    one, other = log_likelihood(net, as_sequences([(0, 1, 1, 4), (1, 4, 1, 0)], 5))
    h = torch.tanh(net.c)
    unigram = torch.log_softmax(net.b + net.V @ h, 0)
    assert float(one) == pytest.approx(float(other))
    assert float(one) == pytest.approx(float(unigram[[0, 1, 1, 4]].sum()))


def test_a_documents_state_is_that_after_its_last_word() -> None:
    net = random_network(5)
    counts = SparseCounts(
        torch.tensor([0, 2, 2]), torch.tensor([0, 3]), torch.tensor([2.0, 1.0]).double(), 5
    )
    expected = torch.tanh(torch.stack([net.c + 2 * net.W[0] + net.W[3], net.c]))
    torch.testing.assert_close(document_hidden(net, counts), expected)
