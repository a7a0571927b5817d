"""Files → a model that can be searched, on a cluster: `docboltz.fitting`, part by part.

Two passes over the files find the vocabulary and write counts; workers train on them; one task
describes, saves and indexes. What is made on the way lies in folders beside the model's: the same
call goes on from there after Ctrl-C or a crash.
"""

from __future__ import annotations

import re
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from docboltz.cluster.connection import get, joined, processors_of_nodes, start
from docboltz.cluster.counted import Counted, CountedCorpus, CountPart
from docboltz.cluster.ids import find_new_ids
from docboltz.cluster.parts import do_jobs, jobs_of
from docboltz.cluster.training import train
from docboltz.cluster.vocabulary import find_vocabulary
from docboltz.corpus.analysis import TEXTS, LanguageGuess, TextAnalysis
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.readers import Documents, as_documents
from docboltz.errors import (
    DocboltzError,
    FewDocumentsWarning,
    InvalidModelFile,
    InvalidParameter,
    require,
    require_count,
    warn_user,
)
from docboltz.estimator.base import TopicModel
from docboltz.estimator.learning import few_documents
from docboltz.estimator.models import assemble
from docboltz.fitting import (
    checkpoint_folder,
    describe_text,
    describe_units,
    prepare_folder,
    raise_after_saving,
    too_few_documents,
    warn_of_language,
)
from docboltz.indexing import look_for_topics, require_store, write_documents
from docboltz.progress import remark
from docboltz.storage import CHECKPOINT, MODEL, StrPath, load_model, save_model
from docboltz.topic_verbs import FOLDER
from docboltz.topics.topic_tree import TOPICS

if TYPE_CHECKING:
    from docboltz.text_model import TextModel

Made = TypeVar("Made", bound="TextModel")

CANCEL_SECONDS = 10.0
"""Time to wait until a task that is no longer wanted has ended."""


def fit(
    cls: type[Made],
    documents: Any,
    estimator: TopicModel,
    *,
    ray: str,
    workers: int,
    folder: StrPath | None,
    analysis: TextAnalysis,
    replace: bool,
    restart: bool,
    verbose: bool,
    store: str | None = None,
    **limits: Any,
) -> Made:
    """Do the work of `TextModel.fit` on a cluster."""
    require_count(workers, "TextModel.fit", "workers")
    expected = "a folder that all nodes of the cluster can write"
    require(folder is not None, "TextModel.fit", "folder", expected, folder)
    assert folder is not None
    out = Path(folder).absolute()  # where tasks run, the working folder is another
    if store is not None:
        require_store(store)
    stream = as_documents(documents, "TextModel.fit")
    parts = stream.parts()
    estimator.set_params(
        checkpoint=prepare_folder(out, stream.paths, replace=replace, restart=restart)
    )
    scratch = counted_folder(out)
    _require_own(scratch)
    if restart:
        shutil.rmtree(scratch, ignore_errors=True)
    guess = LanguageGuess()
    for document in islice(stream, TEXTS):
        guess.add(document.text)
    warn_of_language(guess, analysis, verbose=verbose)
    before = _saved_in(out)
    try:
        with joined(ray, "TextModel.fit"):
            vocabulary, stream.report = find_vocabulary(parts, analysis, **limits)
            if (too_few := too_few_documents(stream)) is not None:
                raise too_few
            corpus = _count(stream, scratch, analysis, vocabulary, estimator, verbose=verbose)
            new_ids, met = find_new_ids(corpus.files)
            stream.report.add(met)
            if verbose:
                for line in stream.report.summary():
                    remark(line)
                remark(f"Training on {workers:,} worker{'s' if workers > 1 else ''}.")
            train(estimator, corpus, workers, scratch / "ray", out=scratch / "trained")
            text = describe_text(stream, analysis, vocabulary, ())
            if verbose:
                remark("Indexing and finding topics.")
            named = corpus.named(new_ids)
            _finish_on_cluster(cls, out, scratch / "trained", text, named, store)
    except (DocboltzError, KeyboardInterrupt) as error:
        if _saved_in(out) != before:
            _remove_scratch(out)  # the same call would refuse to replace what it has learnt
            raise_after_saving(error, out)
        if isinstance(error, KeyboardInterrupt):
            raise KeyboardInterrupt("the same call goes on where this one stopped.") from None
        raise
    _remove_scratch(out)
    return cls.open(out, device=estimator.device)


def _saved_in(folder: Path) -> str | None:
    """What tells the model in a folder from one that takes its place, though it be the same."""
    try:
        return MODEL.open(folder).build if MODEL.exists(folder) else None
    except InvalidModelFile:
        return None


def _remove_scratch(out: Path) -> None:
    """Remove what training left beside the model."""
    CHECKPOINT.remove(checkpoint_folder(out))
    shutil.rmtree(counted_folder(out), ignore_errors=True)


def _require_own(folder: Path) -> None:
    """Refuse a folder with other things in it than counts: it is removed in the end."""
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    other = [name for name in names if not re.fullmatch(r"\.?part-.*|ray|trained|\.lock", name)]
    if other or (folder.exists() and not folder.is_dir()):
        raise InvalidParameter(
            f"Counts would go to {folder}, which holds other things.",
            hint="Name another folder for the model, or move them away.",
        )


def counted_folder(model_folder: Path) -> Path:
    """Where counts lie until the model is there."""
    return checkpoint_folder(model_folder).with_suffix(".counted")


def _count(
    stream: Documents,
    folder: Path,
    analysis: TextAnalysis,
    vocabulary: Vocabulary,
    estimator: TopicModel,
    *,
    verbose: bool,
) -> CountedCorpus:
    """Have all parts counted, but those that are there."""
    jobs = jobs_of(stream.parts(), folder, [analysis.to_dict(), list(vocabulary)])
    found: dict[int, Counted] = dict(
        do_jobs(jobs, CountPart, analysis, vocabulary, label="Counting", shown=verbose)
    )
    counted = [found[job.number] for job in jobs]
    few = few_documents(sum(each.with_words for each in counted), estimator.n_components, "units")
    if few is not None:
        warn_user(few, FewDocumentsWarning)
    return CountedCorpus([job.file for job in jobs], [c.documents for c in counted], vocabulary)


def _finish_on_cluster(cls: type[Made], *arguments: Any) -> None:
    import ray

    most = max(processors_of_nodes())  # alone on a node: its memory is the task's
    task = start(finish, cls, *arguments, num_cpus=most)
    try:
        get(task)
    except KeyboardInterrupt:
        ray.cancel(task, force=True)  # a cluster that others go on using would end it
        ray.wait([task], timeout=CANCEL_SECONDS)
        raise


def finish(
    cls: type[Made],
    out: Path,
    trained: Path,
    text: dict[str, Any],
    corpus: CountedCorpus,
    store: str | None,
) -> None:
    """Make the trained estimator a model of text, save and index it, and find its topics."""
    arrays, settings = load_model(trained)
    estimator = assemble(arrays, settings, path=trained, device="auto")
    counted: Any = corpus  # read block by block, which is all that is done with it
    units = [unit.to_dict() for unit in describe_units(estimator, counted)]
    settings["text"] = {**text, "units": units}
    save_model(out, arrays, settings)
    TOPICS.remove(out / FOLDER)  # of the model that was there
    model = cls(arrays, settings, path=out, estimator=estimator)
    where = model.make_store_folder()
    write_documents(model, counted, corpus.documents, where, store=store, verbose=False)
    look_for_topics(model, verbose=False)
