"""The front door: text in; hits, units, words and features out."""

import csv
import shutil
import subprocess
import sys
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import docboltz
from docboltz.answers import Unit
from docboltz.cli.spelling import OptionNames
from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.document import Document
from docboltz.errors import (
    InvalidCorpus,
    InvalidModelFile,
    InvalidParameter,
    LanguageWarning,
)
from docboltz.fitting import KEPT_WORDS
from docboltz.search.query import Query
from docboltz.text_model import TextModel

from .text_models import TEXTS, fitted


@pytest.fixture(scope="module")
def text_model():
    return fitted()


# ---- units ----


def test_units_show_forms_not_stems(text_model):
    units = text_model.units(words=20)
    shown = {word for unit in units for word in unit.words}
    assert shown
    assert shown <= set(text_model.vocabulary.forms)
    assert "player" in text_model.vocabulary.forms
    assert "player" in text_model.vocabulary.words
    assert sorted(unit.number for unit in units) == list(range(text_model.n_units)) == [0, 1, 2]
    assert all(len(unit.words) <= KEPT_WORDS for unit in units)
    assert {len(unit.words) for unit in text_model.units(words=2)} == {2}


# ---- using ----


def test_new_text_is_treated_as_training_text_was(text_model):
    alike = text_model.transform(["HOCKEY, players!", "the hockey player", "player hockey unknown"])
    assert np.array_equal(alike[0], alike[1])
    assert np.array_equal(alike[0], alike[2])
    counts = text_model.count(TEXTS).counts
    assert np.array_equal(text_model.transform(TEXTS), text_model.estimator.transform(counts))


def test_documents_keep_their_ids():
    model = fitted([Document(f"x{i}", text, ("l",)) for i, text in enumerate(TEXTS)])
    assert model.count([Document("y", "bread", ("m",))]).ids == ("y",)
    assert model.count(["bread", "butter"]).ids == ("0", "1")


def test_activity_is_the_mean_feature_of_the_training_documents(text_model):
    mean = text_model.transform(TEXTS).mean(0)
    assert text_model.activity == pytest.approx(mean, abs=1e-6)


def test_next_words_by_hand(text_model):
    (given,) = text_model.estimator.predict_words(text_model.count(["hockey"]).counts)
    usual = text_model.estimator.word_frequency_
    words = text_model.vocabulary.words
    found = text_model.words("hockey", 4)
    assert len(found) == 4
    columns = [text_model.vocabulary.forms.index(each.word) for each in found]
    for column, each in zip(columns, found, strict=True):
        assert each.probability == pytest.approx(given[column], rel=1e-5)
        assert each.lift == pytest.approx(given[column] / usual[column], rel=1e-5)
    gain = given.astype(np.float64) * np.log(given.astype(np.float64) / usual)
    gain[words.index("hockey")] = -np.inf
    assert columns == np.argsort(-gain, kind="stable")[:4].tolist()


def test_next_words_are_never_those_asked_with(text_model):
    everything = text_model.words("hockey bread", 99)
    assert len(everything) == len(text_model.vocabulary) - 2
    assert not {"hockey", "bread"} & {each.word for each in everything}


@pytest.mark.parametrize("text", ["xyzzy", "the and"])
def test_words_are_expected_beside_a_known_word_only(text_model, text):
    with pytest.raises(InvalidCorpus, match=r"knows none of these words.*It knows 9, such as"):
        text_model.words(text)


def test_a_query_that_no_document_answers_has_no_hits(text_model):
    nothing = text_model.search("xyzzy")
    assert (nothing, nothing.unknown) == ([], ("xyzzy",))
    misspelt = text_model.search("buttre")
    assert misspelt.suggestions == {"buttre": ("butter",)}
    assert str(misspelt).endswith("No document has: buttre. Did you mean: butter?")


def test_stop_words_alone_are_looked_for_as_they_stand(text_model):
    assert text_model.search("the and") == []
    for query, ids in (("the", ["1"]), ("AND", ["2"]), ("on", ["3"])):
        assert [hit.id for hit in text_model.search(query)] == ids


def test_an_empty_query_is_said_to_be(text_model):
    for ask in (text_model.search, text_model.words):
        with pytest.raises(InvalidParameter, match=r"The (query|text) is empty\."):
            ask("  ")


def test_the_language_is_said_where_it_is_another():
    german = ["Das Haus, das wir gesehen haben, steht nicht mehr an der alten Straße."] * 9
    with pytest.warns(LanguageWarning, match="seems to be German"):
        fitted(german)
    assert fitted(german, language="german").analysis.language == "german"


