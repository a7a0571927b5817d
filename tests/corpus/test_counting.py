import gc
import os
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from docboltz.corpus import counting
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.chunks import ChunkCounter
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.corpus.parts import Parts
from docboltz.errors import InvalidCorpus, InvalidParameter

WORDS = TextAnalysis(pretokenised=True)


def documents(texts):
    return [Document(str(i), text, (f"l{i % 2}",)) for i, text in enumerate(texts)]


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"word{chr(97 + i % 26)}{chr(97 + i // 26)}s" for i in range(300)]
    drawn = rng.zipf(1.5, size=(n, 12)) % 300
    return [" ".join(words[i] for i in row) for row in drawn]


def same(a, b):
    return (
        tuple(a.ids) == tuple(b.ids)
        and tuple(a.labels) == tuple(b.labels)
        and tuple(a.dates) == tuple(b.dates)
        and a.vocabulary == b.vocabulary
        and a.n_outside == b.n_outside
        and (a.counts != b.counts).nnz == 0
        and a.counts.has_sorted_indices
    )


some_texts = st.lists(st.lists(st.sampled_from("abcdefg")).map(" ".join), min_size=1, max_size=8)


@settings(deadline=None)
@given(some_texts, st.sampled_from([1, 2, 0.3]), st.sampled_from([1.0, 0.8, 4]))
def test_counts_equal_scikit_learn(texts, min_df, max_df):
    theirs = CountVectorizer(analyzer=WORDS, min_df=min_df, max_df=max_df)
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        with pytest.raises((InvalidCorpus, InvalidParameter)):
            count(documents(texts), WORDS, min_df=min_df, max_df=max_df)
        return
    ours = count(documents(texts), WORDS, min_df=min_df, max_df=max_df)
    assert sorted(ours.vocabulary) == list(theirs.get_feature_names_out())
    columns = [theirs.vocabulary_[word] for word in ours.vocabulary]
    assert np.array_equal(ours.counts.toarray(), expected.toarray()[:, columns])


@pytest.fixture
def small_chunks(monkeypatch):
    """Chunks and thresholds so small that a little text keeps workers busy."""
    monkeypatch.setattr(counting, "CHUNK_CHARACTERS", 5000)
    monkeypatch.setattr(counting, "ALONE_CHARACTERS", 10_000)


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
@pytest.mark.parametrize("fixed", [False, True])
def test_the_number_of_processes_changes_nothing(small_chunks, n_jobs, fixed):
    corpus = documents(sentences(3000))
    vocabulary = Vocabulary(["wordba", "worda", "wordca"]) if fixed else None
    options = {"vocabulary": vocabulary} if fixed else {"min_df": 2, "max_words": 150}
    alone = count(corpus, TextAnalysis(), n_jobs=1, **options)
    together = count(corpus, TextAnalysis(), n_jobs=n_jobs, **options)
    assert same(alone, together)
    assert alone.vocabulary.forms == together.vocabulary.forms
    assert alone.n_outside > 0


def test_stems_are_shown_as_their_commonest_spelling():
    corpus = count(documents(["Hockey house", "houses hockey", "houses housing"]))
    assert corpus.vocabulary.words == ("hous", "hockey")
    assert corpus.vocabulary.forms == ("houses", "hockey")
    assert corpus.columns([1]).vocabulary.forms == ("hockey",)
    assert count(documents(["housing house"])).vocabulary.forms == ("house",)


def test_little_text_starts_no_workers(monkeypatch):
    monkeypatch.setattr(counting, "count_with_workers", None)
    assert len(count(documents(sentences(2000)), n_jobs=2)) == 2000


def test_words_come_by_falling_frequency_then_alphabet():
    corpus = count(documents(["b b a c c", "d"]), WORDS)
    assert corpus.vocabulary.words == ("b", "c", "a", "d")
    assert count(documents(["b b a c c", "d"]), WORDS, max_words=2).vocabulary.words == ("b", "c")


def test_numpys_numbers_are_numbers():
    texts = documents(["a b", "a c", "a b"])
    assert count(texts, WORDS, min_df=np.int64(2)).vocabulary.words == ("a", "b")
    assert count(texts, WORDS, max_df=np.float64(0.7)).vocabulary.words == ("b", "c")


def test_counts_lengths_and_what_is_outside():
    corpus = count(documents(["a a b", "z", ""]), WORDS, vocabulary=Vocabulary(["b", "a"]))
    assert corpus.counts.toarray().tolist() == [[1, 2], [0, 0], [0, 0]]
    assert corpus.counts.dtype == np.int32
    assert (corpus.n_outside, corpus.n_empty) == (1, 2)


