import inspect

import pytest

from docboltz.cli.reading import CorpusSource, WordOptions, reads_corpus, spelled_options
from docboltz.corpus.read_options import ReadOptions


def test_the_fields_of_a_source_take_its_place():
    given = {}

    @reads_corpus
    def command(before: int, source: CorpusSource, after: str = "x") -> None:
        """What it does."""
        given.update(before=before, source=source, after=after)

    names = list(inspect.signature(command).parameters)
    assert names[:3] == ["before", "corpus", "format"]
    assert names[-1] == "after"
    assert command.__doc__ == "What it does."
    fields = dict.fromkeys(set(names) - {"before", "after", "corpus"})
    command(before=1, corpus=["a.csv"], after="y", **fields)
    assert given == {"before": 1, "source": CorpusSource(corpus=["a.csv"]), "after": "y"}


def test_every_option_reaches_the_reader(tmp_path):
    file = tmp_path / "table.data"
    file.write_bytes("Kopf;Körper;Nummer;Marken\nA;é;7;x|y\n".encode("latin-1"))
    source = CorpusSource(
        corpus=[str(file)],
        format="csv",
        text=["Kopf", "Körper"],
        id="Nummer",
        label="Marken",
        label_separator="|",
        encoding="latin-1",
        delimiter=";",
        header=True,
        quotes=False,
    )
    documents = source.documents()
    (document,) = documents
    assert (document.id, document.text, document.labels) == ("7", "A\né", ("x", "y"))
    assert documents.report.documents == 1


def test_paths_are_checked_before_anything_is_read():
    with pytest.raises(ValueError, match="nowhere"):
        CorpusSource(corpus=["nowhere"]).documents()


def test_a_table_without_header(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text('7\ta "good" ship\n')
    source = CorpusSource(corpus=[str(file)], delimiter="tab", header=False, quotes=False)
    (document,) = source.documents()
    assert document.text == 'a "good" ship'
    assert spelled_options(source) == ["--delimiter", "tab", "--no-header", "--no-quotes"]


def test_options_of_a_model_are_used_unless_others_are_given(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("title,body\nA,b\n")
    saved = ReadOptions(text=("title", "body"), label="stars")
    (document,) = CorpusSource(corpus=[str(file)]).documents(saved)
    assert document.text == "A\nb"
    (document,) = CorpusSource(corpus=[str(file)], text=["title"]).documents(saved)
    assert document.text == "A"


def test_stop_words_of_ones_own(tmp_path):
    file = tmp_path / "stop.txt"
    file.write_text("Ships\n")
    text = "The ships sail on"
    more = WordOptions(stop_words=file)
    assert more.analysis().tokens(text) == ["sail"]
    assert WordOptions(no_stop_words=True).analysis().tokens(text) == ["the", "ship", "sail", "on"]
    only = WordOptions(stop_words=file, no_stop_words=True)
    assert only.analysis().tokens(text) == ["the", "sail", "on"]
    assert spelled_options(only) == ["--stop-words", str(file), "--no-stop-words"]
    assert WordOptions(ngrams=2).analysis().tokens("new ship") == ["new", "ship", "new ship"]
