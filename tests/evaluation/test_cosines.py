"""Cosines, block by block, against a direct computation."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import cosine_similarity

from docboltz.evaluation.cosines import Cosines


@pytest.mark.parametrize("as_given", [np.asarray, csr_array], ids=["dense", "sparse"])
def test_cosines_are_scikit_learns(as_given, device):
    rng = np.random.default_rng(0)
    database, queries = rng.poisson(0.5, size=(30, 9)), rng.poisson(0.5, size=(7, 9))
    database[3] = queries[2] = 0
    options = {"center": False, "device": torch.device(device), "owner": "f"}
    cosines = Cosines(as_given(database), as_given(queries), **options)
    assert (cosines.n_documents, cosines.n_queries) == (30, 7)
    blocks = [cosines.block(0, 3), cosines.block(3, 7)]
    assert all(block.device.type == torch.device(device).type for block in blocks)
    found = torch.cat(blocks).cpu().numpy()
    assert found == pytest.approx(cosine_similarity(queries, database), abs=1e-6)


def test_documents_alike_have_the_same_sparse_cosine_to_the_bit():
    rng = np.random.default_rng(1)
    features = rng.random((40, 50)) * (rng.random((40, 50)) < 0.3)
    database = csr_array(np.vstack([features, features]))
    options = {"center": False, "device": torch.device("cpu"), "owner": "f"}
    block = Cosines(database, csr_array(features), **options).block(0, 40)
    assert torch.equal(block[:, :40], block[:, 40:])


def test_a_stored_zero_is_a_zero():
    stored = csr_array(([0.0, 3.0], [0, 1], [0, 1, 2]), shape=(2, 2))
    options = {"center": False, "device": torch.device("cpu"), "owner": "f"}
    block = Cosines(stored, csr_array([[1.0, 1.0]]), **options).block(0, 1)
    assert block.numpy() == pytest.approx(np.array([[0, np.sqrt(0.5)]]))