def test_documents_can_be_watched_as_they_pass():
    seen, progress = [], []
    stream = iter(documents(["a", "b"]))
    count(stream, WORDS, on_document=lambda d: seen.append(d.text[:50]), progress=progress.append)
    assert seen == ["a", "b"]
    assert progress == [2]


def test_one_document():
    assert count(documents(["sea and ships"])).counts.toarray().tolist() == [[1, 1]]


def test_one_document_of_50_megabytes():
    corpus = count(documents(["word ship " * 5_000_000]), n_jobs=2)
    assert corpus.counts.toarray().tolist() == [[5_000_000, 5_000_000]]


class TestBadInput:
    def test_no_documents(self):
        with pytest.raises(InvalidCorpus, match="no documents"):
            count([])

    def test_only_stop_words(self):
        with pytest.raises(InvalidCorpus, match="stop words"):
            count(documents(["the of and", "a 12"]))

    def test_min_df_too_high(self):
        with pytest.raises(InvalidCorpus, match=r"in 3 documents: there are 2\. Lower min_df"):
            count(documents(["a b", "c"]), WORDS, min_df=3)

    @pytest.mark.parametrize(
        "options",
        [{"min_df": 0}, {"min_df": 1.5}, {"max_df": -1}, {"max_words": 0}, {"n_jobs": 0}],
    )
    def test_options_that_make_no_sense(self, options):
        with pytest.raises(InvalidParameter, match=next(iter(options))):
            count(documents(["a"]), WORDS, **options)

    def test_an_error_in_the_stream_ends_the_workers(self, small_chunks):
        def broken():
            yield from documents(sentences(1000))
            raise InvalidCorpus("the file ends here")

        with pytest.raises(InvalidCorpus, match="ends here"):
            count(broken(), n_jobs=2)


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process group")
def test_ctrl_c_ends_at_once_without_noise(tmp_path):
    """The whole process group gets the signal, as from a terminal; nothing may be left behind."""
    import signal

    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(
            """
            import itertools, sys
            from docboltz.corpus.counting import count
            from docboltz.corpus.document import Document
            def endless():
                for i in itertools.count():
                    if i == 8000:
                        print("counting", flush=True)
                    yield Document(str(i), f"word{i % 100} " * 100, ())
            try:
                count(endless(), n_jobs=3)
            except KeyboardInterrupt:
                print("stopped")
            """
        )
    )
    run = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert run.stdout is not None
    assert run.stdout.readline() == "counting\n"
    os.killpg(run.pid, signal.SIGINT)
    out, err = run.communicate(timeout=30)  # pipes close only once the workers are gone
    assert (out, err) == ("stopped\n", "")


PAIRS = TextAnalysis(pretokenised=True, ngrams=2)


@settings(deadline=None)
@given(some_texts, st.integers(1, 12))
def test_pairs_of_words_equal_scikit_learns(texts, max_words):
    theirs = CountVectorizer(tokenizer=str.split, token_pattern=None, ngram_range=(1, 2))
    try:
        expected = theirs.fit_transform(texts)
    except ValueError:
        return
    ours = count(documents(texts), PAIRS)
    columns = [theirs.vocabulary_[term] for term in ours.vocabulary]
    assert len(columns) == expected.shape[1]
    assert np.array_equal(ours.counts.toarray(), expected.toarray()[:, columns])
    # With a vocabulary that has pairs but not all of their words.
    some = count(documents(texts), PAIRS, max_words=max_words)
    again = count(documents(texts), PAIRS, vocabulary=some.vocabulary)
    assert same(some, again)
    tokens = sum(len(PAIRS.tokens(text)) for text in texts)
    assert again.counts.sum() + again.n_outside == tokens
    last = Vocabulary(some.vocabulary.words[-1:])
    alone = count(documents(texts), PAIRS, vocabulary=last)
    assert np.array_equal(alone.counts.toarray(), some.counts.toarray()[:, -1:])


def test_pairs_are_shown_in_their_commonest_spelling_whoever_counts(monkeypatch):
    texts = ["Machine learning in New York", "machine learning", "the machines learned"] * 40
    analysis = TextAnalysis(ngrams=2)
    alone = count(documents(texts), analysis, n_jobs=1)
    form = dict(zip(alone.vocabulary.words, alone.vocabulary.forms, strict=True))
    assert form["machin learn"] == "machine learning"
    assert form["new york"] == "new york"
    monkeypatch.setattr(counting, "CHUNK_DOCUMENTS", 7)
    monkeypatch.setattr(counting, "ALONE_CHARACTERS", 0)
    together = count(documents(texts), analysis, n_jobs=2)
    assert same(alone, together)
    assert together.vocabulary.forms == alone.vocabulary.forms


