"""docboltz topics: topics by default, single units with --units."""

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
    assert "no date" in docboltz("topics", model, "--by", "date").complaint


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
        (("--level", 9), "level from 0 to"),
    ):
        assert said in docboltz("topics", model, *wrong).complaint
