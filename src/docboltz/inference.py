"""From the equations to whole corpora: NumPy and SciPy in and out, block by block.

B documents of a block, F topic units, K words. A block is as large as keeps its (B, K) or (B, F)
temporaries near 16 MB, so memory does not grow with the corpus beyond the answer itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from docboltz.device import share
from docboltz.errors import warn_user
from docboltz.model.conditionals import MEAN_FIELD_STEPS, fast_topic_input, mean_field, word_mean
from docboltz.model.counts import SparseCounts, lengths
from docboltz.model.latent_words import LatentWords
from docboltz.model.parameters import Parameters
from docboltz.sampling.chains import sample_documents

Inference = Literal["fast", "mean_field"]

BLOCK_ENTRIES = 2**22


def to_torch(counts: sparse.csr_array) -> SparseCounts:
    """Share the memory of a CSR matrix, one that `check_counts` has passed, with torch."""
    indices = counts.indices.astype(counts.indptr.dtype, copy=False)  # torch wants one type
    starts, words, data = map(share, (counts.indptr, indices, counts.data))
    return SparseCounts(starts, words, data, counts.shape[1])


def infer_topics(
    p: Parameters, counts: SparseCounts, latent_words: LatentWords, inference: Inference
) -> NDArray[np.float32]:
    """P(h_j = 1 | document) for every document: (n_documents, F)."""
    features = np.empty((len(counts), p.n_topics), np.float32)
    width = p.n_topics if inference == "fast" else p.n_words
    infer = _Inference(p, inference)
    for begin, end, block in _blocks(counts, width, p):
        topics = infer(block, latent_words(lengths(block)))
        features[begin:end] = topics.cpu().numpy()
    infer.warn_if_cut_short()
    return features


def infer_next_words(
    p: Parameters,
    counts: SparseCounts,
    latent_words: LatentWords,
    inference: Inference,
    top: int | None,
) -> tuple[NDArray[np.int64] | None, NDArray[np.float32]]:
    """P(a further word = k | document), whose N + 1st word is unseen: one latent word more.

    All K probabilities (and None), or columns and probabilities of the `top` likeliest words.
    """
    shape = (len(counts), p.n_words if top is None else top)
    probabilities = np.empty(shape, np.float32)
    columns = None if top is None else np.empty(shape, np.int64)
    infer = _Inference(p, inference)
    for begin, end, block in _blocks(counts, p.n_words, p):
        m = latent_words(lengths(block) + 1) + 1
        words = word_mean(p, infer(block, m).to(p.W.dtype))
        if columns is not None:
            words, best = words.topk(shape[1], 1)
            columns[begin:end] = best.cpu().numpy()
        probabilities[begin:end] = words.cpu().numpy()
    infer.warn_if_cut_short()
    return columns, probabilities


def draw_documents(
    p: Parameters,
    n: NDArray[Any],
    latent_words: LatentWords,
    *,
    sweeps: int,
    generator: torch.Generator,
) -> sparse.csr_array:
    """Draw a new document of each length in `n`, as integer counts: (n_documents, K)."""
    blocks = [sparse.csr_array((0, p.n_words), dtype=np.int64)]
    # Lengths in float64: float32 rounds whole numbers beyond 2²⁴.
    lengths = torch.as_tensor(n, dtype=torch.float64, device=p.W.device)
    for part in _cut_by_work(lengths, latent_words(lengths), p.n_words):
        drawn = sample_documents(p, *part, sweeps=sweeps, generator=generator)
        arrays = (t.cpu().numpy() for t in (drawn.counts.long(), drawn.words, drawn.starts))
        block = sparse.csr_array(tuple(arrays), shape=(len(part[0]), p.n_words))
        block.sum_duplicates()
        blocks.append(block)
    return sparse.vstack(blocks, format="csr")


def _cut_by_work(n: Tensor, m: Tensor, n_words: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Cut documents to draw into runs whose probabilities and whose words fit a block each."""
    work = (n + m).clamp_min(n_words).cumsum(0)  # the larger of K and D, summed
    begin = 0
    while begin < len(n):
        done = work[begin - 1] if begin else 0.0
        end = max(begin + 1, int(torch.searchsorted(work, done + BLOCK_ENTRIES, right=True)))
        yield n[begin:end], m[begin:end]
        begin = end


class _Inference:
    """Infer topics by one of the two ways, and remember what did not converge."""

    def __init__(self, p: Parameters, inference: Inference) -> None:
        self._mean_field = inference == "mean_field"
        # Iterating in float64, where a BLAS rounds by the shape of the batch far below float32's
        # resolution, gives a document the same answer in any company.
        self._p = p.to(p.W.device, torch.float64) if self._mean_field else p
        self._documents = self._cut_short = 0

    def __call__(self, counts: SparseCounts, m: Tensor) -> Tensor:
        """P(h_j = 1 | document): (B, F)."""
        if not self._mean_field:
            # A CPU rounds the last few float32 numbers of a batch otherwise than the rest. Taken in
            # float64 and rounded back, features have the same bits whatever else is in the batch.
            logits = fast_topic_input(self._p, counts, m)
            return logits.double().sigmoid_().to(logits.dtype)
        found = mean_field(self._p, counts.to(m.device, torch.float64), m.double())
        self._documents += len(counts)
        self._cut_short += int((~found.converged).sum())
        return found.topics

    def warn_if_cut_short(self) -> None:
        """Tell the user about documents whose features were still moving when their time was up."""
        if self._cut_short:
            warn_user(
                f"Mean-field inference did not converge within {MEAN_FIELD_STEPS:,} steps for "
                f"{self._cut_short} of {self._documents} documents; their features are "
                "approximate. Fewer latent words, or inference='fast', avoid this.",
                ConvergenceWarning,
            )


def _blocks(
    counts: SparseCounts, width: int, p: Parameters
) -> Iterator[tuple[int, int, SparseCounts]]:
    """Cut the documents into blocks of about BLOCK_ENTRIES / width and move them to the model."""
    size = max(1, BLOCK_ENTRIES // width)
    for begin in range(0, len(counts), size):
        end = min(begin + size, len(counts))
        yield begin, end, counts.slice(begin, end).to(p.W.device, p.W.dtype)
