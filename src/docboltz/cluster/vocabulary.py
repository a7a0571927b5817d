"""The first pass: the words of all parts, tallied where the parts are read.

Tallies are tables, one line for each term and one for each way it was spelled, and are added up by
tasks in a tree. The caller's process sees none of them, only the words that are kept in the end.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from docboltz.cluster.connection import get, start
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.chunks import ChunkCounter
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.counting import check_limits, chunks_of, select_terms
from docboltz.corpus.readers import Part
from docboltz.corpus.report import ReadReport
from docboltz.errors import NoDocuments

AT_ONCE = 8
"""Tallies that a task adds up."""
SCHEMA = pa.schema(
    [("term", pa.string()), ("word", pa.string()), ("documents", pa.int64()), ("times", pa.int64())]
)
"""Word "" stands for all spellings of a term, and term "" for every document."""


def find_vocabulary(
    parts: list[Part],
    analysis: TextAnalysis,
    *,
    min_df: int | float,
    max_df: int | float,
    max_words: int | None,
) -> tuple[Vocabulary, ReadReport]:
    """The vocabulary of all parts, as `docboltz.corpus.counting.count` makes it, and what was met.

    Ray is joined.
    """
    check_limits(min_df, max_df, max_words)
    tallied = [start(tally, part, analysis, num_returns=2) for part in parts]
    tallies = [table for table, _ in tallied]
    while len(tallies) > 1:
        groups = [tallies[at : at + AT_ONCE] for at in range(0, len(tallies), AT_ONCE)]
        tallies = [start(add_up, *group) for group in groups]
    report = ReadReport()
    for _, met in tallied:
        report.add(get(met))
    return get(start(select, tallies[0], min_df, max_df, max_words)), report


def tally(part: Part, analysis: TextAnalysis) -> tuple[pa.Table, ReadReport]:
    """Tally the terms of a part and their spellings, and the number of its documents."""
    counter = ChunkCounter(analysis)
    terms: list[str] = []
    words: list[str] = []
    word_terms: list[int] = []
    df, times, spelled = (np.zeros(0, np.int64) for _ in range(3))
    try:
        for chunk in chunks_of(document.text for document in part.documents):
            counted = counter.count(chunk)
            spellings = counted.spellings
            assert spellings is not None
            terms += counted.new_terms
            words += spellings.new_words
            word_terms += spellings.new_word_terms.tolist()
            df = _grown(df, len(terms)) + np.bincount(counted.terms, minlength=len(terms))
            times = _grown(times, len(terms))
            np.add.at(times, counted.terms, counted.counts)
            spelled = _grown(spelled, len(words))
            spelled[spellings.words] += spellings.counts
    except NoDocuments:
        pass  # others have some
    report = part.documents.report
    by_term = [terms, [""] * len(terms), df, times]
    by_word = [[terms[t] for t in word_terms], words, np.zeros(len(words), np.int64), spelled]
    all_of_them = [[""], [""], [report.documents], [0]]
    tables = [pa.table(each, schema=SCHEMA) for each in (by_term, by_word, all_of_them)]
    return add_up(*tables), report


def add_up(*tallies: pa.Table) -> pa.Table:
    """One tally of several."""
    sums = [("documents", "sum"), ("times", "sum")]
    summed = pa.concat_tables(tallies).group_by(["term", "word"]).aggregate(sums)
    return pa.table([summed[name] for name in _SUMMED], schema=SCHEMA)


_SUMMED = ("term", "word", "documents_sum", "times_sum")


def select(tallied: pa.Table, *limits: Any) -> Vocabulary:
    """The words that are kept, each with its commonest spelling, the first of equals."""
    whole, of_term = pc.equal(tallied["word"], ""), pc.not_equal(tallied["term"], "")
    n_documents = pc.sum(tallied.filter(pc.invert(of_term))["documents"]).as_py()
    by_term = tallied.filter(pc.and_(whole, of_term))
    terms = by_term["term"].to_pylist()
    df, times = (by_term[name].to_numpy() for name in ("documents", "times"))
    kept = [terms[column] for column in select_terms(terms, df, times, n_documents, *limits)]
    by_word = tallied.filter(
        pc.and_(pc.invert(whole), pc.is_in(tallied["term"], value_set=pa.array(kept)))
    ).sort_by([("times", "descending"), ("word", "ascending")])
    forms: dict[str, str] = {}
    for term, word in zip(by_word["term"].to_pylist(), by_word["word"].to_pylist(), strict=True):
        forms.setdefault(term, word)
    return Vocabulary(kept, [forms[term] for term in kept])


def _grown(numbers: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    return np.concatenate([numbers, np.zeros(size - len(numbers), np.int64)])
