"""Words of parts, tallied apart and added up, are those of one pass over all."""

from __future__ import annotations

from pathlib import Path

import pytest

import docboltz
from docboltz.cluster.vocabulary import add_up, select, tally
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import count
from docboltz.corpus.report import ReadReport
from docboltz.errors import InvalidCorpus

TEXTS = [
    ["Ships sailed. Sailing ships!", "a ship", ""],
    [],
    ["sailing the sea, the deep sea", "Shipping ships by sea", "sailed", "new york"],
    ["York", "the new york harbour", "harbours"],
]


@pytest.fixture
def files(tmp_path: Path) -> str:
    for number, texts in enumerate(TEXTS):
        lines = "".join(f'{{"text": "{text}"}}\n' for text in texts)
        (tmp_path / f"{number}.jsonl").write_text(lines, "utf-8")
    return str(tmp_path / "*.jsonl")


@pytest.mark.parametrize("ngrams", [1, 2])
@pytest.mark.parametrize(
    "limits", [(1, 1.0, None), (2, 1.0, None), (1, 0.3, None), (1, 1.0, 3)], ids=str
)
def test_parts_have_the_vocabulary_of_the_whole(
    files: str, ngrams: int, limits: tuple[float, float, int | None]
) -> None:
    analysis = TextAnalysis(ngrams=ngrams)
    low, high, most = limits
    documents = docboltz.read(files)
    whole = count(documents, analysis, min_df=low, max_df=high, max_words=most)
    parts = [tally(part, analysis) for part in documents.parts()]
    one, two, three, four = (table for table, _ in parts)
    found = select(add_up(add_up(one, two), add_up(three, four)), *limits)
    assert found.words == whole.vocabulary.words
    assert found.forms == whole.vocabulary.forms
    report = ReadReport()
    for _, met in parts:
        report.add(met)
    assert report == documents.report


def test_files_without_words_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "the"}\n')
    (part,) = docboltz.read(tmp_path / "a.jsonl").parts()
    table, _ = tally(part, TextAnalysis())
    with pytest.raises(InvalidCorpus, match="None of the 1 documents has a word left"):
        select(table, 1, 1.0, None)
