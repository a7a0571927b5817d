"""Collapsed Gibbs sampling of a document's topics, given the topics' words: posterior, likelihood.

    p(v) = Σ_z p(z) Π_i φ[z_i, v_i],    p(z_i = t | z_<i) = (α_t + n_t) / (Σ α + i)

z_i is the topic of the i-th word, n_t counts those before it that have topic t. B documents of N
words, R particles of each document, T topics, K words in the vocabulary. Documents go side by side,
the longest first, so that those with an i-th word are the first A.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from docboltz.baselines.draws import Keys, document_keys, uniform
from docboltz.model.counts import SparseCounts

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

BLOCK_ENTRIES = 2**22
"""Topic weights held at once."""
BURN_IN = 0.2
"""Share of the sweeps that is not averaged: a chain forgets its start within a few."""
FEWEST_EFFECTIVE = 0.5
"""Effective share of the particles below which they are resampled."""
ADD, MOVE, PICK, RESAMPLE = range(4)  # what a random number is for


def infer_topics(
    words: SparseCounts, phi: Floats, alpha: Floats, *, sweeps: int, seed: int
) -> NDArray[np.float32]:
    """E[(α_t + n_t)/(Σ α + N) | document], the mean over the sweeps after the first fifth: (B, T).

    `words` are sequences: each word once for each time it occurs.
    """
    features = np.empty((len(words), len(alpha)), np.float32)
    burn_in = int(BURN_IN * sweeps)
    for which, state in _blocks(words, phi, alpha, particles=1, seed=seed):
        for i in range(state.longest):
            state.add(i)
        total = np.zeros(state.weights.shape)
        for sweep in range(sweeps):
            for i in range(state.longest):
                A = state.active(i)
                state.move(A, np.full(A, i), sweep, i)
            if sweep >= burn_in:
                total += state.weights
        means = total[:, 0] / (sweeps - burn_in)
        features[which] = means / (alpha.sum() + state.n)[:, None]
    return features


def left_to_right(
    words: SparseCounts, phi: Floats, alpha: Floats, *, particles: int, moves: int, seed: int
) -> tuple[Floats, Floats]:
    """log of an unbiased estimate of p(v), and its standard error: (B,), (B,).

    The left-to-right estimate of Wallach et al. (ICML 2009) in a sequential, unbiased form like
    Buntine's (ACML 2009), as a particle filter. Each particle predicts the i-th word from the
    topics of those before it, then draws that word's topic. Where the particles' weights have
    become uneven, they are resampled in proportion. Instead of all earlier words' topics, which
    makes the cost quadratic in N, `moves` of them, chosen at random, are drawn anew before each
    word. Each step leaves the distribution of z_<i given v_<i as it is, so the estimate of p(v)
    is unbiased for any numbers of particles and moves; its logarithm is too low by half its
    variance.
    """
    value, error = np.empty(len(words)), np.empty(len(words))
    for which, state in _blocks(words, phi, alpha, particles=particles, seed=seed):
        evidence = _Evidence(len(which), particles)
        for i in range(state.longest):
            for move in range(moves if i else 0):
                A = state.active(i)
                at = (uniform(state.keys[:A], PICK, i, move) * i).astype(np.int64)
                state.move(A, np.minimum(at, i - 1), move, i)
            predicted = state.predict(i)  # (A, R, T), summed up along T
            weak = evidence.add(np.log(predicted[:, :, -1]))
            if len(weak):
                u = uniform(state.keys[weak], RESAMPLE, i)
                ancestors = evidence.resample(weak, u)
                state.copy(weak, ancestors)
                predicted[weak] = predicted[weak[:, None], ancestors]
            state.draw(i, predicted)
        value[which], error[which] = evidence.close()
    return value, error


class _State:
    """Topics of every word so far, of B documents with R particles each."""

    def __init__(
        self, words: Integers, n: Integers, keys: Keys, phi: Floats, alpha: Floats, particles: int
    ) -> None:
        self.words, self.n, self.keys = words, n, keys  # (B, N), (B,), (B,)
        self.longest = int(n.max(initial=0))
        self._phi, self._sum = phi, float(alpha.sum())  # (K, T)
        self._particle = np.arange(particles)
        shape = (len(n), particles)
        self.weights = np.broadcast_to(alpha, (*shape, len(alpha))).copy()  # α_t + n_t
        self.topics = np.zeros((*shape, self.longest), np.int32)

    def active(self, i: int) -> int:
        """Number of documents with an i-th word."""
        return int(np.searchsorted(-self.n, -i, side="left"))

    def predict(self, i: int) -> Floats:
        """p(v_i, z_i ≤ t | z_<i), summed up over topics: (A, R, T)."""
        A = self.active(i)
        joint = self._phi[self.words[:A, i]][:, None] * self.weights[:A]
        joint /= self._sum + i
        return _sum_up(joint)

    def draw(self, i: int, predicted: Floats) -> None:
        """Draw z_i from what `predict` gave."""
        A = len(predicted)
        z = _pick(predicted, uniform(self.keys[:A, None], ADD, i, self._particle))
        self.topics[:A, :, i] = z
        self._count(z, 1)

    def add(self, i: int) -> None:
        """Draw z_i given z_<i and v_i."""
        self.draw(i, self.predict(i))

    def move(self, A: int, at: Integers, sweep: int, i: int) -> None:
        """Draw the topic of word at[d] of document d anew, given all others."""
        document = np.arange(A)
        self._count(self.topics[document, :, at], -1)
        joint = self._phi[self.words[document, at]][:, None] * self.weights[:A]
        z = _pick(_sum_up(joint), uniform(self.keys[:A, None], MOVE, sweep, i, self._particle))
        self.topics[document, :, at] = z
        self._count(z, 1)

    def copy(self, documents: Integers, ancestors: Integers) -> None:
        """Replace particles by copies of others: (documents,), (documents, R)."""
        self.weights[documents] = self.weights[documents[:, None], ancestors]
        self.topics[documents] = self.topics[documents[:, None], ancestors]

    def _count(self, z: NDArray[np.integer], by: int) -> None:
        A, R = z.shape
        # Each row of this view is one particle, so no entry is named twice.
        self.weights.reshape(-1, self.weights.shape[2])[np.arange(A * R), z.reshape(-1)] += by


class _Evidence:
    """log p(v) so far, and the particles' weights since they were last resampled."""

    def __init__(self, documents: int, particles: int) -> None:
        self._value, self._variance = np.zeros(documents), np.zeros(documents)
        self._log_weights = np.zeros((documents, particles))

    def add(self, log_predicted: Floats) -> Integers:
        """Take in the next word of the first A documents; say which need resampling."""
        A, R = log_predicted.shape
        self._log_weights[:A] += log_predicted
        share = self._shares(slice(A))
        return np.flatnonzero(1 / np.square(share).sum(1) < FEWEST_EFFECTIVE * R)

    def resample(self, documents: Integers, u: Floats) -> Integers:
        """Draw each particle's ancestor in proportion to the weights, systematically; reset them.

        Systematic resampling gives particle r its R·share_r children on average.
        """
        R = self._log_weights.shape[1]
        ends = self._shares(documents).cumsum(1)
        points = (u[:, None] + np.arange(R)) / R
        ancestors = (points[:, :, None] > ends[:, None, :]).sum(2)
        self._finish(documents)
        return np.asarray(np.minimum(ancestors, R - 1))

    def close(self) -> tuple[Floats, Floats]:
        """log p(v) and its standard error."""
        self._finish(np.arange(len(self._value)))
        return self._value, np.sqrt(self._variance)

    def _finish(self, documents: Integers) -> None:
        """Take the mean weight into the evidence; its relative variance is estimated."""
        weights, R = self._log_weights[documents], self._log_weights.shape[1]
        most = weights.max(1)
        self._value[documents] += most + np.log(np.exp(weights - most[:, None]).mean(1))
        uneven = (np.square(self._shares(documents)).sum(1) - 1 / R) * R / max(1, R - 1)
        self._variance[documents] += np.maximum(uneven, 0)  # even weights may be rounded below
        self._log_weights[documents] = 0

    def _shares(self, documents: Integers | slice) -> Floats:
        log_weights = self._log_weights[documents]
        weights = np.exp(log_weights - log_weights.max(1, keepdims=True))
        return np.asarray(weights / weights.sum(1, keepdims=True))


