import gc
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from docboltz.corpus import counting
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.corpus import Vocabulary
from docboltz.corpus.counting import WHOLE_DOCUMENTS, Parts, Tally, TextCounter, count
from docboltz.corpus.document import Document
from docboltz.corpus.reading import as_documents
from docboltz.errors import InvalidCorpus, InvalidParameter

WORDS = TextAnalysis(pretokenised=True)
PAIRS = TextAnalysis(pretokenised=True, ngrams=2)
EVERY = (1, 1.0, None)


def documents(texts):
    return [Document(str(i), text, (f"l{i % 2}",)) for i, text in enumerate(texts)]


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    words = [f"word{chr(97 + i % 26)}{chr(97 + i // 26)}s" for i in range(300)]
    drawn = rng.zipf(1.5, size=(n, 12)) % 300
    return [" ".join(words[i] for i in row) for row in drawn]


def same(a, b):
    """Whether two corpora are the same to the last bit."""
    arrays = [(getattr(x.counts, n) for n in ("data", "indices", "indptr")) for x in (a, b)]
    equal = all(x.dtype == y.dtype and np.array_equal(x, y) for x, y in zip(*arrays, strict=True))
    about = ("ids", "labels", "dates")
    equal &= all(tuple(getattr(a, name)) == tuple(getattr(b, name)) for name in about)
    equal &= a.vocabulary == b.vocabulary and a.vocabulary.forms == b.vocabulary.forms
    return equal and a.n_outside == b.n_outside and a.counts.has_sorted_indices


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


@settings(deadline=None)
@given(st.lists(some_texts, min_size=1, max_size=4), st.sampled_from([WORDS, PAIRS]))
def test_terms_of_batches_add_up_to_those_of_all_texts(batches, analysis):
    tally = Tally()
    for texts in batches:
        tally.add(TextCounter(analysis).count(texts).terms)
    expected = TextCounter(analysis).count([text for texts in batches for text in texts]).terms
    found = tally.terms

    def by_term(terms):
        numbers = zip(terms.df.tolist(), terms.totals.tolist(), strict=True)
        spelled = zip(terms.words, terms.word_terms.tolist(), strict=True)
        of_words = {word: terms.terms[term] for word, term in spelled}
        often = dict(zip(terms.words, terms.word_counts.tolist(), strict=True))
        return dict(zip(terms.terms, numbers, strict=True)), of_words, often

    assert by_term(found) == by_term(expected)


def test_a_counter_gives_the_same_counts_again_and_again():
    counter = TextCounter(TextAnalysis())
    texts = sentences(50)
    first, second = counter.count(texts), counter.count(texts[::-1])
    assert set(first.terms.terms) == set(second.terms.terms)
    assert counter.count(texts).matrix.sum() == first.matrix.sum()
    nothing = counter.count(["", "the", "of 12"])
    assert nothing.matrix.shape == (3, 0)
    assert nothing.terms.words == []


def test_stems_are_shown_as_their_commonest_spelling():
    corpus = count(documents(["Hockey house", "houses hockey", "houses housing"]))
    assert corpus.vocabulary.words == ("hous", "hockey")
    assert corpus.vocabulary.forms == ("houses", "hockey")
    assert corpus.columns([1]).vocabulary.forms == ("hockey",)
    assert count(documents(["housing house"])).vocabulary.forms == ("house",)


def test_pairs_are_shown_in_their_commonest_spelling():
    texts = ["Machine learning in New York", "machine learning", "the machines learned"]
    found = count(documents(texts), TextAnalysis(ngrams=2)).vocabulary
    form = dict(zip(found.words, found.forms, strict=True))
    assert form["machin learn"] == "machine learning"
    assert form["new york"] == "new york"


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
    assert count(documents(["a a b", "z"]), WORDS, max_words=1).n_outside == 2


def test_ids_labels_and_dates_are_carried():
    days = ["2013-08-11", "", "2013-08-11T10:20:00", "2013"]
    stream = (Document(f"d{i}" if i % 2 else "", "a", ("x",), days[i % 4]) for i in range(8))
    corpus = count(stream, WORDS)
    assert corpus.ids == ("0", "d1", "2", "d3", "4", "d5", "6", "d7")
    assert corpus.dates == tuple(days * 2)
    assert corpus.labels == (("x",),) * 8


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


