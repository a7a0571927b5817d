"""What is tried, and what it is called."""

import pytest

from docboltz.errors import InvalidParameter
from docboltz.experiments.models import Settings
from docboltz.experiments.trial import Measures, Trial


@pytest.mark.parametrize(
    ("trial", "name", "label"),
    [
        (Trial("ors"), "ORS_F128_seed0", "ORS"),
        (Trial("ors", Settings(latent_words=0, seed=3)), "ORS-M0_F128_seed3", "ORS, M = 0"),
        (Trial("ors", Settings(64, "quick", "N")), "ORS-MN-quick_F64_seed0", "ORS, M = N"),
        (
            Trial("rs", Settings(recipe="density"), dataset="news"),
            "news_RS-density_F128_seed0",
            "RS, for density",
        ),
        (
            Trial("ors", Settings(latent_words=50, recipe="paper", shorter=9)),
            "ORS-M50-paper_F128_seed0",
            "ORS, M = 50, the paper's way",
        ),
        (Trial("tfidf", Settings(recipe="quick"), dataset="news"), "news_TF-IDF", "TF-IDF"),
    ],
)
def test_names_and_labels(trial, name, label):
    assert (trial.name, trial.label) == (name, label)


def test_models_without_units_have_none():
    assert (Trial("unigram").units, Trial("lsi").units) == (0, 128)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(InvalidParameter, match="'model' parameter of Trial"):
        Trial("oracle")
    with pytest.raises(InvalidParameter, match="'predicted' parameter of Measures"):
        Measures(predicted=-1)
