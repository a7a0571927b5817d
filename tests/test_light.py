"""Inference on NumPy against the estimator's, and against the equations in float64."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

from docboltz import light as module
from docboltz.estimator.models import OverReplicatedSoftmax
from docboltz.estimator.saving import describe
from docboltz.inference import to_torch
from docboltz.light import LightModel
from docboltz.model.conditionals import fast_topic_mean, word_mean
from docboltz.model.latent_words import LatentWords, policy_to_dict
from docboltz.model.parameters import Parameters
from docboltz.training.pretrain import Pretraining

F, K = 6, 30


def counted(n: int = 40) -> csr_array:
    """Long and short documents, and two without words."""
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 4, (n, K)) * (rng.random((n, K)) < rng.random((n, 1)))
    counts[[3, 17]] = 0
    return csr_array(counts)


def saved(policy: LatentWords, scale: float = 1.0) -> tuple[dict[str, Any], dict[str, Any]]:
    """What is saved of a model with random weights."""
    rng = np.random.default_rng(1)
    shapes = {"components": (F, K), "intercept_hidden": (F,), "intercept_visible": (K,)}
    arrays = {name: rng.normal(0, scale, shape) for name, shape in shapes.items()}
    arrays["intercept_hidden"] /= 20
    arrays["word_frequency"] = rng.dirichlet(np.ones(K))
    return (
        {name: array.astype(np.float32) for name, array in arrays.items()},
        {"latent_words": policy_to_dict(policy)},
    )


def in_float64(model: LightModel, counts: csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Features and distributions over a further word by docboltz.model, in float64."""
    p = Parameters(*(torch.from_numpy(x.astype(np.float64)) for x in (model.W, model.a, model.b)))
    given = to_torch(counts.astype(np.float64))
    n = torch.from_numpy(np.asarray(counts.sum(1), np.float64))
    topics = fast_topic_mean(p, given, model.latent_words(n))
    further = fast_topic_mean(p, given, model.latent_words(n + 1) + 1)
    return topics.numpy(), word_mean(p, further).numpy()


@pytest.mark.parametrize("scale", [0.1, 1.0, 100.0], ids="weights of {}".format)
def test_it_follows_the_equations(policy: LatentWords, scale: float) -> None:
    """Logits of up to 10^5 among them; 2^-24 is float32's rounding of a feature."""
    model, counts = LightModel.of(*saved(policy, scale)), counted()
    features, words = in_float64(model, counts)
    assert model.features(counts).dtype == np.float32
    np.testing.assert_allclose(model.features(counts), features, rtol=1e-6, atol=1e-38)
    # Features are rounded before they meet weights of that scale.
    np.testing.assert_allclose(model.next_words(counts), words, atol=1e-6 * max(1, scale))
    np.testing.assert_allclose(model.next_words(counts).sum(1), 1, rtol=1e-12)


def test_it_gives_what_a_fitted_estimator_gives(policy: LatentWords) -> None:
    counts, training = counted(), Pretraining(updates=20)
    estimator = OverReplicatedSoftmax(
        F, latent_words=policy, pretraining=training, random_state=0, device="cpu"
    ).fit(counts[counts.sum(1) > 0])
    estimator.components_ *= 10  # so little training says next to nothing
    model = LightModel.of(*describe(estimator))
    features = estimator.transform(counts)
    assert np.ptp(features) > 0.1
    np.testing.assert_allclose(model.features(counts), features, atol=1e-6)
    words = estimator.predict_words(counts)
    np.testing.assert_allclose(model.next_words(counts), words, atol=1e-6)


def test_documents_without_words_get_one_half(policy: LatentWords) -> None:
    model = LightModel.of(*saved(policy))
    np.testing.assert_array_equal(model.features(csr_array((2, K))), np.full((2, F), 0.5))
    np.testing.assert_array_equal(model.features(counted())[[3, 17]], 0.5)


def test_a_batch_is_one_by_one(policy: LatentWords) -> None:
    model, counts = LightModel.of(*saved(policy)), counted()
    for ask in (model.features, model.next_words):
        alone = np.concatenate([ask(counts[[i]]) for i in range(counts.shape[0])])
        np.testing.assert_allclose(ask(counts), alone, rtol=1e-6)
    assert model.features(counts[:0]).shape == (0, F)


def test_how_counts_are_stored_does_not_matter(policy: LatentWords) -> None:
    """Nor that a small integer cannot hold a document's length."""
    model = LightModel.of(*saved(policy, 0.01))
    twice = csr_array((np.array([200, 100, 200], np.uint8), [5, 2, 5], [0, 3]), shape=(1, K))
    plain = csr_array(([100, 400], [2, 5], [0, 2]), shape=(1, K))
    for ask in (model.features, model.next_words):
        np.testing.assert_allclose(ask(twice), ask(plain), rtol=1e-6)


@pytest.mark.parametrize("name", ["components", "intercept_hidden", "intercept_visible"])
@pytest.mark.parametrize(
    "harm",
    [
        lambda a: a[..., :-1, None],
        lambda a: a.astype(np.float64),
        lambda a: a * np.nan,
        lambda a: a + np.inf,
    ],
)
def test_arrays_of_no_model_are_refused(policy: LatentWords, name: str, harm: Any) -> None:
    arrays, settings = saved(policy)
    with pytest.raises(ValueError, match=r"must be finite float32|unpack"):
        LightModel.of(arrays | {name: harm(arrays[name])}, settings)
    del arrays[name]
    with pytest.raises(KeyError, match=name):
        LightModel.of(arrays, settings)


def test_importing_it_loads_neither_torch_nor_scikit_learn() -> None:
    code = (
        f"import sys, {module.__name__}; sys.exit(bool({{'torch', 'sklearn'}} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
