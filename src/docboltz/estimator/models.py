"""`OverReplicatedSoftmax` and `ReplicatedSoftmax`: the two models of the paper as estimators."""

from __future__ import annotations

from typing import Any, Literal

from docboltz.errors import is_whole, require
from docboltz.estimator.base import TopicModel
from docboltz.estimator.saving import restore
from docboltz.inference import Inference
from docboltz.model.latent_words import (
    MOST_LATENT_WORDS,
    FixedLatentWords,
    LatentWords,
    automatic_latent_words,
)
from docboltz.storage import Arrays, StrPath, load_model
from docboltz.training.finetune import Finetuning
from docboltz.training.matching import Matching
from docboltz.training.pretrain import Pretraining
from docboltz.training.recipes import RecipeName
from docboltz.training.validation import Validation


class OverReplicatedSoftmax(TopicModel):
    """The two-layer Deep Boltzmann Machine for documents of Srivastava, Salakhutdinov and Hinton.

    Parameters
    ----------
    n_components : number of binary units, F.
    latent_words : how many latent words M strengthen the prior of each document: a whole number, a
        policy (`FixedLatentWords`, `ProportionalLatentWords`, `LatentWordsUpTo`), or "auto": five
        times the mean length of the training documents, at least 50 and at most 100.
    recipe : how the model is trained. "quick": contrastive divergence, good features in a minute.
        "full": halves of documents are matched then, as far as held-out documents bear it: better
        features, in some minutes.
        "density": maximum likelihood, the one to measure likelihoods with. "paper": section 4.2 of
        the paper, with chains that begin at documents; hours on a CPU, and no density to rely on.
    pretraining : settings of contrastive divergence instead of the recipe's, a `Pretraining`.
    finetuning : settings of maximum likelihood instead of the recipe's, a `Finetuning`. Parts of
        both are parameters too: `set_params(pretraining__updates=500)` starts from the recipe's.
    matching : settings of matching halves instead of the recipe's, a `Matching`.
    validation : let documents that are held out choose the strength of weight decay and the lengths
        of fine-tuning and matching, then learn from all: a `Validation`; None for the recipe's
        ("full" has one).
    checkpoint : folder where the state of training is saved every minute and on Ctrl-C. A fit with
        the same settings and documents goes on from there, to the same bits; at its end the folder
        is removed. One folder is for one run: a model with a checkpoint cannot be cloned, which
        grid search and cross-validation do.
    inference : how `transform` infers features, "fast" or "mean_field".
    device : "auto" (CUDA where there is one), "cpu", "cuda", "cuda:1", ….
    random_state : seed of everything random, one rule for all methods and models. `fit` draws from
        it, and the same seed on the same machine gives the same bits. Other methods that draw
        (`sample`, `score_samples`, `perplexity`, `score`, `log_partition`, `log_zeta`) derive a
        stream of their own from it: with a whole number, the same call gives the same numbers every
        time; with a RandomState they draw from it; with None numbers are fresh. Their own
        `random_state`, where it is given, is used instead.
    verbose : show a progress bar on a terminal.

    Attributes
    ----------
    components_ : weights W of shape (n_components, n_words).
    intercept_visible_ : word biases b of shape (n_words,).
    intercept_hidden_ : unit biases a of shape (n_components,).
    latent_words_ : the policy in force.
    word_frequency_ : share of each word in the training documents, the unigram model.
    pretraining_, finetuning_, matching_ : settings of the phases it went through, what was left
        open chosen; None without fine-tuning and matching, or where `partial_fit` has moved the
        model since.
    has_density_ : whether it was last trained by maximum likelihood with a pool of chains; without
        that, likelihoods mean little.
    n_updates_ : minibatches learnt from.
    looks_ : what held-out documents chose by: strength, updates of fine-tuning and matching, and
        halves found.
    history_ : what was seen on the way, a dictionary every 100 updates: phase, update, rate, mean
        activity of the units, how the chains of fine-tuning mix, and measures on held-out
        documents. Some looks of fine-tuning, the last one among them, have
        `held_out_log_likelihood`: an estimate in nats per word, each document counting once. exp of
        minus it is the perplexity. Its rough standard error is `held_out_error`, and
        `held_out_documents` is how many there are (see `Finetuning.watched`).
    n_features_in_ : size of the vocabulary.

    Examples
    --------
    >>> from docboltz import OverReplicatedSoftmax, Pretraining
    >>> counts = [[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 3], [0, 0, 2, 1]]
    >>> model = OverReplicatedSoftmax(2, pretraining=Pretraining(updates=50), random_state=0)
    >>> model.fit_transform(counts).shape
    (4, 2)
    """

    def __init__(
        self,
        n_components: int = 128,
        *,
        latent_words: int | LatentWords | Literal["auto"] = "auto",
        recipe: RecipeName = "quick",
        pretraining: Pretraining | None = None,
        finetuning: Finetuning | None = None,
        matching: Matching | None = None,
        validation: Validation | None = None,
        checkpoint: StrPath | None = None,
        inference: Inference = "fast",
        device: str = "auto",
        random_state: Any = None,
        verbose: bool = False,
    ) -> None:
        super().__init__(
            n_components,
            recipe=recipe,
            pretraining=pretraining,
            finetuning=finetuning,
            matching=matching,
            validation=validation,
            checkpoint=checkpoint,
            inference=inference,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )
        self.latent_words = latent_words

    def _choose_latent_words(self, mean_length: float) -> LatentWords:
        choice: Any = self.latent_words
        if isinstance(choice, LatentWords):
            return choice
        owner, number = type(self).__name__, is_whole(choice)
        automatic = isinstance(choice, str) and choice == "auto"
        fits = 0 <= choice <= MOST_LATENT_WORDS if number else automatic
        expected = f"0 to {MOST_LATENT_WORDS:,}, a latent-word policy or 'auto'"
        require(fits, owner, "latent_words", f"a whole number from {expected}", choice)
        return FixedLatentWords(choice) if number else automatic_latent_words(mean_length)


class ReplicatedSoftmax(TopicModel):
    """The Replicated Softmax of Salakhutdinov and Hinton: the model without latent words (M = 0).

    Parameters and attributes are those of `OverReplicatedSoftmax`, but for `latent_words`. By the
    recipe "paper" it learns by contrastive divergence alone, as in the paper.

    >>> from docboltz import Pretraining, ReplicatedSoftmax
    >>> model = ReplicatedSoftmax(2, pretraining=Pretraining(updates=50), random_state=0)
    >>> model.fit([[3, 1, 0], [0, 2, 2]]).predict_words([[1, 0, 0]]).shape
    (1, 3)
    """

    def _choose_latent_words(self, mean_length: float) -> LatentWords:
        return FixedLatentWords(0)

    def _in_force(self, name: str) -> Any:
        if name == "finetuning" and str(self.recipe) == "paper":
            return self.finetuning  # section 4.2: contrastive divergence alone
        return super()._in_force(name)


def load(path: StrPath, *, device: str = "auto") -> TopicModel:
    """Read a saved model of either kind, for use on `device`."""
    return assemble(*load_model(path), path=path, device=device)


def assemble(arrays: Arrays, settings: dict[str, Any], *, path: StrPath, device: str) -> TopicModel:
    """Put together what was saved in `path`, whichever of the models it is."""
    kinds: list[type[TopicModel]] = [OverReplicatedSoftmax, ReplicatedSoftmax]
    return restore(kinds, arrays, settings, path=path, device=device)