def _pick(summed: Floats, u: Floats) -> Integers:
    """Draw t with probability ∝ weight_t, given the weights' running sums: (A, R, T) to (A, R)."""
    at = torch.from_numpy((u * summed[:, :, -1])[:, :, None])
    found = torch.searchsorted(torch.from_numpy(summed), at, right=True)
    # u < 1, but its product with the sum may be rounded up to the sum.
    return found[:, :, 0].clamp_max(summed.shape[2] - 1).numpy()


def _sum_up(weights: Floats) -> Floats:
    """Running sums along the last axis, in place; torch's are four times as fast as NumPy's."""
    torch.from_numpy(weights).cumsum_(-1)
    return weights


def _blocks(
    words: SparseCounts, phi: Floats, alpha: Floats, *, particles: int, seed: int
) -> Iterator[tuple[Integers, _State]]:
    """Documents side by side, the longest first, and which they are."""
    flat, starts = words.words.numpy(), words.starts.numpy()
    n, keys = np.diff(starts), document_keys(flat, starts, seed)
    order = np.argsort(-n, kind="stable")
    by_word = np.ascontiguousarray(phi.T)  # (K, T)
    begin = 0
    while begin < len(order):
        width = max(len(alpha), int(n[order[begin]]))
        which = order[begin : begin + max(1, BLOCK_ENTRIES // (particles * width))]
        begin += len(which)
        padded = np.zeros((len(which), int(n[which[0]])), np.int64)
        inside = np.arange(padded.shape[1]) < n[which][:, None]
        padded[inside] = flat[np.concatenate([np.arange(starts[d], starts[d + 1]) for d in which])]
        yield which, _State(padded, n[which], keys[which], by_word, alpha, particles)
