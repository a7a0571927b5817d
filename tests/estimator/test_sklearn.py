"""scikit-learn's own suite, and the tools people combine estimators with."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from docboltz import OverReplicatedSoftmax, Pretraining, ReplicatedSoftmax
from tests.sklearn_checks import with_scikit_learns_checks
from tests.test_laws import corpus

QUICK = Pretraining(updates=20)


@with_scikit_learns_checks(
    OverReplicatedSoftmax(4, pretraining=QUICK),
    OverReplicatedSoftmax(4, latent_words=3, pretraining=QUICK, inference="mean_field"),
    ReplicatedSoftmax(4, pretraining=QUICK),
)
def test_scikit_learns_checks(estimator, check) -> None:
    check(estimator)


def test_text_pipeline_and_grid_search() -> None:
    texts = ["the cat sat on the mat", "a dog and a cat", "stocks fell today", "markets and stocks"]
    labels = ["pets", "pets", "money", "money"]
    pipeline = make_pipeline(
        CountVectorizer(),
        OverReplicatedSoftmax(2, pretraining=QUICK, random_state=0),
        LogisticRegression(),
    )
    grid = {
        "overreplicatedsoftmax__latent_words": [0, 5],
        "overreplicatedsoftmax__pretraining": [QUICK, Pretraining(updates=10)],
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(texts, labels)
    assert len(search.cv_results_["params"]) == 4
    assert set(search.predict(["a cat", "stocks"])) <= {"pets", "money"}


def test_names_and_pandas_output() -> None:
    pd = pytest.importorskip("pandas")
    model = OverReplicatedSoftmax(3, pretraining=QUICK).fit(corpus())
    names = [f"overreplicatedsoftmax{i}" for i in range(3)]
    assert model.get_feature_names_out().tolist() == names
    frame = model.set_output(transform="pandas").transform(corpus())
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == names


def test_column_names_are_remembered_and_saved(tmp_path) -> None:
    pd = pytest.importorskip("pandas")
    words = [f"word{k}" for k in range(30)]
    frame = pd.DataFrame(corpus().toarray(), columns=words)
    model = ReplicatedSoftmax(3, pretraining=QUICK).fit(frame)
    model.save(tmp_path / "model")
    copy = ReplicatedSoftmax.load(tmp_path / "model")
    assert copy.feature_names_in_.tolist() == words
    assert np.array_equal(copy.transform(frame), model.transform(frame))
    with pytest.raises(ValueError, match="feature names"):
        copy.transform(frame[words[::-1]])
