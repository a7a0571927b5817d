"""docboltz topics: topics by default, single units with --units."""

import json

import numpy as np
import pytest

from docboltz.text_model import TextModel

from .texts import ENGLISH

N_DOCUMENTS = sum(map(len, ENGLISH.values()))
COUNTED_ON = {"topic", "name", "parent", "level", "documents", "share", "words", "examples"}


def test_topics_in_json_are_those_of_the_model(docboltz, model):
    found = docboltz("topics", model, "--json").json
    assert found == TextModel.open(model).topics().to_dicts()
    assert all(topic.keys() >= COUNTED_ON for topic in found)
    top = [topic for topic in found if topic["level"] == 0]
    assert {topic["parent"] for topic in top} == {None}
    assert 0 < sum(topic["documents"] for topic in top) <= N_DOCUMENTS
    assert all(topic["share"] == topic["documents"] / N_DOCUMENTS for topic in found)


def test_topics_as_a_table(docboltz, model):
    out = docboltz("topics", model, "--words", 5).out.splitlines()
    topics = TextModel.open(model).topics(words=5)
    assert out == [topics.title, *str(topics).splitlines()]
    assert out[1].split()[:3] == ["topic", "share", "name"]


def test_finer_and_broader_topics_are_pointed_to(docboltz, model):
    docboltz("topics", model, "--number", 9)
    said = docboltz("topics", model).err
    assert said.count("--number 27") == said.count("Only the 3 broadest: --level 0") == 1
    for asked in (("--json",), ("--level", 0), ("--number", 9)):
        assert "--number" not in docboltz("topics", model, *asked).err
    docboltz("topics", model, "--number", 2)
    assert "--level" not in docboltz("topics", model).err, "there is one level only"


def test_as_many_topics_as_are_asked_for_and_they_are_kept(docboltz, model):
    found = docboltz("topics", model, "--number", 5, "--level", -1, "--words", 2, "--json").json
    assert len(found) == 5
    assert max(len(topic["words"]) for topic in found) == 2
    again = docboltz("topics", model, "--level", -1, "--json").json
    assert [topic["topic"] for topic in again] == [topic["topic"] for topic in found]


def test_changes_by_hand_are_kept_until_they_may_be_replaced(docboltz, model):
    docboltz("topics", model, "--number", 3)
    first, second, third = TextModel.open(model).tree.numbers.tolist()
    merged = docboltz("topics", model, "--merge", f"{first},{second}", "--level", -1, "--json").json
    assert [topic["topic"] for topic in merged] == [first, third]
    docboltz("topics", model, "--rename", f"{third}= my own ", "--hide", "butter, team")
    found = {t["topic"]: t for t in docboltz("topics", model, "--level", -1, "--json").json}
    assert found[third]["name"] == "my own"
    assert not {"butter", "team"} & {word for topic in found.values() for word in topic["words"]}
    assert "changed by hand" in docboltz("topics", model, "--number", 4).complaint
    replaced = docboltz("topics", model, "--number", 4, "--replace", "--level", -1, "--json").json
    assert len(replaced) == 4
    assert "my own" not in {topic["name"] for topic in replaced}


def test_a_topic_is_split(docboltz, model):
    docboltz("topics", model, "--number", 2)
    before = {t["topic"]: t for t in docboltz("topics", model, "--level", -1, "--json").json}
    split = max(before, key=lambda number: before[number]["documents"])
    after = docboltz("topics", model, "--split", f"{split},3", "--level", -1, "--json").json
    assert len(after) == 4
    assert before.keys() < {topic["topic"] for topic in after}


def test_shares_by_label(docboltz, model):
    found = docboltz("topics", model, "--by", "label", "--json").json
    assert [topic["topic"] for topic in found] == TextModel.open(model).tree.numbers.tolist()
    groups = [group["group"] for group in found[0]["groups"]]
    assert sorted(groups) == ["even", "kitchen", "odd", "space", "sport"]
    for one in zip(*(topic["groups"] for topic in found), strict=True):
        assert sum(group["share"] for group in one) <= 1 + 1e-9
    lines = docboltz("topics", model, "--by", "label").out.splitlines()
    assert set(groups) < set(lines[0].split())
    assert lines[-1].split()[0] == "all"
    said = docboltz("topics", model, "--by", "date").complaint
    assert "no date" in said
    assert "'docboltz index' with --date" in said


def test_shares_of_broader_topics(docboltz, model):
    docboltz("topics", model, "--number", 9)
    broad = docboltz("topics", model, "--by", "label", "--level", 0, "--json").json
    topics = TextModel.open(model).topics(level=0)
    assert sorted(each["topic"] for each in broad) == sorted(topic.number for topic in topics)
    names = {topic.number: topic.name for topic in topics}
    assert all(each["name"] == names[each["topic"]] for each in broad)
    said = docboltz("topics", model, "--by", "label", "--level", 5).complaint
    assert said.startswith("docboltz: --level must be a level from 0 to")


