"""All labels at once, against one scikit-learn fit a label."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression

from docboltz.evaluation.logistic import fit_logistic, logits


def correlated_data(seed, n=400, n_features=12, n_labels=6):
    """Features that mostly say the same; labels from 2 % to 80 % of the documents."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, n_features))
    shares = np.geomspace(0.02, 0.8, n_labels)
    z = X @ rng.normal(size=(n_features, n_labels)) + rng.logistic(size=(n, n_labels))
    return X, (z.argsort(0).argsort(0) >= n * (1 - shares)).astype(float)


@pytest.mark.parametrize("C", [0.01, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_agrees_with_scikit_learn_label_by_label(C, dtype, device):
    X, Y = correlated_data(0)
    on_device = [torch.as_tensor(array, dtype=dtype, device=device) for array in (X, Y)]
    W, c = (found.cpu().numpy() for found in fit_logistic(*on_device, C))
    for label in range(Y.shape[1]):
        exact = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(X, Y[:, label])
        # The search ends at gradients of 1e-5 in V, and W = V · scale with a scale of at most
        # √(Cn) = 20; z adds up 13 such errors.
        assert W[:, label] == pytest.approx(exact.coef_[0], abs=5e-4)
        assert c[label] == pytest.approx(exact.intercept_[0], abs=5e-4)
        z = X @ W[:, label] + c[label]
        assert z == pytest.approx(exact.decision_function(X), abs=2e-3)


def test_the_gradient_of_the_objective_vanishes():
    X, Y = correlated_data(1)
    C, n = 0.1, len(X)
    W, c = (found.numpy() for found in fit_logistic(torch.tensor(X), torch.tensor(Y), C))
    error = 1 / (1 + np.exp(-(X @ W + c))) - Y
    assert X.T @ error / n + W / (C * n) == pytest.approx(np.zeros(W.shape), abs=5e-5)
    assert error.mean(0) == pytest.approx(np.zeros(len(c)), abs=1e-5)


def test_a_label_does_not_depend_on_the_others():
    X, Y = (torch.tensor(array) for array in correlated_data(2))
    W, c = fit_logistic(X, Y, 1.0)
    alone, c_alone = fit_logistic(X, Y[:, 3:4], 1.0)
    assert torch.allclose(W[:, 3:4], alone, atol=1e-3)
    assert torch.allclose(c[3:4], c_alone, atol=1e-3)


def test_without_information_the_share_of_the_label_is_all_there_is():
    Y = torch.tensor([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    W, c = fit_logistic(torch.zeros(4, 3), Y, 1.0)
    assert torch.equal(W, torch.zeros(3, 2))
    assert torch.allclose(c.sigmoid(), torch.tensor([0.25, 0.5]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_sparse_features_are_dense_features(dtype):
    X, Y = (torch.tensor(array, dtype=dtype) for array in correlated_data(3))
    X[X.abs() < 0.5] = 0
    W, c = fit_logistic(X, Y, 1.0)
    sparse = csr_array(X.numpy())
    W_sparse, c_sparse = fit_logistic(sparse, Y, 1.0)
    # Both searches end at gradients of 1e-5; see above.
    assert torch.allclose(W_sparse, W, atol=1e-3)
    assert torch.allclose(c_sparse, c, atol=1e-3)
    assert torch.allclose(logits(sparse, W, c), X @ W + c, atol=1e-5)
    assert torch.equal(logits(X, W, c), X @ W + c)
