import inspect

import pytest

from docboltz.cli.reading import CorpusSource, reads_corpus


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
    )
    documents = source.documents()
    (document,) = documents
    assert (document.id, document.text, document.labels) == ("7", "A\né", ("x", "y"))
    assert documents.report.documents == 1


def test_paths_are_checked_before_anything_is_read():
    with pytest.raises(ValueError, match="nowhere"):
        CorpusSource(corpus=["nowhere"]).documents()