# ---- several processes ----


@pytest.fixture
def small_batches(monkeypatch):
    """Batches so small that a little text keeps several processes busy."""
    monkeypatch.setattr(counting, "BATCH_BYTES", 5000)
    monkeypatch.setattr(counting, "ALONE_BYTES", 10_000)


@pytest.mark.parametrize("n_jobs", [2, -1])
@pytest.mark.parametrize("analysis", [TextAnalysis(), PAIRS])
def test_the_number_of_processes_changes_nothing(small_batches, n_jobs, analysis):
    corpus = documents(sentences(2000))
    alone = count(corpus, analysis, min_df=2, max_words=150, n_jobs=1)
    together = count(corpus, analysis, min_df=2, max_words=150, n_jobs=n_jobs)
    assert same(alone, together)
    fixed = count(corpus, analysis, vocabulary=alone.vocabulary, n_jobs=n_jobs)
    assert same(alone, fixed)
    assert alone.n_outside > 0


def test_an_error_in_the_stream_ends_the_processes(small_batches):
    def broken():
        yield from documents(sentences(1000))
        raise InvalidCorpus("the file ends here")

    with pytest.raises(InvalidCorpus, match="ends here"):
        count(broken(), n_jobs=2)


@pytest.mark.skipif(os.name == "nt", reason="sends SIGINT to a process group")
def test_ctrl_c_ends_at_once_without_noise(tmp_path):
    """The whole process group gets the signal, as from a terminal; nothing may be left behind."""
    script = tmp_path / "endless.py"
    script.write_text(
        textwrap.dedent(
            """
            import itertools, sys
            from docboltz.corpus.counting import count
            from docboltz.corpus.document import Document
            def endless():
                for i in itertools.count():
                    if i == 30_000:
                        print("counting", flush=True)
                    yield Document(str(i), f"word{i % 100} " * 100, ())
            if __name__ == "__main__":
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
    out, err = run.communicate(timeout=30)  # pipes close only once the processes are gone
    assert (out, err) == ("stopped\n", "")


# ---- on disk ----


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("fixed", [False, True])
@pytest.mark.parametrize("analysis", [TextAnalysis(), PAIRS])
def test_counts_on_disk_are_those_in_memory(small_batches, n_jobs, fixed, analysis):
    texts = sentences(1000)
    texts[::50] = [""] * 20
    corpus = [
        Document(f"{i}é" * (i % 7 > 0), text, ("x", str(i % 3)) if i % 5 else (), f"20{i % 7:02}")
        for i, text in enumerate(texts)
    ]
    options = {"min_df": 2, "max_words": 150}
    memory = count(corpus, analysis, **options)
    if fixed:
        options = {"vocabulary": memory.vocabulary}
        memory = count(corpus, analysis, **options)
    disk = count(corpus, analysis, memory=30_000, n_jobs=n_jobs, **options)
    assert (memory.on_disk, disk.on_disk) == (False, True)
    assert same(memory, disk)
    assert same(memory.without_empty(), disk.without_empty())


def test_a_temporary_folder_goes_with_the_counts(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    corpus = count(documents(sentences(500)), memory=10_000)
    assert corpus.on_disk
    assert any(tmp_path.iterdir())
    del corpus
    gc.collect()
    assert not any(tmp_path.iterdir())


def stopping(corpus, folder, n_parts):
    """A stream that ends with Ctrl-C when so many parts are written."""
    for document in corpus:
        if len(list(folder.glob("part-*"))) >= n_parts:
            raise KeyboardInterrupt
        yield document


@pytest.mark.parametrize("fixed", [False, True])
def test_an_interrupted_count_goes_on_where_it_stopped(tmp_path, monkeypatch, fixed):
    monkeypatch.setattr("docboltz.corpus.reading.AT_ONCE", 50)
    corpus = documents(sentences(2000))
    expected = count(corpus)
    vocabulary, folder = expected.vocabulary if fixed else None, tmp_path / "counts"

    def parts():
        return Parts(vocabulary, folder, "this", memory=10_000)

    how = {"kept": WHOLE_DOCUMENTS, "n_jobs": 1}
    for n_parts in (1, 3):
        stream = as_documents(stopping(corpus, folder, n_parts), "test")
        with pytest.raises(KeyboardInterrupt):
            parts().count(stream, TextAnalysis(), **how)
    left = parts()
    counted = sum(map(len, left.files))
    assert len(left.files) == 3
    assert 0 < counted < 2000
    seen, progress, stream = [], [], as_documents(corpus, "test")
    left.count(stream, TextAnalysis(), see=seen.append, progress=progress.append, **how)
    assert (progress[0], progress[-1]) == (counted + 50, 2000)
    assert sum(batch.num_rows for batch in seen) == 2000
    assert same(left.corpus(TextAnalysis(), EVERY, stream.unique_ids), expected)
    assert list(left.documents(expected.ids)) == corpus
    left.remove()
    assert not folder.exists()


def test_parts_of_another_collection_are_not_taken(tmp_path):
    parts = Parts(None, tmp_path, "this")
    parts.count(as_documents(["a b"], "test"), WORDS, kept=WHOLE_DOCUMENTS)
    parts.write()
    assert len(Parts(None, tmp_path, "this").files) == 1
    assert Parts(None, tmp_path, "other").files == []
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:-30])
    assert Parts(None, tmp_path, "this").files == [], "a part that is cut short is counted again"


def test_a_part_is_taken_only_where_it_belongs(tmp_path, monkeypatch):
    """Parts of two runs that began them at other documents are not mixed."""
    monkeypatch.setattr("docboltz.corpus.reading.AT_ONCE", 10)
    corpus = documents(sentences(42))

    def parts(memory):
        return Parts(None, tmp_path, "this", memory=memory)

    stream = as_documents(corpus, "test")
    for memory in (1, 1 << 20):  # five parts, then one that replaces the first
        found = parts(memory)
        found.files = []
        found.count(stream, WORDS, kept=WHOLE_DOCUMENTS, n_jobs=1)
        found.write()
    again = parts(1)
    assert sum(map(len, again.files)) == 42
    assert len(again.files) == 1


def test_only_files_of_a_count_are_removed(tmp_path):
    folder = tmp_path / "counts"
    parts = Parts(None, folder, memory=1)
    parts.count(as_documents(["a b"], "test"), WORDS, kept=WHOLE_DOCUMENTS)
    assert parts.corpus(WORDS, EVERY, lambda ids: ids).on_disk
    mine = ["joined-results.csv", "mine.txt", "part-one.arrow"]
    for name in mine:
        (folder / name).touch()
    (folder / "joined-x").mkdir()
    parts.remove()
    assert sorted(file.name for file in folder.iterdir()) == sorted([*mine, "joined-x"])


@pytest.mark.parametrize("memory", [1, 1 << 20])
def test_documents_come_back_whole(memory):
    texts = ["a  b\nc\r\nd", "", "e\u2028f\x85g\x1ch\ri", "é" * 9000]
    given = [Document(f"{i}", text) for i, text in enumerate(texts * 50)]
    given.append(Document("\n", "x", ("a\nb", ""), "2013", "title\n", {"who": "\r\n"}))
    given.append(Document("", "without an id"))
    parts, stream = Parts(memory=memory), as_documents(given, "test")
    parts.count(stream, WORDS, kept=WHOLE_DOCUMENTS)
    corpus = parts.corpus(WORDS, EVERY, stream.unique_ids)
    *found, last = parts.documents(corpus.ids)
    assert found == given[:-1]
    assert (last.id, last.text) == ("201", "without an id")
    assert parts.bytes > 9000 * 50
    parts.remove()


def test_ids_that_are_found_and_repeat_are_replaced_by_numbers():
    table = pa.table({"id": ["a", "b", "a"], "text": ["x", "y", "z"]})
    assert count(as_documents(table, "test"), WORDS).ids == ("0", "1", "2")
