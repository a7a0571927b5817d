"""How the estimators learn: from counts to a course of training, and what is kept of it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from docboltz.device import choose_device, draw_seed, random_state_of, require_memory, share
from docboltz.errors import (
    FewDocumentsWarning,
    InvalidCounts,
    TrainingDiverged,
    require,
    warn_user,
)
from docboltz.estimator.checkpoints import Checkpoint
from docboltz.estimator.reading import ReadsCounts
from docboltz.estimator.settings import Configured
from docboltz.inference import to_torch
from docboltz.model.counts import SparseCounts, lengths, word_totals
from docboltz.model.latent_words import LatentWords, require_sensible
from docboltz.model.parameters import Parameters
from docboltz.model.unigram import smoothed
from docboltz.progress import progress_bar, remark
from docboltz.storage import CHECKPOINT
from docboltz.training.course import Course, Look, report
from docboltz.training.documents import Documents
from docboltz.training.finetune import Finetuning
from docboltz.training.matching import Matching
from docboltz.training.pretrain import ContrastiveDivergence, Pretraining
from docboltz.training.run import History, Run
from docboltz.training.together import ALONE, Alone


def few_documents(n: int, units: int, setting: str) -> str | None:
    """What to expect of more units than documents; `setting` is what a face calls their number.

    Down to 20 documents, 128 units rank documents no worse than fewer do (the lab notes have the
    figures), but there cannot be more than so many things to tell documents by.

    >>> few_documents(60, 32, "n_components") is None
    True
    """
    if n >= units:
        return None
    return (
        f"{n:,} documents are fewer than {units:,} units. As features they are none the worse, "
        "but units that are read one by one will repeat each other: to read them, ask for fewer "
        f"({setting})."
    )


class Learns(ReadsCounts, ClassNamePrefixFeaturesOutMixin, TransformerMixin, Configured):
    """A transformer of scikit-learn that learns W, a and b, by all recipes."""

    components_: NDArray[np.float32]
    intercept_visible_: NDArray[np.float32]
    intercept_hidden_: NDArray[np.float32]
    latent_words_: LatentWords
    word_frequency_: NDArray[np.float32]
    pretraining_: Pretraining
    finetuning_: Finetuning | None
    matching_: Matching | None
    n_updates_: int
    history_: History
    looks_: list[Look]
    n_features_in_: int
    _velocity: dict[str, NDArray[np.float32]] | None = None
    _automatic: Pretraining | None = None
    _rng: np.random.RandomState

    def _choose_latent_words(self, mean_length: float) -> LatentWords:
        """Choose the rule for latent words, given the mean length of the training documents."""
        raise NotImplementedError

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn from word counts.

        Parameters
        ----------
        X : array or sparse matrix of shape (n_documents, n_words)
            Raw word counts. Documents without a word are left out, with a warning. Fewer documents
            than units have a warning too.
        y : ignored

        Starts anew, whatever was learnt before, unless there is a checkpoint to go on from. Where
        documents or settings are refused, a fitted model stays as it was. Ctrl-C finishes the
        update and raises KeyboardInterrupt; training that diverges raises TrainingDiverged. In both
        cases the model holds what was learnt until then.
        """
        checkpoint = self.fit_keeping_checkpoint(X)
        if checkpoint is not None:
            checkpoint.remove()
        return self

    def fit_keeping_checkpoint(
        self, X: ArrayLike, together: Alone | None = None
    ) -> Checkpoint | None:
        """Fit, and leave the checkpoint, if there is one, to be removed when the model is safe.

        `together` are workers that train one model: each calls this with documents of its own and
        the same settings, and ends with the same model. Worker 0 writes the checkpoint.
        """
        together = together or ALONE
        with self._unchanged_if_refused():
            course, checkpoint = self._prepare(X, together)
        self._learn(course, checkpoint, shown=self.verbose and together.rank == 0)
        return checkpoint

    def _prepare(self, X: ArrayLike, together: Alone) -> tuple[Course, Checkpoint | None]:
        """Drop what an earlier fit learnt and set training up, from its checkpoint if there is one.

        What can be refused is refused here.
        """
        self._drop_learnt()
        counts = together.carefully(lambda: self._training_counts(X, "fit", reset=True))
        vocabularies = sorted(set(together.gather(counts.n_words)))
        if len(vocabularies) > 1:
            raise InvalidCounts(
                f"Workers have counts of different vocabularies: {vocabularies} words.",
                hint="Count all documents with one vocabulary.",
            )
        parameters, device = self._begin(counts, together), self._device
        checkpoint, left, seed = None, None, together.from_first(draw_seed(self._rng))
        if self.checkpoint is not None:
            checkpoint = Checkpoint(self.checkpoint, self, counts, device, together)
            left = checkpoint.load()
        if left is not None:
            seed = left[1]["seed"]
        n = sum(together.gather(len(counts)))
        few = few_documents(n, self.n_components, "n_components")
        if few is not None and together.rank == 0:
            warn_user(few, FewDocumentsWarning)
        course = Course(
            parameters,
            counts,
            self.latent_words_,
            device,
            pretraining=self._in_force("pretraining"),
            finetuning=self._in_force("finetuning"),
            matching=self._in_force("matching"),
            validation=self._in_force("validation"),
            seed=seed,
            save=None if checkpoint is None else checkpoint.save,
            together=together,
        )
        if checkpoint is not None and left is not None:
            with CHECKPOINT.trusting(checkpoint.path):
                course.restore(*left)
            if self.verbose and together.rank == 0:
                remark(f"Going on from the checkpoint in {checkpoint.path}.")
        return course, checkpoint

    def partial_fit(self, X: ArrayLike, y: object = None) -> Self:
        """Go once through X in minibatches by contrastive divergence; the first call sets it up.

        One pass is few updates, 89 for the 11,314 documents of 20 Newsgroups, where fit makes
        3,000: call it again and again. There (2,000 words, 128 units, one seed, two shared cores,
        2026-11-16) retrieval had MAP .11 and P@10 .26 after 1 pass, .29 and .50 after 5, .37 and
        .58 after 20, and .38 and .59 after fit.

        The schedules of rate and Gibbs steps go on where the last call left them. The number of
        units, the rule for latent words and the first word biases are those of the first call.
        `pretraining.updates`, `finetuning`, `matching`, `validation` and `checkpoint` play no part,
        and a density that a model had is no longer one.
        """
        with self._unchanged_if_refused():
            run = self._prepare_pass(X)
        self._learn(run, None, shown=self.verbose)
        self._velocity = {name: v.cpu().numpy() for name, v in run.velocity.items()}
        return self

    def _prepare_pass(self, X: ArrayLike) -> Run:
        """Set up one pass through X."""
        first = not hasattr(self, "components_")
        counts = self._training_counts(X, "partial_fit", reset=first)
        parameters = self._begin(counts, ALONE) if first else self._resume()
        documents = Documents.of(counts, self.latent_words_, self._device)
        if self._automatic is None:  # later calls may bring too few documents to judge by
            self._automatic = Pretraining().completed(self.n_components, documents)
        asked: Pretraining = self._in_force("pretraining")
        updates = math.ceil(len(counts) / asked.batch_size)
        # One pass is no end of training: there is nothing to average yet.
        settings = replace(
            asked.filled_from(self._automatic), updates=updates, max_passes=None, averaged=0.0
        )
        run = Run(
            parameters,
            documents,
            [ContrastiveDivergence(settings)],
            seed=draw_seed(self._rng),
            first=0 if first else self.n_updates_,
        )
        if not first:
            run.history.extend(self.history_)
        for name, velocity in (self._velocity or {}).items():
            run.velocity[name].copy_(share(velocity))
        return run

    def _learn(self, training: Course | Run, checkpoint: Checkpoint | None, *, shown: bool) -> None:
        """Go through the training and keep what it learns, as far as it gets."""
        try:
            training.go(lambda phase: progress_bar(phase, "updates", shown=shown))
        except (KeyboardInterrupt, TrainingDiverged) as error:
            run = training if isinstance(training, Run) else training.run
            if run.updates:
                self._keep(training)
            if checkpoint is None:
                raise
            if isinstance(error, TrainingDiverged):
                checkpoint.remove()  # to go on would be to diverge again
                raise
            message = f"Stopped after {run.updates:,} updates."
            if run.saved:
                message += f" The same call goes on from {checkpoint.path}."
            raise KeyboardInterrupt(message) from None
        self._keep(training)
        if shown and isinstance(training, Course) and training.chosen is not None:
            remark(report(training.looks, training.chosen))

    def _begin(self, counts: SparseCounts, together: Alone) -> Parameters:
        """Set up the untrained model, by the documents of all workers."""
        self._rng = random_state_of(self.random_state, type(self).__name__)
        n = lengths(counts).double()
        documents, words = together.total(n.new_tensor([len(n), float(n.sum())])).tolist()
        self.latent_words_ = self._choose_latent_words(words / documents)
        require_sensible(
            self.latent_words_,
            type(self).__name__,
            shortest=min(together.gather(float(n.min()))),
            seen=words / documents,
            latent=float(together.total(self.latent_words_(n).sum())) / documents,
        )
        # Training holds six times the weights, and describing and saving them need some more.
        unit = 8 * 4 * counts.n_words
        require_memory(unit, self.n_components, type(self).__name__, "n_components")
        frequency = smoothed(together.total(word_totals(counts)))
        self.word_frequency_ = frequency.float().numpy()
        seed = together.from_first(draw_seed(self._rng))
        parameters = Parameters.initial(
            self.n_components,
            frequency.to(counts.counts.dtype),
            scale=self._in_force("pretraining").initial_scale,
            generator=torch.Generator(self._device).manual_seed(seed),
        )
        together.from_first_(parameters.W.T)  # processors may draw it with other roundings
        return parameters

    def _resume(self) -> Parameters:
        """Go on from where the last partial fit, or a fit or load, left the model."""
        same = self.n_components == len(self.components_)
        expected = f"the {len(self.components_)} it was fitted with until fit() starts anew"
        require(same, type(self).__name__, "n_components", expected, self.n_components)
        return self._parameters(copy=True)

    def _drop_learnt(self) -> None:
        """Drop what an earlier fit learnt, so that no half of it is mixed with what comes."""
        for name in [n for n in vars(self) if n.endswith("_") and not n.startswith("_")]:
            delattr(self, name)
        self._velocity = self._automatic = None

    def _keep(self, training: Course | Run) -> None:
        """Make what was learnt the estimator's."""
        run, self.looks_ = (
            (training, []) if isinstance(training, Run) else (training.run, training.looks)
        )
        p = run.parameters
        self.components_ = p.W.T.cpu().numpy().T
        self.intercept_hidden_, self.intercept_visible_ = p.a.cpu().numpy(), p.b.cpu().numpy()
        self.n_updates_, self.history_ = run.updates, run.history
        phases = {type(phase.settings): phase.settings for phase in run.begun}
        self.pretraining_ = phases[Pretraining]
        self.finetuning_, self.matching_ = phases.get(Finetuning), phases.get(Matching)
        self._velocity = None  # as large as W: kept between partial fits only

    @property
    def has_density_(self) -> bool:
        """Whether the model was last trained by maximum likelihood: its density is worth a look.

        Chains that start at the documents, instead of a pool that looks for modes, do not make one,
        and matching does away with it.
        """
        tuned = self.finetuning_ is not None and self.finetuning_.chains == "pool"
        return tuned and self.matching_ is None

    # ---- between scikit-learn and the equations ----

    def _training_counts(self, X: ArrayLike, method: str, *, reset: bool) -> SparseCounts:
        """Check parameters and X; leave documents without words out."""
        self._check_parameters()
        return to_torch(self._nonempty_counts(X, method, reset=reset))

    @property
    def _device(self) -> torch.device:
        return choose_device(self.device, type(self).__name__)

    def _parameters(self, *, copy: bool = False) -> Parameters:
        """W, a, b on the device; shared with the arrays of the estimator where that is possible."""
        arrays = (self.components_.T, self.intercept_hidden_, self.intercept_visible_)
        tensors = [share(np.ascontiguousarray(array)) for array in arrays]
        W, a, b = (t.to(self._device, copy=copy) for t in tensors)
        return Parameters(W.T, a, b)
