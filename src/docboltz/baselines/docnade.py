"""`DocNADE`: the neural autoregressive topic model of Larochelle and Lauly as an estimator."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from docboltz.baselines.base import DocumentDensity, Likelihood, MakesFeatures
from docboltz.baselines.docnade_network import (
    ACTIVATIONS,
    Activation,
    Network,
    Output,
    Tree,
    document_hidden,
    log_likelihood,
)
from docboltz.baselines.docnade_training import Learning, Learnt, learn
from docboltz.baselines.draws import repeat_words, shuffle_words
from docboltz.device import choose_device, draw_seed, random_state_of, share
from docboltz.errors import is_number, require
from docboltz.inference import to_torch
from docboltz.model.counts import SparseCounts
from docboltz.model.unigram import smoothed_word_frequency
from docboltz.progress import progress_bar
from docboltz.training.validation import hold_out

FEWEST_DOCUMENTS = 10
"""With fewer documents none is held out."""


class DocNADE(DocumentDensity, MakesFeatures):
    """p(v) = Π_i p(v_i | v_<i), each word from a hidden state of the words before it.

    The words of a document are put in a random order, in training a new one each time. Given the
    order, the likelihood is exact.

    Parameters
    ----------
    n_components : number of hidden units, F.
    activation : "tanh" or "sigmoid", as in the paper.
    output : distribution over the next word: "softmax" over all words, or the paper's "tree", a
        balanced binary tree of logistic decisions with the words at its leaves in random order.
    updates : minibatches to learn from at most.
    batch_size : documents of a minibatch.
    contexts : places in each document of a minibatch at which its next word is predicted.
    rate : step size of Adam, falling to 0 over the updates in a straight line.
    dropout : share of the hidden units that is left out of each prediction while learning.
    weight_decay : strength of the penalty on the squares of W and V.
    validation : share of the documents that is held out, to keep the state that predicts them best;
        0 to learn from all. Of fewer than 10 documents none is held out.
    patience : looks at them, one every 100 updates, without a better one before learning stops.
    orderings : random orders of a document whose probabilities are averaged by `score_samples`.
    device : "auto" (CUDA where there is one), "cpu", "cuda", "cuda:1", ….
    random_state : seed, by the rule of `OverReplicatedSoftmax`.
    verbose : show a progress bar on a terminal.

    Attributes
    ----------
    components_ : weights W of shape (n_components, n_words).
    intercept_hidden_ : hidden biases c of shape (n_components,).
    output_weights_, output_intercept_ : V and b, a row for each word or node of the tree.
    tree_nodes_, tree_signs_ : path of each word in the tree; None with a softmax.
    n_updates_ : updates the state that was kept has learnt from.
    history_ : what was seen on the way, a dictionary every 100 updates.

    Training that diverges raises TrainingDiverged; the model holds what was learnt until then.

    Examples
    --------
    >>> from docboltz.baselines import DocNADE
    >>> counts = [[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 3], [0, 0, 2, 1]]
    >>> DocNADE(2, updates=50, random_state=0).fit_transform(counts).shape
    (4, 2)
    """

    components_: NDArray[np.float32]
    intercept_hidden_: NDArray[np.float32]
    output_weights_: NDArray[np.float32]
    output_intercept_: NDArray[np.float32]
    tree_nodes_: NDArray[np.int64] | None
    tree_signs_: NDArray[np.float32] | None
    n_updates_: int
    history_: list[dict[str, float]]
    n_features_in_: int

    def __init__(
        self,
        n_components: int = 128,
        *,
        activation: Activation = "tanh",
        output: Output = "softmax",
        updates: int = 6000,
        batch_size: int = 128,
        contexts: int = 4,
        rate: float = 2e-3,
        dropout: float = 0.4,
        weight_decay: float = 1e-5,
        validation: float = 0.1,
        patience: int = 10,
        orderings: int = 1,
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.activation = activation
        self.output = output
        self.updates = updates
        self.batch_size = batch_size
        self.contexts = contexts
        self.rate = rate
        self.dropout = dropout
        self.weight_decay = weight_decay
        self.validation = validation
        self.patience = patience
        self.orderings = orderings
        self.device = device
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from raw word counts: (n_documents, n_words), dense or sparse.

        Documents without a word are left out, with a warning.
        """
        with self._unchanged_if_refused():
            self._check_settings()
            device = choose_device(self.device, "DocNADE")
            counts = to_torch(self._nonempty_counts(X, "fit", reset=True))
            rng = random_state_of(self.random_state, type(self).__name__)
        generator = torch.Generator().manual_seed(draw_seed(rng))
        tree = None
        if self.output == "tree":
            tree = Tree.balanced(torch.randperm(counts.n_words, generator=generator))
        frequency = smoothed_word_frequency(counts)
        documents, held = repeat_words(counts), None
        if self.validation and len(counts) >= FEWEST_DOCUMENTS:
            parts = hold_out(len(documents), self.validation, generator=generator)
            documents, held = map(documents.rows, parts)
        on_device = torch.Generator(device).manual_seed(draw_seed(rng))
        net = Network.initial(
            frequency, self.n_components, self.activation, tree, generator=on_device
        )
        names = ("updates", "batch_size", "contexts", "rate", "dropout", "weight_decay", "patience")
        settings = Learning(**{name: getattr(self, name) for name in names})
        learnt = Learnt(net)
        given = documents.to(device), None if held is None else held.to(device)
        try:
            with progress_bar("DocNADE", "updates", shown=self.verbose) as show:
                learn(net, *given, settings, learnt, generator=on_device, show=show)
        finally:
            self._keep(learnt)
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float32]:
        """Give each document its hidden state after its last word, act(c + W v̂): float32.

        The shape is (n_documents, n_components). A document without words gets act(c), the state
        before the first word.
        """
        counts = self._fitted_counts(X, "transform")
        return document_hidden(self._network(), counts).numpy()

    def _likelihood(self, counts: SparseCounts, seed: int) -> Likelihood:
        self._require_whole("orderings")
        device = choose_device(self.device, "DocNADE")
        # In float64, so that a document has the same likelihood in any company.
        net, words = self._network().to(device, torch.float64), repeat_words(counts)
        orders = (shuffle_words(words, seed, number) for number in range(self.orderings))
        found = torch.stack([log_likelihood(net, order.to(device)).cpu() for order in orders])
        value = found.logsumexp(0) - math.log(self.orderings)
        method = "exact, one order" if self.orderings == 1 else f"mean of {self.orderings} orders"
        return Likelihood(value, words.lengths, method)

    def _keep(self, learnt: Learnt) -> None:
        W, c, V, b = (t.cpu().numpy() for t in learnt.net.learnt())
        self.components_, self.intercept_hidden_ = W.T, c
        self.output_weights_, self.output_intercept_ = V, b
        self.tree_nodes_ = self.tree_signs_ = None
        if (tree := learnt.net.tree) is not None:
            self.tree_nodes_, self.tree_signs_ = tree.nodes.cpu().numpy(), tree.signs.cpu().numpy()
        self.n_updates_, self.history_ = learnt.updates, learnt.history

    def _network(self) -> Network:
        hidden = (self.components_.T, self.intercept_hidden_)
        arrays = (*hidden, self.output_weights_, self.output_intercept_)
        W, c, V, b = (share(np.ascontiguousarray(array)) for array in arrays)
        tree = None
        if self.tree_nodes_ is not None and self.tree_signs_ is not None:
            tree = Tree(share(self.tree_nodes_), share(self.tree_signs_))
        return Network(W, c, V, b, self.activation, tree)

    def _check_settings(self) -> None:
        whole = ("n_components", "updates", "batch_size", "contexts", "patience", "orderings")
        self._require_whole(*whole)
        known = " or ".join(map(repr, ACTIVATIONS))
        require(self.activation in ACTIVATIONS, "DocNADE", "activation", known, self.activation)
        known = "'softmax' or 'tree'"
        require(self.output in ("softmax", "tree"), "DocNADE", "output", known, self.output)
        for name, most in (("dropout", 0.9), ("validation", 0.9), ("weight_decay", math.inf)):
            value = getattr(self, name)
            expected = f"a number from 0 to {most}" if most < 1 else "a number of at least 0"
            require(is_number(value) and 0 <= value <= most, "DocNADE", name, expected, value)
        ok = is_number(self.rate) and self.rate > 0
        require(ok, "DocNADE", "rate", "a number above 0", self.rate)
