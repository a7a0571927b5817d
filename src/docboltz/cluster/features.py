"""Features of files, part by part on a cluster, into a folder of Parquet files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from pyarrow import parquet

from docboltz.cluster.connection import get, joined, start
from docboltz.cluster.ids import find_new_ids, rename
from docboltz.cluster.parts import STAMP, Job, do_jobs, jobs_of, stamp_of
from docboltz.corpus.readers import as_documents
from docboltz.corpus.report import ReadReport
from docboltz.errors import InvalidParameter, NoDocuments, require
from docboltz.feature_files import feature_schema, save_features
from docboltz.indexing import COUNTS
from docboltz.progress import remark
from docboltz.storage import replacing, require_apart, require_writable
from docboltz.topic_verbs import FOLDER
from docboltz.topics.topic_tree import TOPICS

if TYPE_CHECKING:
    from docboltz.inference import Inference
    from docboltz.text_model import TextModel


@dataclass(frozen=True)
class Inferred:
    """Documents whose features are in a folder."""

    n_documents: int
    n_empty: int
    """Of them, those without a known word."""

    def __len__(self) -> int:
        return self.n_documents


def save_features_on_cluster(
    model: TextModel,
    documents: Any,
    out: Path,
    *,
    ray: str,
    device: str,
    wide: bool,
    replace: bool,
    inference: Inference | None,
    verbose: bool,
) -> Inferred:
    """Write a file of features for each part of the documents into the folder `out`.

    Together they are what `docboltz.feature_files.save_features` writes. Parts whose features are
    there, by the same model of the same files, are not inferred again; other features are replaced,
    and other files if `replace` allows it.
    """
    owner = "TextModel.save_features"
    known = inference in (None, "fast", "mean_field")
    require(known, owner, "inference", "'fast' or 'mean_field'", inference)
    if model.path is None:
        raise InvalidParameter(
            "Workers of a cluster read the model from a folder, and this one is not saved.",
            hint="Save it to a folder that all nodes can read.",
        )
    stream = as_documents(documents, owner, model.reading)
    folder, path = out.absolute(), Path(model.path).absolute()
    require_apart(folder, [*stream.paths, path])
    tree = path / FOLDER
    topics = TOPICS.open(tree).identity if TOPICS.exists(tree) else None
    jobs = jobs_of(stream.parts(), folder, [model.fingerprint, topics, wide, inference])
    _require_own(folder, jobs, replace=replace)
    with joined(ray, owner):
        arguments = (type(model), path, model.fingerprint, device, wide, inference)
        found = dict(
            do_jobs(
                jobs,
                FeaturesOfPart,
                *arguments,
                label="Inferring",
                shown=verbose,
                gpu=device.startswith("cuda"),
            )
        )
        new_ids, met = find_new_ids([job.file for job in jobs])
        named = [start(rename, job.file, ids) for job, ids in zip(jobs, new_ids, strict=True)]
        for each in named:
            get(each)
    for draft in folder.glob(".part-*.parquet"):  # of a worker that died
        draft.unlink(missing_ok=True)
    stream.report = ReadReport()
    for job in jobs:
        stream.report.add(found[job.number][1])
    stream.report.add(met)
    inferred = [found[job.number][0] for job in jobs]
    if verbose:
        for line in stream.report.summary():
            remark(line)
    n, empty = sum(i.n_documents for i in inferred), sum(i.n_empty for i in inferred)
    if not n:
        raise NoDocuments("There are no documents in any of the files.")
    return Inferred(n, empty)


class FeaturesOfPart:
    """Infers features of parts by a model that is opened once."""

    def __init__(
        self,
        cls: type[TextModel],
        path: Path,
        fingerprint: str,
        device: str,
        wide: bool,
        inference: Inference | None,
    ) -> None:
        self._model = cls.open(path, device=device)
        if self._model.fingerprint != fingerprint:
            raise InvalidParameter(f"The model in {path} was replaced.", hint="Begin again.")
        self._wide, self._inference = wide, inference

    def __call__(self, job: Job) -> tuple[Inferred, ReadReport]:
        """Write the part's features, unless they are there; what was read to do so."""
        report = ReadReport()
        if not job.is_done:
            metadata = {STAMP: job.stamp.encode()}
            how: dict[str, Any] = {"wide": self._wide, "metadata": metadata}
            documents = job.part.documents
            try:
                save_features(
                    self._model,
                    documents,
                    job.file,
                    replace=True,
                    inference=self._inference,
                    verbose=False,
                    n_jobs=1,  # an actor has one processor
                    **how,
                )
            except NoDocuments:
                with replacing(job.file) as draft:
                    schema = feature_schema(self._model.n_units, **how)
                    parquet.write_table(schema.empty_table(), draft)
            report = documents.report
        known = parquet.read_table(job.file, columns=["n_words"])["n_words"]
        return Inferred(len(known), pc.sum(pc.equal(known, 0)).as_py() or 0), report


def _require_own(folder: Path, jobs: list[Job], *, replace: bool) -> None:
    """Refuse a folder with other files, which would be read as features too, or be lost."""
    require_writable(folder, "features")
    names = {job.file.name + end for job in jobs for end in ("", COUNTS)}
    there = [file.name for file in folder.iterdir()] if folder.exists() else []
    other = sorted(name for name in there if name not in names and not name.startswith("."))
    if other:
        raise InvalidParameter(
            f"{folder} holds {other[0]!r}, which is none of these features' files.",
            hint="Name a new folder, or the one that these documents' features are in.",
        )
    for job in () if replace else jobs:
        if job.file.exists() and stamp_of(job.file) is None:
            raise InvalidParameter(
                f"There is a file {job.file}, which no such call has written.",
                hint="Name another folder, or add {replace=True}.",
                settings=("replace=True",),
            )
