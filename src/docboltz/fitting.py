"""From a stream of documents to a model that can be searched: count, train, save, index."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace as replaced
from itertools import chain
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np

from docboltz.answers import Unit
from docboltz.corpus.analysis import TEXTS, LanguageGuess, TextAnalysis
from docboltz.corpus.columns import ReadOptions
from docboltz.corpus.corpus import Corpus, Vocabulary
from docboltz.corpus.counting import Parts, remove_parts
from docboltz.corpus.disk import drop_pages
from docboltz.corpus.reading import Documents, as_documents
from docboltz.device import choose_device
from docboltz.errors import (
    DocboltzError,
    EmptyDocumentsWarning,
    FewDocumentsWarning,
    InvalidCorpus,
    InvalidModelFile,
    InvalidParameter,
    LanguageWarning,
    OtherRun,
    TrainingDiverged,
    require,
    require_count,
    warn_user,
)
from docboltz.estimator.base import TopicModel
from docboltz.estimator.learning import few_documents
from docboltz.estimator.models import OverReplicatedSoftmax
from docboltz.estimator.saving import describe
from docboltz.evaluation.topic_words import BLOCK_DOCUMENTS, TopicTally
from docboltz.indexing import (
    COUNTS,
    beside,
    count_documents,
    counting_beside,
    look_for_topics,
    require_store,
    write_documents,
)
from docboltz.progress import remark
from docboltz.storage import (
    CHECKPOINT,
    MODEL,
    Arrays,
    StrPath,
    locked,
    require_apart,
    save_model,
)
from docboltz.topic_verbs import FOLDER
from docboltz.topics.topic_tree import TOPICS
from docboltz.training.recipes import find_recipe, with_updates
from docboltz.training.validation import Validation

if TYPE_CHECKING:
    import pyarrow as pa

    from docboltz.text_model import TextModel

Made = TypeVar("Made", bound="TextModel")

KEPT_WORDS = 20
"""Of each unit, to show."""
GIVEN_BY = {
    "n_components": ("units",),
    "pretraining": ("recipe", "updates"),
    "finetuning": ("recipe", "updates"),
    "matching": ("recipe", "updates"),
    "model": ("estimator",),
}
"""Parameters of `fit` that decide on those of a run which have other names."""


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C while training; the model learnt until then is saved, and training can go on."""

    def __init__(self, message: str, model: TextModel) -> None:
        super().__init__(message)
        self.model = model


