import inspect

import pytest

from docboltz.cli.reading import CorpusSource, reads_corpus
from docboltz.corpus.report import ReadReport


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
    report = ReadReport()
    (document,) = source.documents(report)
    assert (document.id, document.text, document.labels) == ("7", "A\né", ("x", "y"))
    assert report.documents == 1


def test_paths_are_checked_before_anything_is_read():
    with pytest.raises(ValueError, match="nowhere"):
        CorpusSource(corpus=["nowhere"]).documents(ReadReport())


def test_half_characters_are_spelled_out(tmp_path):
    file = tmp_path / "broken.jsonl"
    file.write_text(r'{"id": "\udcff.txt", "text": "caf\u00e9 \ud83d", "labels": ["\ude00"]}')
    (document,) = CorpusSource(corpus=[str(file)]).documents(ReadReport())
    assert document.id == r"\udcff.txt"
    assert document.text == r"café \ud83d"
    assert document.labels == (r"\ude00",)