@pytest.fixture
def dated(docboltz, model, tmp_path):
    """The model of 40 days' documents, and one that is dated wrongly."""
    days = [*(str(day) for day in np.datetime64("2020-01-01") + np.arange(40)), "0020-01-01"]
    texts = [" ".join(text for text in some) for some in zip(*ENGLISH.values(), strict=False)]
    lines = [{"text": texts[i % len(texts)], "date": day} for i, day in enumerate(days)]
    file = tmp_path / "dated.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    assert docboltz("index", model, file).code == 0
    return model


def test_many_periods_are_a_line_of_blocks(docboltz, dated):
    outcome = docboltz("topics", dated, "--by", "date")
    title, head, *rows = outcome.out.splitlines()
    assert title == "From 2020-01-01 to 2020-02-09, by day"
    assert head.split() == ["topic", "name", "trend", "first", "last", "highest", "course"]
    name = max(len(topic.name) for topic in TextModel.open(dated).topics(level=-1))
    assert max(map(len, rows)) <= 80 - 12 + name, "80 with a name in lines of 12 letters"
    assert set(rows[-1].split()[-1]) <= set("▁▂▃▄▅▆▇█")
    assert len(rows[-1].split()[-1]) == 16, "two or three days each"
    assert "1 document left out, dated far from all others" in outcome.err
    whole = docboltz("topics", dated, "--by", "date", "--json").json
    assert {len(topic["groups"]) for topic in whole} == {40}
    few = docboltz("topics", dated, "--by", "date", "--period", "month").out.splitlines()
    assert few[1].split()[-2:] == ["2020-01", "2020-02"]


def test_as_many_topics_as_there_are(docboltz, model):
    docboltz("topics", model, "--number", 5)
    docboltz("topics", model, "--hide", "butter")
    assert "changed by hand" in docboltz("topics", model, "--number", "auto").complaint
    assert docboltz("topics", model, "--number", "auto", "--replace").code == 0
    found = TextModel.open(model)
    assert found.tree.asked is None
    expected = TextModel.open(model)
    expected.find_topics(replace=True)
    assert found.topics() == expected.topics()
    said = docboltz("topics", model, "--units", "--number", "auto").complaint
    assert "--number auto" in said


def test_hidden_words_are_shown_again(docboltz, model):
    before = docboltz("topics", model, "--json").json
    word = before[0]["words"][0]
    hidden = docboltz("topics", model, "--hide", word, "--json").json
    assert word not in {each for topic in hidden for each in topic["words"]}
    assert docboltz("topics", model, "--show", word, "--json").json == before


@pytest.mark.parametrize("by", [(), ("--by", "label")])
def test_a_picture(docboltz, model, tmp_path, by):
    assert docboltz("topics", model, *by, "--out", tmp_path / "t.svg").code == 0
    assert "<svg" in (tmp_path / "t.svg").read_text(encoding="utf-8")


def test_units_come_sharpest_first(docboltz, model):
    found = docboltz("topics", model, "--units", "--json").json
    units = TextModel.open(model).units()
    assert [unit["sharpness"] for unit in found] == sorted(u.sharpness for u in units)[::-1]
    assert {unit["unit"] for unit in found} == {0, 1, 2, 3}
    assert [tuple(unit["words"]) for unit in found] == [unit.words for unit in units]


def test_fewer_units_than_asked_for_are_explained(docboltz, model):
    outcome = docboltz("topics", model, "--units", "--number", 50)
    shown = len(outcome.out.splitlines()) - 1
    assert outcome.err.startswith(f"{shown} of 4 units: ")


def test_units_can_be_cut_short(docboltz, model):
    found = docboltz("topics", model, "--units", "--json", "--number", 2, "--words", 3).json
    assert 1 <= len(found) <= 2  # units that repeat each other's words are shown once
    assert {len(unit["words"]) for unit in found} == {3}
    lines = docboltz("topics", model, "--units", "--number", 2, "--words", 3).out.splitlines()
    assert lines[0].split() == ["unit", "sharpness", "activity", "words"]
    assert lines[1].split()[3:] == found[0]["words"]
    assert len(lines) == 1 + len(found)


@pytest.mark.parametrize(
    "about_topics", [("--by", "label"), ("--level", 0), ("--merge", "0,1"), ("--out", "t.svg")]
)
def test_units_are_not_changed_nor_drawn_as_topics_are(docboltz, model, about_topics):
    before = docboltz("topics", model, "--json").json
    said = docboltz("topics", model, "--units", *about_topics).complaint
    assert f"--units shows no topics, and {about_topics[0]} is about those" in said
    assert docboltz("topics", model, "--json").json == before


def test_wrong_changes(docboltz, model):
    for wrong, said in (
        (("--rename", "my own"), "--rename is a number and a name"),
        (("--merge", "one,two"), "--merge must be"),
        (("--level", 9), "--level must be a level from 0 to"),
        (("--merge", "0,99"), "--merge must be"),
        (("--split", "99"), "--split must be"),
        (("--split", "0,1"), "--split must be into 2 parts or more"),
        (("--rename", "99=x"), "--rename must be"),
        (("--show", "butter"), "--show must be words that are hidden"),
        (("--out", "t.pdf"), "--out must be a name that ends in .png or .svg"),
        (("--number", "many"), "--number must be auto or a whole number"),
        (("--number", "0"), "--number must be auto or a whole number"),
    ):
        assert said in docboltz("topics", model, *wrong).complaint
