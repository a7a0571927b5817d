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
from torch import Tensor

from docboltz.model.conditionals import fast_topic_input, mean_field, word_mean
from docboltz.model.counts import SparseCounts, lengths
from docboltz.model.latent_words import LatentWords
from docboltz.model.parameters import Parameters
from docboltz.sampling.chains import sample_documents

Inference = Literal["fast", "mean_field"]

BLOCK_ENTRIES = 2**22


def to_torch(counts: sparse.csr_array) -> SparseCounts:
    """Share a CSR matrix's memory with torch."""
    starts, words, data = map(torch.from_numpy, (counts.indptr, counts.indices, counts.data))
    return SparseCounts(starts, words, data, counts.shape[1])


def infer_topics(
    p: Parameters, counts: SparseCounts, latent_words: LatentWords, inference: Inference
) -> NDArray[np.float32]:
    """P(h_j = 1 | document) for every document: (n_documents, F)."""
    features = np.empty((len(counts), p.n_topics), np.float32)
    width = p.n_topics if inference == "fast" else p.n_words
    for begin, end, block in _blocks(counts, width, p):
        m = latent_words(lengths(block))
        features[begin:end] = _topic_mean(p, block, m, inference).cpu().numpy()
    return features


def infer_next_words(
    p: Parameters,
    counts: SparseCounts,
    latent_words: LatentWords,
    inference: Inference,
    top: int | None,
) -> tuple[NDArray[np.int64] | None, NDArray[np.float32]]:
    """P(a further word = k | document): an unseen word is one latent word more.

    All K probabilities (and None), or columns and probabilities of the `top` likeliest words.
    """
    shape = (len(counts), p.n_words if top is None else top)
    probabilities = np.empty(shape, np.float32)
    columns = None if top is None else np.empty(shape, np.int64)
    for begin, end, block in _blocks(counts, p.n_words, p):
        m = latent_words(lengths(block)) + 1
        words = word_mean(p, _topic_mean(p, block, m, inference))
        if columns is not None:
            words, best = words.topk(shape[1], 1)
            columns[begin:end] = best.cpu().numpy()
        probabilities[begin:end] = words.cpu().numpy()
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
    size = max(1, BLOCK_ENTRIES // p.n_words)
    for begin in range(0, len(n), size):
        part = torch.as_tensor(n[begin : begin + size]).to(p.W)
        drawn = sample_documents(p, part, latent_words(part), sweeps=sweeps, generator=generator)
        arrays = (t.cpu().numpy() for t in (drawn.counts.long(), drawn.words, drawn.starts))
        block = sparse.csr_array(tuple(arrays), shape=(len(part), p.n_words))
        block.sum_duplicates()
        blocks.append(block)
    return sparse.vstack(blocks, format="csr")


def _topic_mean(p: Parameters, counts: SparseCounts, m: Tensor, inference: Inference) -> Tensor:
    if inference == "mean_field":
        return mean_field(p, counts, m).topics
    # A CPU rounds the last few float32 numbers of a batch otherwise than the rest. Taken in float64
    # and rounded back, a document's features have the same bits whatever else is in the batch.
    return fast_topic_input(p, counts, m).double().sigmoid_().to(p.W.dtype)


def _blocks(
    counts: SparseCounts, width: int, p: Parameters
) -> Iterator[tuple[int, int, SparseCounts]]:
    """Cut the documents into blocks of about BLOCK_ENTRIES / width and move them to the model."""
    size = max(1, BLOCK_ENTRIES // width)
    for begin in range(0, len(counts), size):
        end = min(begin + size, len(counts))
        yield begin, end, counts.slice(begin, end).to(p.W.device, p.W.dtype)
