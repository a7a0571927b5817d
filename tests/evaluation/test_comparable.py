"""Documents to predict, and sizes of models."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from docboltz import OverReplicatedSoftmax, Pretraining
from docboltz.baselines import LSI, DocNADE, LatentDirichletAllocation, TfIdf, Unigram
from docboltz.evaluation.comparable import choose_to_predict, n_parameters


def test_perplexity_is_of_the_same_short_documents_with_words():
    counts = csr_array([[0, 0], [1, 2], [9, 9], [2, 0], [0, 1], [1, 1]])
    some = [choose_to_predict(counts, 3, 3, seed=0).toarray() for _ in range(2)]
    assert some[0].shape == (3, 2)
    assert np.array_equal(*some)
    assert set(choose_to_predict(counts, 9, 3, seed=1).sum(axis=1)) == {1, 2, 3}
    assert choose_to_predict(counts[2:3], 9, 3, seed=1).sum() == 18  # there are no others


@pytest.mark.parametrize(
    ("model", "n"),
    [
        (Unigram(), 6),
        (TfIdf(), 6),
        (LSI(2), 2 * 6 + 6),
        (LatentDirichletAllocation(2, method="variational"), 2 * 6 + 2),
        (DocNADE(2, updates=2), 2 * 6 + 2 + 2 * 6 + 6),
        (OverReplicatedSoftmax(2, pretraining=Pretraining(updates=2)), 2 * 6 + 6 + 2),
    ],
)
def test_parameters_are_all_numbers_that_are_learnt(model, n):
    counts = np.random.RandomState(0).randint(0, 3, (20, 6)) + np.eye(20, 6, dtype=int)
    assert n_parameters(model.fit(counts)) == n