def fit(
    cls: type[Made],
    documents: Any,
    estimator: TopicModel,
    *,
    folder: StrPath | None,
    analysis: TextAnalysis,
    replace: bool,
    restart: bool,
    store: str | None,
    verbose: bool,
    ray: str | None = None,
    workers: int = 1,
    **limits: Any,
) -> Made:
    """Do the work of `TextModel.fit`, whose docstring says what comes of it."""
    stream = as_documents(documents, "TextModel.fit")
    out = None if folder is None else Path(folder).absolute() if ray else Path(folder)
    choose_device(estimator.device, "TextModel.fit")
    cluster: AbstractContextManager[None] = nullcontext()
    if ray is not None:
        from docboltz.cluster.connection import joined

        require_count(workers, "TextModel.fit", "workers")
        expected = "a folder that all nodes of the cluster can write"
        require(out is not None, "TextModel.fit", "folder", expected, folder)
        stream.parts()  # an error for what is no file
        cluster = joined(ray, "TextModel.fit")
    if store is not None:
        require_store(store)
    if out is not None:
        checkpoint = prepare_folder(out, stream.paths, replace=replace, restart=restart)
        estimator.set_params(checkpoint=checkpoint)
    with cluster, counting_beside(out, stream, analysis) as parts:
        corpus = _count(stream, parts, analysis, verbose, on_cluster=ray is not None, **limits)
        with_words = int(np.count_nonzero(np.diff(corpus.counts.indptr)))
        few = few_documents(with_words, estimator.n_components, "units")
        if few is not None:
            warn_user(few, FewDocumentsWarning)
        if out is not None:
            sizes = len(corpus), parts.bytes, len(corpus.vocabulary), estimator.n_components
            _require_space(out, *sizes)
        if ray is not None and verbose:
            remark(f"Training on {workers:,} worker{'s' if workers > 1 else ''}.")
        estimator, stopped = _train(estimator, corpus, None if ray is None else workers)
        drop_pages(corpus.counts.data, corpus.counts.indices)
        if stopped is not None and out is None:
            raise stopped
        if stopped is not None and out is not None and _holds_whole_model(out):
            out = interrupted_folder(out)
        arrays, settings = describe(estimator)
        units = describe_units(estimator, corpus)
        settings["text"] = describe_text(stream, analysis, corpus.vocabulary, units)
        settings["text"]["interrupted"] = stopped is not None
        if out is not None:
            _save(out, arrays, settings, checkpoint if stopped is None else None)
            TOPICS.remove(out / FOLDER)  # of the model that was there
        model = cls(arrays, settings, path=out, estimator=estimator, analysis=analysis)
        if out is not None and stopped is None:
            CHECKPOINT.remove(checkpoint)  # not before the model is on disk
        if isinstance(stopped, TrainingDiverged):
            raise TrainingDiverged(f"{stopped} It is saved in {out}.")
        try:
            place, whole = model.make_store_folder(), parts.documents(corpus.ids)
            write_documents(model, corpus, whole, place, store=store, verbose=verbose)
            look_for_topics(model, verbose=verbose)
        except (DocboltzError, KeyboardInterrupt) as error:
            if stopped is not None and isinstance(error, KeyboardInterrupt):
                raise KeyboardInterrupt("the same call goes on with training.") from error
            if out is None:
                raise
            parts.remove()  # the same call would refuse to replace what it has learnt
            raise_after_saving(error, out)
        finally:
            estimator.set_params(checkpoint=None)  # what is done with it now needs none
        if stopped is not None:
            same = str(out) == str(folder)
            kept = "" if same else f" The model that was in {folder} is untouched."
            done = f"usable as it is, after {estimator.n_updates_:,} updates.{kept}"
            raise TrainingInterrupted(f"the model in {out} is {done}", model)
    return model


def _count(
    stream: Documents, parts: Parts, analysis: TextAnalysis, verbose: bool, **how: Any
) -> Corpus:
    """Count the documents; an error for a single one, a remark for another language."""
    guess = LanguageGuess()

    def see(batch: pa.RecordBatch) -> None:
        for text in batch.column("text").slice(0, TEXTS - guess.n_texts).to_pylist():
            guess.add(text)

    if how["on_cluster"]:  # where other processes see the texts
        see(next(stream.batches()))
    try:
        corpus = count_documents(parts, stream, analysis, verbose=verbose, see=see, **how)
    except InvalidCorpus as error:
        raise too_few_documents(stream) or error from None
    if (too_few := too_few_documents(stream)) is not None:
        raise too_few
    warn_of_language(guess, analysis, verbose=verbose)
    return corpus


def raise_after_saving(error: DocboltzError | KeyboardInterrupt, out: Path) -> NoReturn:
    """Raise what came in between when the model was saved already, and say so."""
    complete = f"model in {out} is complete; to search its documents, index them again."
    if isinstance(error, KeyboardInterrupt):
        raise KeyboardInterrupt(f"the {complete}") from error
    error.hint = f"{error.hint} The {complete}".strip()
    raise error


def softmax_model(
    units: int, *, recipe: str, updates: int | None, validation: float, **settings: Any
) -> OverReplicatedSoftmax:
    """An untrained model; `updates` are the minibatches of each of the recipe's phases."""
    require_count(units, "TextModel.fit", "units")
    phases = find_recipe(recipe, "TextModel.fit")
    phases = phases if updates is None else with_updates(phases, updates)
    changed: Any = {} if updates is None else phases
    if validation:
        changed["validation"] = replaced(phases["validation"] or Validation(), share=validation)
    name: Any = recipe
    return OverReplicatedSoftmax(units, recipe=name, **changed, **settings)


