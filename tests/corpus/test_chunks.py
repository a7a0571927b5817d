import numpy as np

from docboltz.corpus import chunks
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.chunks import ChunkCounter

WORDS = TextAnalysis(pretokenised=True)


def test_terms_are_numbered_as_they_come_and_reported_once():
    counter = ChunkCounter(WORDS)
    first = counter.count(["b a b", "", "a"])
    assert first.new_terms == ("b", "a")
    assert first.starts.tolist() == [0, 2, 2, 3]
    assert first.terms.tolist() == [0, 1, 1]
    assert first.counts.tolist() == [2, 1, 1]
    second = counter.count(["c b"])
    assert second.new_terms == ("c",)
    assert second.terms.tolist() == [0, 2]


def test_a_fixed_vocabulary_counts_what_it_lacks():
    counts = ChunkCounter(WORDS, ["x", "y"]).count(["y z z", "x"])
    assert counts.new_terms == ()
    assert counts.terms.tolist() == [1, 0]
    assert counts.n_outside == 2


def test_nothing_to_count():
    counts = ChunkCounter(TextAnalysis()).count(["", "the", "of 12"])
    assert counts.starts.tolist() == [0, 0, 0, 0]
    assert len(counts.terms) == 0


def test_many_words_are_numbered_in_parts(monkeypatch):
    text = " ".join(f"w{i % 50}" for i in range(1000))
    whole = ChunkCounter(WORDS).count([text, text])
    monkeypatch.setattr(chunks, "WORDS_AT_ONCE", 7)
    monkeypatch.setattr("docboltz.corpus.analysis.BLOCK", 100)
    parts = ChunkCounter(WORDS).count([text, text])
    assert np.array_equal(whole.terms, parts.terms)
    assert np.array_equal(whole.counts, parts.counts)


def test_forgetting_words_keeps_their_numbers(monkeypatch):
    monkeypatch.setattr(chunks, "REMEMBERED", 2)
    counts = ChunkCounter(WORDS).count(["a b c d a b c d"])
    assert counts.new_terms == ("a", "b", "c", "d")
    assert counts.counts.tolist() == [2, 2, 2, 2]


def test_words_are_counted_beside_their_terms():
    counter = ChunkCounter(TextAnalysis())
    counter.count(["ship ships"])
    spellings = counter.count(["ships shipping sea"]).spellings
    assert spellings.new_words == ("shipping", "sea")
    assert spellings.new_word_terms.tolist() == [0, 1]
    assert (spellings.words.tolist(), spellings.counts.tolist()) == ([1, 2, 3], [1, 1, 1])
