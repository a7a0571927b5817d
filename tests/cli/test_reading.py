import click
import pytest
from click.testing import CliRunner

from docboltz.cli.counting import counts_words
from docboltz.cli.groups import given_options
from docboltz.cli.reading import reads_corpus
from docboltz.corpus.columns import ReadOptions
from docboltz.corpus.document import Document
from docboltz.corpus.reading import read


def given(*arguments):
    """What a command that takes both groups gets, and how its options are spelled again."""
    seen = {}

    @reads_corpus
    @counts_words
    @click.command()
    @click.argument("first")
    @click.option("--last", default="x")
    def command(first, corpus, counting, last):
        options = {p.name for p in click.get_current_context().command.params}
        again = given_options(click.get_current_context(), options - {"last"})
        seen.update(first=first, corpus=corpus, counting=counting, last=last, again=again)

    done = CliRunner().invoke(command, ["one", *map(str, arguments)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return seen


def tokens(text, *options):
    return given("a.csv", *options)["counting"]["analysis"].tokens(text)


def test_groups_reach_the_command_as_one_parameter_each():
    seen = given("a.csv", "b.csv", "--last", "y")
    assert (seen["first"], seen["last"], seen["again"]) == ("one", "y", [])
    assert seen["corpus"]["source"] == ("a.csv", "b.csv")
    assert seen["counting"].keys() == {"analysis", "min_df", "max_df", "max_words"}


def test_every_option_reaches_the_reader(tmp_path):
    file = tmp_path / "table.data"
    table = "Kopf;Körper;Nummer;Marken;Tag;Titel;Wer;Wo\nA;é;7;x|y;2013;T;Ann;hier\n"
    file.write_bytes(table.encode("latin-1"))
    options = ["--format", "csv", "--text", "Kopf", "--text", "Körper", "--id", "Nummer"]
    options += ["--label", "Marken", "--date", "Tag", "--title", "Titel", "--keep", "Wer,Wo"]
    options += ["--label-separator", "|"]
    options += ["--encoding", "latin-1", "--delimiter", ";", "--header", "--no-quotes"]
    seen = given(file, *options)
    documents = read(**seen["corpus"])
    (document,) = documents
    columns = {"Wer": "Ann", "Wo": "hier"}
    assert document == Document("7", "A\né", ("x", "y"), "2013", "T", columns)
    assert documents.report.documents == 1
    assert seen["again"] == options


def test_paths_are_checked_before_anything_is_read():
    with pytest.raises(ValueError, match="nowhere"):
        read(**given("nowhere")["corpus"])


def test_a_table_without_header(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text('7\ta "good" ship\n')
    options = ["--delimiter", "tab", "--no-header", "--no-quotes"]
    seen = given(file, *options)
    (document,) = read(**seen["corpus"])
    assert document.text == 'a "good" ship'
    assert seen["again"] == options


def test_options_of_a_model_are_used_unless_others_are_given(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("title,body\nA,b\n")
    saved = ReadOptions(text=("title", "body"), label="stars")
    (document,) = read(**given(file)["corpus"], options=saved)
    assert document.text == "A\nb"
    (document,) = read(**given(file, "--text", "title")["corpus"], options=saved)
    assert document.text == "A"


def test_stop_words_of_ones_own(tmp_path):
    file = tmp_path / "stop.txt"
    file.write_text("Ships\n")
    text = "The ships sail on"
    assert tokens(text, "--stop-words", file) == ["sail"]
    assert tokens(text, "--no-stop-words") == ["the", "ship", "sail", "on"]
    only = ["--stop-words", str(file), "--no-stop-words"]
    assert tokens(text, *only) == ["the", "sail", "on"]
    assert given("a.csv", *only)["again"] == only
    assert tokens("new ship", "--ngrams", 2) == ["new", "ship", "new ship"]


def test_whole_numbers_of_documents_and_shares_are_told_apart():
    limits = given("a.csv", "--min-df", "1", "--max-df", "1")
    assert [limits["counting"][name] for name in ("min_df", "max_df")] == [1, 1.0]
    assert isinstance(limits["counting"]["max_df"], float)
    assert limits["again"] == ["--min-df", "1", "--max-df", "1"]
    more = given("a.csv", "--min-df", "0.5", "--max-df", "7")["counting"]
    assert (more["min_df"], more["max_df"], more["max_words"]) == (0.5, 7, 5000)
    assert isinstance(more["max_df"], int)