def describe_text(
    stream: Documents, analysis: TextAnalysis, vocabulary: Vocabulary, units: Sequence[Unit]
) -> dict[str, Any]:
    """What a model saves of its documents, which were read, beside what training has learnt."""
    return {
        "analysis": analysis.to_dict(),
        "reading": _reading(stream).to_dict(),
        "interrupted": False,
        "vocabulary": list(vocabulary.words),
        "forms": list(vocabulary.forms),
        "columns": _columns(stream),
        "units": [unit.to_dict() for unit in units],
    }


def describe_units(model: TopicModel, corpus: Corpus) -> tuple[Unit, ...]:
    """Find the words that documents with a unit on have more of than documents without."""
    F, K = model.components_.shape
    tally = TopicTally(K, F)
    for begin in range(0, len(corpus), BLOCK_DOCUMENTS):
        counts = corpus.counts[begin : begin + BLOCK_DOCUMENTS]
        counts = counts[np.diff(counts.indptr) > 0]
        tally.add(model.transform(counts, "fast"), counts)  # as documents are searched
    units = []
    for j in range(F):
        bits = tally.divergence(j)
        best = np.argsort(-bits, kind="stable")[:KEPT_WORDS]
        words = tuple(corpus.vocabulary.forms[int(k)] for k in best if bits[k] > 0)
        units.append(Unit(j, words, float(bits.sum()), float(tally.activity[j])))
    return tuple(units)


def checkpoint_folder(model_folder: Path) -> Path:
    """Where training for a model keeps its state until it is done."""
    return beside(model_folder, ".checkpoint")


def interrupted_folder(model_folder: Path) -> Path:
    """Where a model goes whose training was stopped, beside one that is there already."""
    return beside(model_folder, "-interrupted")


def prepare_folder(out: Path, read: Sequence[Path], *, replace: bool, restart: bool) -> Path:
    """Refuse, before the work, what could not be saved; say where the state of training goes."""
    MODEL.require_writable(out)
    require_apart(out, read)
    checkpoint = checkpoint_folder(out)
    if _holds_whole_model(out) and not replace:
        raise InvalidParameter(
            f"There is a model in {out} already.",
            hint="Name another folder, or add {replace=True}.",
            settings=("replace=True",),
        )
    TOPICS.inside(out, FOLDER)
    if restart:
        CHECKPOINT.remove(CHECKPOINT.inside(checkpoint.parent, checkpoint.name))
        counts = beside(out, COUNTS)
        if counts.is_dir():
            with locked(counts, "counts", 0):
                remove_parts(counts)
    CHECKPOINT.require_writable(checkpoint)
    return checkpoint


def _save(out: Path, arrays: Arrays, settings: dict[str, Any], checkpoint: Path | None) -> None:
    """Save the model; where that fails after all, what took long to learn is not to be lost."""
    try:
        save_model(out, arrays, settings)
    except DocboltzError as error:
        kept = f"The state of training is in {checkpoint}." if checkpoint else ""
        with suppress(DocboltzError, OSError):
            place = Path(mkdtemp(prefix="docboltz-")) / (out.name or "model")
            save_model(place, arrays, settings)
            kept = f"What was learnt is saved in {place}: move it from there."
        error.hint = f"{error.hint} {kept}".strip()
        raise


def _holds_whole_model(folder: Path) -> bool:
    """Tell whether there is a model that is not what an interrupted training left of one."""
    if not MODEL.exists(folder):
        return False
    try:
        return MODEL.open(folder).content["text"]["interrupted"] is not True
    except (InvalidModelFile, KeyError, TypeError):  # whatever it is, it is not for us to remove
        return True


