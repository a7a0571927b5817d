"""Table 1: what is the paper's way, what is so, and what proves AIS wrong."""

from dataclasses import replace

import numpy as np
import pytest

from docboltz import OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax
from docboltz.errors import UncertainLikelihoodWarning, warn_user
from docboltz.estimator.density import Density
from docboltz.experiments.measuring import _parameters
from docboltz.experiments.table1 import LogZeta, measure_table_1
from tests.corpus.splits import tiny_split


def test_a_lower_bound_above_ais_by_more_than_its_errors_proves_it_wrong():
    found = LogZeta(
        d=(5, 6, 7, 8),
        documents=(1, 1, 1, 5),
        ais=(1.0, 1.0, 1.0, 1.0),
        ais_error=(0.1, 0.1, 0.1, 0.1),
        annealed=(0.9, 2.0, 3.0, 9.0),
        annealed_error=(0.0,) * 4,
        lower_bound=(0.5, 1.2, 1.4, 8.0),
    )
    assert found.disproved.tolist() == [False, False, True, True]
    assert (found.lengths_disproved, found.documents_disproved) == (0.5, 6 / 8)
    assert (found.median_lacking, found.largest_lacking) == (8.0, 8.0)


@pytest.mark.filterwarnings("ignore::docboltz.errors.NoDensityWarning")
@pytest.mark.parametrize("model", [OverReplicatedSoftmax(4, latent_words=5), ReplicatedSoftmax(4)])
def test_the_paper_s_way_believes_ais_and_ours_does_not(model, monkeypatch):
    """On a model whose ζ is known exactly, with an AIS that lacks two nats."""
    lacking, exact = 2.0, Density.log_zeta

    def log_zeta(self, d, *, method=None, **others):
        found = exact(self, d, **others)
        if method == "ais":
            warn_user("as expected", UncertainLikelihoodWarning)
            found = replace(found, estimate=found.estimate - lacking)
        return found

    monkeypatch.setattr(Density, "log_zeta", log_zeta)
    split = tiny_split()
    model.set_params(pretraining=Pretraining(updates=30), random_state=0)
    model.fit(split.train.counts)
    draws = [split.test.counts[:10], split.test.counts[10:]]
    best, found = measure_table_1(model, _parameters(model, "cpu"), draws, 0)
    flattered = np.exp(-lacking * np.mean(1 / draws[0].sum(axis=1)))
    for mine, method in ((found.bound, "bound"), (best.value, "exact")):
        assert mine == pytest.approx(model.perplexity(draws[0], method=method).value, rel=1e-2)
    assert found.paper_way[0] == pytest.approx(found.bound * flattered)
    assert found.importance_by_ais == pytest.approx(best.value * flattered)
    assert found.at_least == pytest.approx(best.value)  # all states are known
    assert found.mean == pytest.approx(np.mean(found.paper_way))
    assert found.unigram == tuple(map(model.unigram_perplexity, draws))
    assert found.log_zeta.lengths_disproved == 1
    assert found.log_zeta.median_lacking == pytest.approx(lacking)
