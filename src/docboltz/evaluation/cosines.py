"""Cosines of queries with a whole database, some queries at a time.

n documents in the database, Q queries, F features. Features are arrays, or sparse matrices (tf-idf
over a whole vocabulary, say) that stay sparse: only a block of cosines is ever dense.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array, issparse
from torch import Tensor
from torch.nn.functional import normalize

from docboltz.corpus.corpus import check_structure
from docboltz.errors import require


class Cosines:
    """Cosines of `queries` (Q, F) with `database` (n, F). Zeros have cosine 0 with everything.

    `center` subtracts the database's mean from both first. If either of the two is sparse, both are
    multiplied as sparse matrices on the CPU; `device` then only receives the cosines.
    """

    def __init__(
        self, database: Any, queries: Any, *, center: bool, device: torch.device, owner: str
    ) -> None:
        self._sparse = issparse(database) or issparse(queries)
        dense_only = "False for sparse features, which would not stay sparse"
        require(not (self._sparse and center), owner, "center", dense_only, center)
        for given in (database, queries):
            check_structure(given, owner)
        documents, asked = (
            csr_array(given, dtype=np.float32) if self._sparse else np.asarray(given, np.float32)
            for given in (database, queries)
        )
        n_features = documents.shape[-1]
        for given, name in ((documents, "database"), (asked, "queries")):
            fits = given.ndim == 2 and given.shape[1] == n_features
            require(fits, owner, name, f"of shape (any, {n_features})", given.shape)
            require(given.shape[0] > 0, owner, name, "of at least one document", given.shape)
        self.n_documents, self.n_queries = documents.shape[0], asked.shape[0]
        self._device = device
        self._documents: Any
        self._asked: Any
        if self._sparse:
            self._documents, self._asked = _unit_rows(documents).T.tocsr(), _unit_rows(asked)
            return
        documents, asked = (torch.as_tensor(part, device=device) for part in (documents, asked))
        if center:
            mean = documents.mean(0)
            documents, asked = documents - mean, asked - mean
        self._documents, self._asked = normalize(documents, dim=1).T, normalize(asked, dim=1)

    def block(self, begin: int, end: int) -> Tensor:
        """Cosines of the queries from `begin` up to `end`: (queries of the block, n)."""
        product = self._asked[begin:end] @ self._documents
        return torch.as_tensor(product.toarray() if self._sparse else product, device=self._device)


def _unit_rows(features: csr_array) -> csr_array:
    """Rows divided by their length; rows of zeros stay.

    scikit-learn's normalize rounds the quotients otherwise, which breaks ties between documents and
    moves the MAP of tf-idf in the ninth digit: figures stay what they were.
    """
    squares = np.asarray(features.power(2).sum(axis=1, dtype=np.float64))
    length = np.sqrt(squares, where=squares > 0, out=np.ones_like(squares)).astype(np.float32)
    unit = features.data / np.repeat(length, np.diff(features.indptr))
    return csr_array((unit, features.indices, features.indptr), shape=features.shape)