def _reading(documents: Documents) -> ReadOptions:
    """How the documents were read, and others will be: from the text column that was found, too."""
    texts = {way.columns.text for way in documents.report.read_as if way.columns is not None}
    columns = {name for names in texts for name in names}
    if documents.options.text is not None or len(columns) != 1:
        return documents.options
    return replaced(documents.options, text=columns.pop())


def _columns(documents: Documents) -> dict[str, str | None]:
    """Names of the columns that labels and dates came from, if all files have the same."""
    read = [way.columns for way in documents.report.read_as if way.columns is not None]
    names = {kind: {getattr(columns, kind) for columns in read} for kind in ("label", "date")}
    return {kind: each.pop() if len(each) == 1 else None for kind, each in names.items()}


def too_few_documents(documents: Documents) -> InvalidCorpus | None:
    """An error for a single document: as a rule a file that was read in the wrong way."""
    if documents.report.documents != 1:
        return None
    met = "; ".join(documents.report.problems())
    return InvalidCorpus(
        f"One document is not enough to learn from{f' ({met})' if met else ''}.",
        hint="If the file holds several, say how to read it with {format}.",
        settings=("format",),
    )


def warn_of_language(guess: LanguageGuess, analysis: TextAnalysis, *, verbose: bool) -> None:
    """Say that texts seem to be in another language, if they do."""
    if (mismatch := guess.mismatch(analysis)) is None:
        return
    if verbose:
        remark(f"{mismatch}.")
    else:
        warn_user(f"{mismatch}.", LanguageWarning)


def _train(
    model: TopicModel, corpus: Corpus, workers: int | None
) -> tuple[TopicModel, BaseException | None]:
    """Fit, by workers of a cluster if there are some; the fitted model, and what stopped training,
    if a model came of it."""
    try:
        if workers is not None:
            from docboltz.cluster.training import train

            return train(model, corpus.counts, workers), None
        with warnings.catch_warnings():
            for said_already in (EmptyDocumentsWarning, FewDocumentsWarning):
                warnings.simplefilter("ignore", said_already)
            model.fit_keeping_checkpoint(corpus.counts)
    except OtherRun as error:
        raise other_training(model, error) from error
    except (KeyboardInterrupt, TrainingDiverged) as error:
        if not hasattr(model, "components_"):
            raise
        return model, error
    return model, None


def other_training(model: TopicModel, error: OtherRun) -> InvalidParameter:
    """An error for a checkpoint that the model cannot go on from, in words of fitting."""
    settings = dict.fromkeys(chain(*(GIVEN_BY.get(name, (name,)) for name in error.changed)))
    settings.pop("documents", None)
    spelled = [f"{{{name}}}" for name in settings]
    if "documents" in error.changed:
        spelled.append("the documents, or what counts as a word")
    return InvalidParameter(
        f"{model.checkpoint} holds the state of an interrupted training with other settings "
        "or documents.",
        hint=f"Not the same: {'; '.join(spelled)}. Give what it was begun with to go on, or add "
        "{restart=True} to start anew.",
        settings=(*settings, "restart=True"),
    )


def _require_space(out: Path, n_documents: int, n_bytes: int, n_words: int, n_units: int) -> None:
    """Say before training, not after, that the disk is too full for what training will make."""
    folder = next(f for f in (out, *out.absolute().parents) if f.exists())
    disk = shutil.disk_usage(folder)
    # Weights and features in float32, texts, and roughly what the word index takes beside them.
    # A checkpoint holds up to seven times the weights, twice while it is replaced.
    weights, features = 4 * n_units * n_words, 4 * n_units * n_documents
    needed = 15 * weights + features + 3 * n_bytes
    if disk.total and disk.free < needed:  # what is no disk, like /proc, has no room at all
        raise InvalidParameter(
            f"Cannot save a model to {out}: with {n_units:,} units it takes about "
            f"{needed / 1e6:,.0f} MB and the disk has {disk.free / 1e6:,.0f} MB left.",
            hint="Lower {units}, free some space or name a folder on another disk.",
            settings=("units",),
        )