def test_forgetting_pairs_keeps_their_counts(monkeypatch):
    texts = sentences(50)
    expected = count(documents(texts), PAIRS)
    monkeypatch.setattr("docboltz.corpus.chunks.REMEMBERED", 5)
    monkeypatch.setattr(counting, "CHUNK_DOCUMENTS", 7)
    assert same(count(documents(texts), PAIRS, n_jobs=1), expected)


def test_dates_are_carried_and_days_kept_once():
    days = ["2013-08-11", "", "2013-08-11T10:20:00", "2013"]
    stream = (Document(str(i), "a", (), "".join(days[i % 4])) for i in range(400))
    corpus = count(stream, WORDS)
    assert corpus.dates == tuple(days * 100)
    given = (Document(str(i), "a", (), f"{2000 + i % 2}") for i in range(400))
    assert len({id(date) for date in count(given, WORDS).dates}) == 2


# ---- on disk ----


def same_bits(a, b):
    arrays = [(getattr(x.counts, n) for n in ("data", "indices", "indptr")) for x in (a, b)]
    equal = all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(*arrays, strict=True))
    return equal and same(a, b) and a.vocabulary.forms == b.vocabulary.forms


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("analysis", [TextAnalysis(), PAIRS])
def test_counts_on_disk_are_those_in_memory(small_chunks, n_jobs, fixed, analysis):
    texts = sentences(1000)
    texts[::50] = [""] * 20
    corpus = [
        Document(f"{i}é", text, ("x", str(i % 3)) if i % 5 else (), f"20{i % 7:02}")
        for i, text in enumerate(texts)
    ]
    options = {"min_df": 2, "max_words": 150}
    memory = count(corpus, analysis, **options)
    if fixed:
        options = {"vocabulary": memory.vocabulary}
        memory = count(corpus, analysis, **options)
    disk = count(corpus, analysis, memory=30_000, n_jobs=n_jobs, **options)
    assert (memory.on_disk, disk.on_disk) == (False, True)
    assert same_bits(memory, disk)
    assert same_bits(memory.without_empty(), disk.without_empty())


def test_a_temporary_folder_goes_with_the_counts(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    corpus = count(documents(sentences(500)), memory=10_000)
    assert corpus.on_disk
    assert any(tmp_path.iterdir())
    del corpus
    gc.collect()
    assert not any(tmp_path.iterdir())


def stopping(corpus, folder, n_parts, pause):
    """A stream that ends with Ctrl-C when so many parts are written."""
    last = folder / f"part-{n_parts - 1:06}" / "part.json"
    for document in corpus:
        if last.exists():
            raise KeyboardInterrupt
        time.sleep(pause)
        yield document


@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_count_goes_on_where_it_stopped(
    small_chunks, tmp_path, monkeypatch, n_jobs, fixed
):
    corpus = documents(sentences(2000))
    expected = count(corpus)
    options = {"vocabulary": expected.vocabulary if fixed else None, "n_jobs": n_jobs}
    folder = tmp_path / "counts"
    how = {"folder": folder, "run": "this", "memory": 40_000, **options}
    pause = 0.0 if n_jobs == 1 else 0.001  # workers take time to start
    for n_parts in (1, 3):
        with pytest.raises(KeyboardInterrupt):
            count(stopping(corpus, folder, n_parts, pause), **how)
    left = sum(len(part.lengths) for part in Parts(folder, "this"))
    assert 0 < left < 2000
    counted, seen = [], []
    plain = ChunkCounter.count
    monkeypatch.setattr(
        ChunkCounter, "count", lambda self, t: counted.append(len(t)) or plain(self, t)
    )
    found = count(corpus, on_document=seen.append, **how)
    assert same_bits(found, expected)
    assert seen == corpus
    assert n_jobs > 1 or sum(counted) == 2000 - left


def test_two_do_not_count_in_one_folder(tmp_path):
    code = f"""
import sys
from pathlib import Path
from docboltz.corpus.parts import PART
Path({str(tmp_path)!r}).mkdir(exist_ok=True)
with PART.locked({str(tmp_path)!r}):
    print("locked", flush=True)
    sys.stdin.read()
"""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as other:
        assert other.stdout is not None
        other.stdout.readline()
        with pytest.raises(InvalidParameter, match="Another process"):
            count(documents(sentences(500)), folder=tmp_path, memory=10_000)
        other.communicate()
