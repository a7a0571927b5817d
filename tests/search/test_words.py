"""The word index against dictionaries, and edit distances against their definition."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from docboltz.search import words as module
from docboltz.search.words import MOST_COUNTED, Terms, WordWriter, edit_distances
from tests.search.stores import ANALYSIS, INDEXED, WORDS, texts

Lengths = dict[int, int]


def written(
    folder: Path,
    given: list[str],
    block: int,
    old: Terms | None = None,
    *,
    end: int = 0,
    gone: Sequence[str] = (),
) -> tuple[Terms, Lengths]:
    """Terms of texts that get the keys end, end + 1, … behind those of an older file.

    With them comes how many words each text that was added has.
    """
    folder.mkdir()
    writer, lengths = WordWriter(folder, ANALYSIS, old), Lengths()
    writer.count(gone, -1)
    for begin in range(0, len(given), block):
        some = given[begin : begin + block]
        keys = np.arange(end + begin, end + begin + len(some))
        lengths |= zip(keys.tolist(), writer.append(keys, some).tolist(), strict=True)
    writer.finish()
    return Terms(folder), lengths


def assert_holds(terms: Terms, given: dict[int, str], lengths: Lengths) -> None:
    """Every term has just the postings that a dictionary would hold, but for keys that are gone."""
    counted = {key: Counter(INDEXED.tokens(text)) for key, text in given.items()}
    found = terms.find([*WORDS, *set().union(*counted.values()), "nowhere"])
    assert found.keys() == set().union(*counted.values())
    for term, (number, _) in found.items():
        keys, counts = terms.postings(number)
        expected = {key: own[term] for key, own in counted.items() if term in own}
        both = zip(keys.tolist(), counts.tolist(), strict=True)
        assert {key: count for key, count in both if key in given} == expected
        assert (terms.df[number], keys.tolist()) == (len(expected), sorted({*keys.tolist()}))
    assert {key: lengths[key] for key in given} == {k: own.total() for k, own in counted.items()}


@pytest.mark.parametrize("piece", [0, 30, 1 << 22])
def test_blocks_and_pieces_make_the_terms_of_one_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    given = ["", *texts(60), "", "The", "Goals, goal"]
    one, _ = written(tmp_path / "one", given, 1000)
    monkeypatch.setattr(module, "PIECE", piece)
    many, lengths = written(tmp_path / "many", given, 7)
    assert_holds(many, dict(enumerate(given)), lengths)
    pieces = many._tables.rows("SELECT count(DISTINCT piece) FROM postings")
    assert next(pieces)[0] == {0: 10, 30: 9}.get(piece, 1)
    assert many.numbers(WORDS) == one.numbers(WORDS)
    for number in range(len(one.df)):
        np.testing.assert_array_equal(many.postings(number), one.postings(number))


@pytest.mark.parametrize("piece", [0, 30, 1 << 22])
def test_terms_grow_and_shrink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int) -> None:
    monkeypatch.setattr(module, "PIECE", piece)
    given, more = ["gone", *texts(40)], [*texts(20, seed=1), "zebra crossing"]
    old, lengths = written(tmp_path / "old", given, 9)
    dropped = {0: "gone"} | {key: given[key] for key in range(1, 41, 3)}
    grown, others = written(tmp_path / "grown", more, 6, old, end=41, gone=[*dropped.values()])
    left = {key: text for key, text in enumerate([*given, *more]) if key not in dropped}
    assert_holds(grown, left, lengths | others)
    assert grown.suggest("gome") != ("gone",)  # it has no documents any more
    same, _ = written(tmp_path / "same", [], 1, grown)
    assert_holds(same, left, lengths | others)
    again, others = written(tmp_path / "again", ["gone gone"], 1, same, end=62)
    assert again.find(["gone"]) == old.find(["gone"])
    assert (grown.find(["gone"]), others) == ({}, {62: 2})


def test_texts_without_a_word(tmp_path: Path) -> None:
    empty, lengths = written(tmp_path / "empty", ["", "the", "!"], 2)
    assert (len(empty.df), empty.find(["the"]), empty.suggest("goal")) == (0, {}, ())
    more, others = written(tmp_path / "more", ["goal"], 1, empty, end=3)
    assert_holds(more, dict(enumerate(["", "", "", "goal"])), lengths | others)


def test_counts_beyond_16_bits_are_cut(tmp_path: Path) -> None:
    terms, lengths = written(tmp_path / "i", ["goal " * 70_000], 1)
    assert (terms.postings(0)[1].tolist(), lengths) == ([MOST_COUNTED], {0: 70_000})


def test_words_are_suggested(tmp_path: Path) -> None:
    given = [*["battery"] * 9, *["batteries"] * 8, "buttery", "bakery", "cat", "cut", "Ωμέγα"]
    terms, _ = written(tmp_path / "i", given, 9)
    for word, likely in {
        "batery": "battery",
        "battrey": "battery",
        "ct": "cat",
        "bbttery": "battery",  # a more frequent word of the same distance comes first
        "ωμεγα": "ωμέγα",
    }.items():
        assert terms.suggest(word)[0] == likely
    assert terms.suggest("battery", 1) == ("battery",)
    assert not any("cat" in terms.suggest(word) for word in ("elephant", "c", ""))


def distance(a: str, b: str) -> int:
    """Optimal string alignment, by recursion."""
    table = {(i, 0): i for i in range(len(a) + 1)} | {(0, j): j for j in range(len(b) + 1)}
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            least = min(table[i - 1, j] + 1, table[i, j - 1] + 1)
            table[i, j] = min(least, table[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
            if a[i - 2 : i] == b[j - 2 : j][::-1] and min(i, j) > 1:
                table[i, j] = min(table[i, j], table[i - 2, j - 2] + 1)
    return table[len(a), len(b)]


words = st.text("abcé𝄞", max_size=6)


@settings(max_examples=300)
@given(words, st.lists(words, min_size=1, max_size=5).filter(any))
def test_edit_distances(word: str, others: list[str]) -> None:
    assert edit_distances(word, others).tolist() == [distance(word, other) for other in others]
