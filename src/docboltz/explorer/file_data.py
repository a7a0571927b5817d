"""What a single file holds of a model and its collection, for `page/file.js` to answer from.

n documents, F units, K words, T topics. Features of documents are not among it: the browser infers
them from the counts, as it infers those of questions. Measured on 20 Newsgroups (11,314 documents,
128 units) with 184 queries of 3 to 40 words, against `TextModel.search`: W in float16, 1.1 MB,
keeps 99.95 % of the ten best hits and all scores within 0.0001; W in 8 bits, 0.6 MB, 98.9 %, with
scores off by up to 0.02. Features in 8 bits would add 1.1 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from docboltz import __version__
from docboltz.corpus.document import Document
from docboltz.explorer.snapshot import Snapshot
from docboltz.explorer.word_table import cutting, word_table
from docboltz.model.latent_words import policy_to_dict
from docboltz.search.interface import WEIGHTS
from docboltz.text_model import TextModel
from docboltz.topics.naming import stems_of

CHARACTERS = 14_000_000
"""Of all texts together, unless told otherwise: some 5 MB of the file's data."""
LEAST_CHARACTERS = 200
"""Of each text."""

Arrays = dict[str, NDArray[Any]]


def characters_kept(lengths: Sequence[int], together: int = CHARACTERS) -> int:
    """How many characters of each text to keep, so that all have so many together.

    >>> characters_kept([100, 900, 2000], together=1700)
    800
    """
    low, high = LEAST_CHARACTERS, max([LEAST_CHARACTERS, *lengths])
    array = np.asarray(lengths, np.int64)
    while low < high:
        middle = (low + high + 1) // 2
        fits = int(np.minimum(array, middle).sum()) <= together
        low, high = (middle, high) if fits else (low, middle - 1)
    return low


def file_data(model: TextModel, characters: int) -> tuple[dict[str, Any], Arrays]:
    """JSON and arrays: the collection with so many characters of each text."""
    snapshot, light, tree = Snapshot(model), model._light, model.tree
    documents = model.store.documents(range(len(model.store)))
    table = word_table(model.analysis, model.vocabulary, (each.text for each in documents))
    counts = model.store.words.counted()
    content = {
        "collection": {
            **snapshot.collection,
            "edit": False,
            "map_progress": None,
            "version": __version__,
            **_remark(documents, characters),
        },
        "map": snapshot.map(),
        "topics": snapshot.topics,
        "shares": _shares(snapshot),
        "documents": _documents(documents, characters),
        "forms": model.vocabulary.forms,
        "stems": stems_of(model.vocabulary.forms, model.analysis),
        "hidden": tree.hidden,
        "words": table.words,
        "cutting": cutting(model.analysis),
        "latent_words": policy_to_dict(light.latent_words),
        "features_share": WEIGHTS["both"].features,
        "units": [{"unit": u.number, "words": u.words[:10]} for u in model._units],
        "mixture": {
            "numbers": tree.numbers.tolist(),
            "temperature": tree.mixture.temperature,
            "growth": tree.mixture.growth,
            "lengths": tree.mixture.lengths.tolist(),
            "limits": tree.mixture.limits.tolist(),
        },
    }
    arrays: Arrays = {
        "W": light.W.T.astype(np.float16),  # word by word: (K, F)
        "a": light.a.astype(np.float32),
        "b": light.b.astype(np.float32),
        "usual": light.word_frequency.astype(np.float32),
        "mean": model.activity,
        "terms": table.terms,
        "pairs": table.pairs,
        "topic_directions": tree.mixture.directions.astype(np.float32),
        "topic_words": tree.mixture.words.astype(np.float16),
        "topic_prior": tree.mixture.prior.astype(np.float32),
        **_packed_counts(counts),
        **_points(snapshot),
    }
    return content, arrays


def _remark(documents: Sequence[Document], characters: int) -> dict[str, str]:
    """What the page says of texts that were cut, if any were."""
    cut = sum(len(each.text) > characters for each in documents)
    if not cut:
        return {}
    texts = "1 text is" if cut == 1 else f"{cut:,} texts are"
    return {"remark": f"In this file {texts} cut to {characters:,} characters."}


def _documents(documents: Sequence[Document], characters: int) -> dict[str, Any]:
    return {
        "id": [each.id for each in documents],
        "text": [shortened(each.text, characters) for each in documents],
        "labels": [each.labels for each in documents],
        "date": [each.date for each in documents],
    }


def shortened(text: str, characters: int) -> str:
    """The beginning of a text, with a sign that it goes on."""
    return text if len(text) <= characters else text[:characters].rstrip() + " …"


def _shares(snapshot: Snapshot) -> dict[str, Any]:
    """Shares of topics, by label and by date, as the page asks for them."""
    about = snapshot.collection
    found: dict[str, Any] = {}
    if about["has_labels"]:
        found["label"] = snapshot.topics_by("label", None)
    if about["has_dates"]:
        found["date"] = snapshot.topics_by("date", None)
    return found


def _packed_counts(counts: csr_array) -> Arrays:
    """Columns of each document as the first and the gaps between them: small numbers."""
    gaps = np.diff(counts.indices.astype(np.int64), prepend=0)
    first = counts.indptr[:-1][np.diff(counts.indptr) > 0]
    gaps[first] = counts.indices[first]
    return {
        "starts": counts.indptr.astype(np.uint32),
        "gaps": _smallest(gaps),
        "counts": _smallest(counts.data),
    }


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in two bytes each, or in four if they need them."""
    return values.astype(np.uint16 if values.max(initial=0) < 1 << 16 else np.uint32)


def _points(snapshot: Snapshot) -> Arrays:
    """The columns of the map's points."""
    n, data = len(snapshot), snapshot.points
    found, begin = {}, 0
    for name, dtype in (("x", "<f4"), ("y", "<f4"), ("topic", "<u2"), ("label", "<u2"),
                        ("day", "<f4")):  # fmt: skip
        found[name] = np.frombuffer(data, dtype, n, begin)
        begin += found[name].nbytes
    return found