def test_hits_carry_what_a_person_wants_to_see(text_model):
    hits = text_model.search("hockey xyzzy", 2)
    assert [hit.id for hit in hits] in (["0", "1"], ["1", "0"])
    best = hits[0]
    assert best.text in TEXTS
    assert best.score == pytest.approx(best.features + best.words)
    assert best.score <= 1
    assert [best.text[b:e].lower() for b, e in best.matches] == ["hockey"]
    assert hits.unknown == ("xyzzy",)
    assert hits[0].score >= hits[1].score


def test_a_document_asked_for_word_by_word_has_score_one(text_model):
    for by in ("both", "features", "words"):
        assert text_model.search(TEXTS[2], 1, by=by)[0].score == pytest.approx(1, abs=1e-6)


def test_words_alone_find_only_documents_that_have_them(text_model):
    hits = text_model.search("bread", 10, by="words")
    assert [hit.id for hit in hits] == ["3", "2"]
    assert hits[0].score == 1
    with pytest.raises(InvalidParameter, match="'by' parameter"):
        text_model.search("bread", by="magic")


def test_similar_documents(text_model):
    hits = text_model.similar("2", 3)
    assert hits[0].id == "3"
    assert "2" not in {hit.id for hit in hits}
    assert text_model.similar(2, 1)[0].id == "3"  # numbers are names too
    with pytest.raises(InvalidParameter, match="No document has the id 'nope'"):
        text_model.similar("nope")


def test_documents_without_a_known_word_are_never_hits():
    model = fitted([*TEXTS, "of the and", ""])
    assert {hit.id for hit in model.search("bread", 10)} <= {"0", "1", "2", "3"}
    assert model.similar("4") == model.similar("5") == []
    assert model.n_wordless == 2


def test_words_that_the_model_does_not_know_are_found():
    model = fitted([*TEXTS, *TEXTS])
    model.index(["Bread from Zanzibar.", "Bread and order #4711", "Butter, 7 times", "Ünïcode x"])
    for query, id in (("zanzibar", "0"), ("4711", "1"), ("#4711", "1"), ("7", "2"), ("X", "3")):
        hits = model.search(query)
        assert [hit.id for hit in hits] == [id]
        assert (hits[0].score, hits.unknown) == (pytest.approx(1), ())
    assert model.search("bread zanzibar")[0].id == "0"
    assert model.search("bread 4711")[0].id == "1"


