"""What a single file holds of a model and its collection, for `page/file.js` to answer from.

n documents, F units, K words, T topics. Features of documents are not among it: the browser infers
them from the counts, as it infers those of questions. W is in float16, 1.1 MB for 20 Newsgroups
(11,314 documents, 128 units); in 8 bits, 0.6 MB, hits would change. Features in 8 bits would add
1.1 MB. All words of all texts are kept as postings, 3 MB.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from docboltz import __version__, answers, asking
from docboltz.corpus.document import Document
from docboltz.explorer.snapshot import PIECE, Snapshot
from docboltz.explorer.word_table import counted, cutting, word_table
from docboltz.model.latent_words import policy_to_dict
from docboltz.search import query, score, words
from docboltz.text_model import TextModel
from docboltz.topics.naming import stems_of

CHARACTERS = 14_000_000
"""Of all texts together, unless told otherwise: some 5 MB of the file's data."""
LEAST_CHARACTERS = 200
"""Of each text."""
OFTEN = 5
"""Documents that have a term: to its words forms are added that no text has. Of 227 searches of
20 Newsgroups 3 had other hits than the server's; 5 with such forms of the model's terms alone, and
0.8 MB less."""

Arrays = dict[str, NDArray[Any]]


def characters_kept(lengths: Sequence[int], together: int = CHARACTERS) -> int:
    """How many characters of each text to keep, so that all have so many together.

    >>> characters_kept([100, 900, 2000], together=1700)
    800
    """
    array = np.asarray(lengths, np.int64)
    most = range(LEAST_CHARACTERS, max([LEAST_CHARACTERS, *lengths]) + 1)
    fit = bisect_right(most, together, key=lambda n: int(np.minimum(array, n).sum()))
    return most[max(fit - 1, 0)]


def file_data(model: TextModel, characters: int) -> tuple[dict[str, Any], Arrays]:
    """JSON and arrays: the collection with so many characters of each text."""
    snapshot, light, tree = Snapshot(model), model._light, model.tree
    documents = model.store.documents(range(len(model.store)))
    texts = [each.searched for each in documents]
    found, terms, spellings = counted(model.analysis, texts)
    table = word_table(
        model.analysis,
        model.vocabulary,
        spellings,
        [term for term, df in zip(terms, found.count_nonzero(axis=0), strict=True) if df >= OFTEN],
    )
    places = np.array([table.number[term] for term in terms], np.int64)
    counts = csr_array(
        (found.data, places[found.indices], found.indptr), (len(texts), len(table.number))
    )
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
        "shares": {
            by: snapshot.topics_by(by, None)
            for by in ("label", "date")
            if snapshot.collection[f"has_{by}s"]
        },
        "documents": {
            "id": [each.id for each in documents],
            "title": [each.title for each in documents],
            "columns": [dict(each.columns) for each in documents],
            "text": [shortened(each.text, characters) for each in documents],
            "labels": [each.labels for each in documents],
            "date": [each.date for each in documents],
        },
        "forms": model.vocabulary.forms,
        "stems": stems_of(model.vocabulary.forms, model.analysis),
        "hidden": tree.hidden,
        "words": " ".join(table.words),
        "cutting": cutting(model.analysis),
        "latent_words": policy_to_dict(light.latent_words),
        "score": {
            "bm25": score.BM25_WEIGHT,
            "share": score.SHARE_WEIGHT,
            "power": score.SHARE_POWER,
            "k1": words.K1,
            "b": words.B,
        },
        "limits": {
            "query": query.LONGEST,
            "title": answers.LONGEST_TITLE,
            "spelt": asking.MOST_SPELT,
            "piece": PIECE,
        },
        "columns": model.store.columns,
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
        "spelt": _smallest(table.spelt),
        "pairs": table.pairs,
        "topic_directions": tree.mixture.directions.astype(np.float32),
        "topic_words": tree.mixture.words.astype(np.float16),
        "topic_prior": tree.mixture.prior.astype(np.float32),
        **_postings(counts, model._counts([each.text for each in documents]), table.columns),
        **snapshot.columns,
    }
    return content, arrays


def _remark(documents: Sequence[Document], characters: int) -> dict[str, str]:
    """What the page says of texts that were cut, if any were."""
    cut = sum(len(each.text) > characters for each in documents)
    if not cut:
        return {}
    texts = "1 text is" if cut == 1 else f"{cut:,} texts are"
    return {"remark": f"In this file {texts} cut to {characters:,} characters."}


def shortened(text: str, characters: int) -> str:
    """The beginning of a text, with a sign that it goes on."""
    return text if len(text) <= characters else text[:characters].rstrip() + " …"


def _postings(words: csr_array, counts: csr_array, columns: NDArray[np.int32]) -> Arrays:
    """Which documents have each term, and how often: gaps between their rows, small numbers.

    `columns` are those of the terms in the model's counts. A column whose counts are not those of
    its term, a pair's say, has postings of its own behind those of the terms.
    """
    n_terms, n_columns = words.shape[1], counts.shape[1]
    known = np.flatnonzero(columns >= 0)
    ones = np.ones(len(known), np.int32)
    as_terms = words @ csr_array((ones, (known, columns[known])), (n_terms, n_columns))
    different = np.unique((counts - as_terms).tocoo().coords[1])
    lists = np.zeros(n_columns, np.uint32)
    lists[columns[known]] = known
    lists[different] = n_terms + np.arange(len(different))
    postings = hstack([words, counts[:, different]], "csc")
    postings.sort_indices()
    gaps = np.diff(postings.indices.astype(np.int64), prepend=0)
    first = postings.indptr[:-1][np.diff(postings.indptr) > 0]
    gaps[first] = postings.indices[first]
    return {
        "columns": columns,
        "lists": lists,
        "df": _smallest(np.diff(postings.indptr)),
        "gaps": _smallest(gaps),
        "counts": _smallest(postings.data),
    }


def _smallest(values: NDArray[Any]) -> NDArray[Any]:
    """Whole numbers in two bytes each, or in four if they need them."""
    return values.astype(np.uint16 if values.max(initial=0) < 1 << 16 else np.uint32)
