"""DocNADE: a document's words one after the other, each from a hidden state of those before it.

    p(v) = Π_i p(v_i | v_<i),    h_i = act(c + Σ_{k<i} W[v_k])

Larochelle and Lauly, "A Neural Autoregressive Topic Model", NIPS 2012. B documents, K words in the
vocabulary, F hidden units, T words of all documents, R hidden states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from docboltz.model.counts import SparseCounts, times

Activation = Literal["tanh", "sigmoid"]
Output = Literal["softmax", "tree"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "sigmoid": torch.sigmoid}
BLOCK_ENTRIES = 2**22
"""Logits held at once."""
INITIAL_SCALE = 0.01
"""Standard deviation of the first weights W."""


@dataclass(frozen=True)
class Tree:
    """A balanced binary tree with a word at each of K leaves and a decision at each of K − 1 nodes.

    Each node halves its words, so that every path has ⌊log2 K⌋ or ⌈log2 K⌉ nodes and the leaves'
    probabilities sum to 1 for any K.
    """

    nodes: Tensor
    """Nodes from the root to each word, 0 where the path is over: (K, depth) integers."""
    signs: Tensor
    """1 for right, −1 for left, 0 where the path is over: (K, depth)."""

    @classmethod
    def balanced(cls, order: Tensor) -> Tree:
        """Hang up the words from left to right in this order."""
        K = len(order)
        depth = math.ceil(math.log2(K)) if K > 1 else 0
        nodes, signs = torch.zeros(K, depth, dtype=torch.long), torch.zeros(K, depth)
        waiting, node = [(0, K, 0)], 0
        while waiting:
            begin, end, level = waiting.pop()
            if end - begin < 2:
                continue
            middle = (begin + end) // 2
            nodes[order[begin:end], level] = node
            signs[order[begin:middle], level] = -1
            signs[order[middle:end], level] = 1
            waiting += [(begin, middle, level + 1), (middle, end, level + 1)]
            node += 1
        return cls(nodes, signs)


@dataclass(frozen=True)
class Network:
    """The parameters. With a tree, V and b belong to its nodes, otherwise to the words."""

    W: Tensor
    """What a word adds to the hidden input: (K, F)."""
    c: Tensor
    """Hidden biases: (F,)."""
    V: Tensor
    """Weights of the words or nodes: (K, F) or (K − 1, F)."""
    b: Tensor
    """Biases of the words or nodes: (K,) or (K − 1,)."""
    activation: Activation
    tree: Tree | None = None

    @classmethod
    def initial(
        cls,
        frequency: Tensor,
        n_hidden: int,
        activation: Activation,
        tree: Tree | None,
        *,
        scale: float = INITIAL_SCALE,
        generator: torch.Generator,
    ) -> Network:
        """W ~ N(0, scale²), V = 0 and b such that every word has its frequency to begin with."""
        K, device = len(frequency), generator.device
        W = scale * torch.randn(K, n_hidden, generator=generator, device=device)
        b = frequency.log() if tree is None else _node_biases(tree, frequency)
        b = b.to(device, torch.float32)
        V = torch.zeros(len(b), n_hidden, device=device)
        start = cls(W, torch.zeros(n_hidden, device=device), V, b, activation, tree)
        return start.to(device, torch.float32)

    def learnt(self) -> list[Tensor]:
        """W, c, V and b."""
        return [self.W, self.c, self.V, self.b]

    def with_learnt(self, learnt: list[Tensor]) -> Network:
        """Give the same network with other W, c, V and b."""
        W, c, V, b = learnt
        return replace(self, W=W, c=c, V=V, b=b)

    def to(self, device: torch.device | str, dtype: torch.dtype) -> Network:
        """Return the same network on another device or in another floating type."""
        tree = self.tree
        if tree is not None:
            tree = Tree(*(getattr(tree, f.name).to(device) for f in fields(tree)))
        moved = self.with_learnt([t.to(device, dtype) for t in self.learnt()])
        return replace(moved, tree=tree)


def hidden(net: Network, words: Tensor) -> Tensor:
    """h = act(c + Σ_{k<i} W[v_k]), given the sum over the words before: (R, F) to (R, F)."""
    return ACTIVATIONS[net.activation](net.c + words)


def log_words(net: Network, h: Tensor, rows: Tensor, words: Tensor) -> Tensor:
    """log p(word | h[row]) for each pair of a row and a word: (pairs,).

    The tree's decisions are all computed, like the softmax's logits: one product of matrices, of
    which every row serves many words while learning.
    """
    logits = torch.addmm(net.b, h, net.V.T)  # (R, K) or (R, K − 1)
    if net.tree is None:
        return logits[rows, words] - logits.logsumexp(1)[rows]
    signs = net.tree.signs[words].to(logits.dtype)  # (pairs, depth)
    decisions = logsigmoid(signs * logits[rows[:, None], net.tree.nodes[words]])
    return (decisions * signs.abs()).sum(1)


def log_likelihood(net: Network, sequences: SparseCounts) -> Tensor:
    """log p(v) = Σ_i log p(v_i | v_<i) of word sequences, exactly: (B,), float64.

    Words are taken in blocks that bound the logits in memory, across documents' borders.
    """
    tokens, starts = sequences.words.long(), sequences.starts.long()
    total = torch.zeros(len(sequences), dtype=torch.float64, device=tokens.device)
    owner = torch.repeat_interleave(torch.arange(len(total), device=starts.device), starts.diff())
    seen = carried = torch.zeros_like(net.c)  # Σ W of all words so far, and at the document's start
    for begin, end in _cut(len(tokens), len(net.W)):
        who, embedded = owner[begin:end], net.W[tokens[begin:end]]  # (P,), (P, F)
        running = seen + embedded.cumsum(0) - embedded
        first = starts[who] - begin  # below 0 where the document began in an earlier block
        base = torch.where(first[:, None] >= 0, running[first.clamp_min(0)], carried)
        rows = torch.arange(end - begin, device=who.device)
        log_p = log_words(net, hidden(net, running - base), rows, tokens[begin:end])
        total.index_add_(0, who, log_p.double())
        seen, carried = running[-1] + embedded[-1], base[-1]
    return total


def document_hidden(net: Network, counts: SparseCounts) -> Tensor:
    """h = act(c + Σ_k v̂_k W_k), the state after a document's last word: (B, F)."""
    # As in fast inference of topics: float64 keeps a row's bits the same in any company.
    return hidden(net, times(counts, net.W).double()).to(net.W.dtype)


def _cut(n_tokens: int, n_words: int) -> Iterator[tuple[int, int]]:
    size = max(1, BLOCK_ENTRIES // n_words)
    for begin in range(0, n_tokens, size):
        yield begin, min(begin + size, n_tokens)


def _node_biases(tree: Tree, frequency: Tensor) -> Tensor:
    """log of right over left frequency below each node: W = 0 then is the unigram: (K − 1,)."""
    below = frequency.double()[:, None].expand(tree.signs.shape)
    sides = [
        torch.zeros(len(frequency) - 1, dtype=torch.float64).index_add_(
            0, tree.nodes[tree.signs == sign], below[tree.signs == sign]
        )
        for sign in (1, -1)
    ]
    return sides[0].log() - sides[1].log()