ROWS = [
    {"body": "Hockey players skate.\nFast.", "who": "ann", "head": "On ice", "day": "2013-08-11"},
    {"body": "The player scored\n\n twice.", "who": "bob", "head": "", "day": "2014-01-02"},
    {"body": "Bread needs flour.\tAnd butter.", "who": "ann", "head": "Oven", "day": "2014-05-01"},
    {"body": "Butter\u2028on bread.", "who": "eve", "head": "Two\nlines", "day": "2015"},
]


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A model whose documents have titles, dates, and a column that is kept."""
    folder = tmp_path_factory.mktemp("kept")
    with (folder / "posts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["id", *ROWS[0]])
        writer.writeheader()
        writer.writerows({"id": i} | row for i, row in enumerate(ROWS))
    read = docboltz.read(
        folder / "posts.csv", text="body", title="head", date="day", label="who", keep="who"
    )
    return fitted(read, folder=folder / "model")


def ids(hits):
    return [hit.id for hit in hits]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("butter", {"2", "3"}),
        ("butter -flour", {"3"}),
        ('butter -"needs flour"', {"3"}),
        ('"bread needs"', {"2"}),
        ('"needs bread"', {"2", "3"}),  # which none has: others have the words
        ('"skate. Fast"', {"0"}),
        ("butter who:ann", {"2"}),
        ("butter label:eve", {"3"}),
        ('butter label:"eve"', {"3"}),
        ("butter since:2015", {"3"}),
        ("butter until:2014", {"2"}),
        ("player since:2013-08-11 until:2013", {"0"}),
        ("butter author:ann", {"2", "3"}),  # no column of that name was kept: words
    ],
)
def test_operators_of_a_query(kept, query, found):
    assert {*ids(kept.search(query, by="words"))} == found


def test_filters_of_a_query_are_those_of_the_call(kept):
    for query, how in (
        ("bread who:ann", {"where": {"who": "ann"}}),
        ("bread label:eve label:ann", {"label": ["eve", "ann"]}),
        ("bread since:2014-02 until:2014-05", {"since": "2014-02", "until": "2014-05"}),
    ):
        assert kept.search(query) == kept.search("bread", **how)
        (many,) = kept.search_many(["bread"], **how)
        assert many == kept.search(query)
    assert ids(kept.similar("2", where={"who": "eve"})) == ["3"]


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ({"where": {"who": "zoe"}}, "No document has who 'zoe'"),
        ({"where": {"who": 7}}, "'where' parameter"),
        ({"where": {"who": ["ann"]}}, "'where' parameter"),
        ({"where": {'w"': "ann"}}, "No column 'w\"' was kept; kept: who"),
        ({"where": "who"}, "'where' parameter"),
        ({"label": 7}, "'label' parameter"),
        ({"label": [7]}, "'label' parameter"),
        ({"label": "zoe"}, "No document has the label 'zoe'. Labels are 'ann', 'bob'"),
        ({"since": "soon"}, "'since' parameter"),
        ({"since": "2016"}, "No document has a date from 2016"),
        ({"since": "2015", "until": "2014"}, "'since' parameter"),
    ],
)
def test_filters_that_let_nothing_through_or_are_none(kept, how, said):
    for ask in (kept.search, kept.similar):
        with pytest.raises(InvalidParameter, match=said):
            ask("2", **how)


def test_a_phrase_that_no_document_has_is_said_and_its_words_are_looked_for(kept):
    hits = kept.search('"needs bread"')
    assert hits.phrases == ("needs bread",)
    assert 'No document has the phrase "needs bread". These are about its words.' in str(hits)
    assert kept.search('"bread needs"').phrases == ()


def test_documents_are_kept_whole(kept, tmp_path):
    for row, hit in zip(ROWS, map(kept.document, "0123"), strict=True):
        assert (hit.text, hit.columns) == (row["body"], {"who": row["who"]})
        assert (hit.date, hit.labels) == (row["day"], (row["who"],))
    titles = [kept.document(id).title for id in "0123"]
    assert titles == ["On ice", "The player scored", "Oven", "Two\nlines"]
    long = "".join(f"Butter {i}\n" for i in range(10_000))[:100_000]
    model = fitted(folder=tmp_path / "model")
    model.index([long, "bread"])
    (hit,) = docboltz.open(tmp_path / "model").search("8001")
    assert (hit.id, hit.text) == ("0", long)
    assert hit.text[slice(*hit.matches[0])] == "8001"
    assert "8001" in hit.snippet()


def test_a_hit_is_a_line_of_the_table_whatever_its_text(kept):
    for query in ("butter", "player", "two lines", "bread who:eve"):
        hits = kept.search(query)
        shown = str(hits)
        assert len(shown.splitlines()) == 1 + len(hits) + len(hits.remarks())
        assert all(hit.date in shown for hit in hits)
    assert {"date", "title"} <= set(str(hits).split("\n")[0].split())


def test_more_documents_may_bring_columns_of_their_own(tmp_path):
    model = fitted(folder=tmp_path / "model")
    assert model.store.columns == ()
    new = [Document("new", "Butter, bread.", columns={"who": "ann", "source of": "x y"})]
    model.index(new, append=True)
    opened = docboltz.open(tmp_path / "model")
    assert opened.store.columns == ("who", "source of")
    assert ids(opened.search("butter who:ann")) == ["new"]
    assert ids(opened.search("butter", where={"source of": "x y"})) == ["new"]
    assert opened.document("0").columns == {}


@pytest.mark.parametrize("n", [0, -1, 2.5, "3", True])
def test_numbers_that_are_none(text_model, n):
    for ask in (
        lambda: text_model.search("bread", n),
        lambda: text_model.similar("1", n),
        lambda: text_model.words("bread", n),
        lambda: text_model.topics(n),
        lambda: text_model.topics(words=n),
        lambda: text_model.units(n),
        lambda: text_model.units(words=n),
    ):
        with pytest.raises(InvalidParameter, match="whole number of at least 1"):
            ask()


def test_index_makes_another_collection_the_one_that_is_searched():
    model = fitted()
    new = Document("new", "Bread and xyzzy", ("l",), "2013-08-11")
    counted = model.index([new, Document("none", "xyzzy")])
    assert (len(counted), counted.n_empty) == (2, 1)
    (hit,) = model.search("butter")
    assert (hit.id, hit.labels, hit.date) == ("new", ("l",), "2013-08-11")
    assert model.store.labels_and_dates() == ([("l",), ()], ["2013-08-11", ""])


def test_asking_imports_nothing_slow(text_model, tmp_path):
    """Importing torch and scikit-learn takes longer than any search, and the others as long."""
    text_model.save(tmp_path / "model")
    code = (
        "import sys; from docboltz.cli.app import main; model = sys.argv[1]\n"
        "for ask in (['search', model, 'bread'], ['similar', model, '1'], ['show', model, '1'],"
        " ['search', model, 'braed needs -goal'], ['search', model, '\\x22needs flour\\x22'],"
        " ['words', model, 'bread'], ['topics', model],"
        " ['topics', model, '--json'], ['topics', model, '--units'],"
        " ['search', model, 'bread', '--json']):\n"
        "    sys.argv = ['docboltz', *ask]\n"
        "    try: main()\n"
        "    except SystemExit as end: assert end.code == 0\n"
        "slow = {'torch', 'sklearn', 'pandas', 'matplotlib', 'pyarrow', 'pydantic', 'rich',"
        " 'asyncio', 'docboltz.corpus.reading', 'docboltz.cli.fit'}\n"
        "print(sorted(slow & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "model")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_nothing_known_is_zero_in_searches_and_nothing_else_is(text_model, monkeypatch):
    counts = text_model.count(["hockey", "xyzzy"]).counts
    known, unknown = text_model.search_features(counts)
    assert known == pytest.approx(text_model.estimator.transform(counts)[0])
    assert not unknown.any()
    # A document so long that every unit is off for sure has features, if tiny ones.
    off = np.zeros((2, 3), np.float32)
    monkeypatch.setattr(text_model.estimator, "transform", lambda *_: off, raising=False)
    known, unknown = text_model.search_features(counts)
    assert known.all()
    assert not unknown.any()


def test_the_sharpest_units_do_not_repeat_each_other(text_model, monkeypatch):
    def unit(number, words, sharpness):
        return Unit(number, tuple(words), sharpness, 0.5)

    def numbers(units, n=None):
        monkeypatch.setattr(text_model, "_units", units)
        return [unit.number for unit in text_model.units(n)]

    # Of the two that share a, b and c with the sharpest, neither brings enough that is new.
    units = (unit(0, "abcde", 1.0), unit(1, "abcfg", 3.0), unit(2, "abchi", 2.0))
    more = (*units, unit(3, "vwxyz", 0.1))
    assert numbers(units, 3) == [1]
    assert numbers(more, 3) == [1, 3]
    assert numbers(more) == [1, 2, 0, 3]


def test_reprs_are_one_line(text_model):
    for shown in (
        text_model,
        text_model.search("bread"),
        text_model.topics(),
        text_model.units(),
        text_model.words("bread"),
    ):
        assert "\n" not in repr(shown)
        assert len(repr(shown)) < 200


def test_reading_options_are_saved_and_used_again(tmp_path):
    file = tmp_path / "posts.csv"
    rows = ["title;body;kind", *(f"hockey {i};bread {text};x" for i, text in enumerate(TEXTS))]
    file.write_text("\n".join(rows), encoding="utf-8")
    documents = docboltz.read(file, text=["title", "body"], delimiter=";", label="kind")
    model = fitted(documents, folder=tmp_path / "model")
    counts = model.count(documents).counts
    opened = docboltz.open(tmp_path / "model")
    assert opened.reading.text == ("title", "body")
    assert (opened.count(opened.read(file)).counts != counts).nnz == 0
    other = tmp_path / "unlabelled.csv"
    other.write_text("\n".join(row.rsplit(";", 1)[0] for row in rows), encoding="utf-8")
    assert (opened.count(opened.read(other)).counts != counts).nnz == 0


def test_a_text_column_that_was_found_is_saved_and_used_again(tmp_path):
    file, other = tmp_path / "posts.csv", tmp_path / "new.csv"
    file.write_text("\n".join(["title,nr", *(f"{text},7" for text in TEXTS)]), encoding="utf-8")
    model = fitted(docboltz.read(file))
    assert (model.reading.text, model.reading.delimiter) == ("title", None)
    counts = model.count(model.read(file)).counts
    # By itself the column named "body" would be taken for the text.
    other.write_text("\n".join(["title,body", *(f"{text},flour" for text in TEXTS)]))
    assert (model.count(docboltz.read(other)).counts != counts).nnz == 0
    other.write_text("body\nbread\n")
    with pytest.raises(InvalidCorpus, match=r"no text column 'title'.*with text"):
        model.count(model.read(other))
    assert model.count(model.read(other, text="body")).counts.sum() == 1


def test_several_text_columns_that_were_found_are_not_taken_for_one(tmp_path):
    for name in ("text", "body"):
        (tmp_path / f"{name}.csv").write_text("\n".join([name, *TEXTS]), encoding="utf-8")
    assert fitted(docboltz.read(tmp_path)).reading.text is None


def test_texts_that_are_missing_are_said_to_be():
    with pytest.raises(InvalidCorpus, match="There are no documents in a list: it is empty"):
        TextModel.fit([])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(InvalidCorpus, match=r"the columns 'a', 'b'\. .*read\(frame, text="):
        TextModel.fit(pandas.DataFrame({"a": TEXTS, "b": TEXTS}))


def test_messages_name_verbs_as_their_reader_types_them(tmp_path, text_model):
    text_model.save(tmp_path / "model")
    shutil.rmtree(tmp_path / "model" / "search")
    with pytest.raises(InvalidModelFile, match=r"Build it again with TextModel\.index\.") as error:
        docboltz.open(tmp_path / "model").search("bread")
    assert "with 'docboltz index'." in error.value.phrase(OptionNames([]))


def test_unknown_words_are_named_once(text_model):
    assert text_model.unknown_words("the zebra, a zebra and hockey") == ["zebra"]


CJK = ["猫が好き", "犬と猫", "犬が好き"] * 10
TURKISH = ["ISPARTA güzel bir şehir", "İstanbul'da yağmur", "Ankara soğuk"] * 10
PLAIN = ["a wi-fi goal of the team", "fi goal with wi here", "rain cloud over the team"] * 10


def model_of(texts: list[str], **how: Any) -> TextModel:
    return TextModel.fit(texts, units=4, updates=20, min_df=1, max_df=1.0, **how)


def test_a_single_character_of_a_script_without_spaces_is_found() -> None:
    hits = model_of(CJK, language=None).search("猫", 30)
    assert {hit.text for hit in hits} == {*CJK[:2]}
    assert not hits.unknown


def test_phrases_in_turkish_mind_its_letters() -> None:
    model = model_of(TURKISH, language="turkish")
    for query, text in (('"ısparta güzel"', TURKISH[0]), ('"istanbul"', TURKISH[1])):
        hits = model.search(query, 30)
        assert {hit.text for hit in hits} == {text}
        assert not hits.phrases


def test_only_phrases_that_no_document_has_are_said_to_be_absent() -> None:
    model = model_of(PLAIN)
    assert model.search('"wi-fi goal" "rain cloud"').phrases == ()
    found = model.search('"rain cloud" "cloud rain"')
    assert found.phrases == ("cloud rain",)
    assert {hit.text for hit in found} == {PLAIN[2]}
    assert model.search('"rain cloud" -team') == []
    assert model.search('"rain cloud" -team').phrases == ()


def test_words_joined_by_a_hyphen_are_excluded_together() -> None:
    for query in ("goal -wi-fi", 'goal -"wi-fi"'):
        assert {hit.text for hit in model_of(PLAIN).search(query, 30)} >= {PLAIN[1]}
        assert PLAIN[0] not in {hit.text for hit in model_of(PLAIN).search(query, 30)}


def test_pairs_of_words_are_no_words_that_the_model_knows() -> None:
    model = model_of(PLAIN, analysis=TextAnalysis(ngrams=2))
    (question,) = model._questions([Query("rain cloud xyzzy")])
    assert question.unknown == pytest.approx(1 / 3)


def test_one_query_of_many_may_have_no_answer() -> None:
    model = model_of(PLAIN)
    good, bad = model.search_many(["goal", "goal label:nowhere"])
    assert good
    assert not bad
    assert "nowhere" in bad.problem
    with pytest.raises(InvalidParameter, match="nowhere"):
        model.search("goal label:nowhere")
    with pytest.raises(InvalidParameter, match="cannot be excluded: -label:x"):
        model.search("goal -label:x")
    with pytest.raises(InvalidParameter, match="only filters"):
        model.search("label:x")


def test_a_text_can_be_searched_without_operators() -> None:
    (found,) = model_of(PLAIN).search_many(['label:x "no such phrase" goal'], operators=False)
    assert found


def test_many_changes_do_not_leave_words_of_documents_that_are_gone(tmp_path: Path) -> None:
    model = model_of(PLAIN, folder=tmp_path / "m")
    documents = [Document(str(i), text) for i, text in enumerate(PLAIN)]
    sizes = []
    for _ in range(6):
        model.index(documents, append=True)
        sizes.append(model.store.terms.file.stat().st_size)
        assert len(model.search("goal", 30, by="words")) == 20
    assert sizes[-1] <= 2 * sizes[0]
    assert len(model.store.terms.postings(model.store.terms.find(["goal"])["goal"][0])[0]) <= 60


def test_a_store_that_was_replaced_is_freed(tmp_path: Path) -> None:
    model = model_of(PLAIN, folder=tmp_path / "m")
    model.search('goal "wi-fi" gaol')
    store = weakref.ref(model.store)
    model.index(["another one"], append=True)
    assert store() is None
