"""docboltz topics and words."""

from docboltz.text_model import TextModel


def test_topics_come_sharpest_first(docboltz, model):
    found = docboltz("topics", model, "--json").json
    topics = TextModel.open(model).topics()
    assert [topic["sharpness"] for topic in found] == sorted(t.sharpness for t in topics)[::-1]
    assert {topic["topic"] for topic in found} == {0, 1, 2, 3}
    assert [tuple(topic["words"]) for topic in found] == [topic.words for topic in topics]


def test_fewer_topics_than_asked_for_are_explained(docboltz, model):
    outcome = docboltz("topics", model, "--number", 50)
    shown = len(outcome.out.splitlines()) - 1
    assert outcome.err.startswith(f"{shown} of 4 topics: ")


def test_topics_can_be_cut_short(docboltz, model):
    found = docboltz("topics", model, "--json", "--number", 2, "--words", 3).json
    assert 1 <= len(found) <= 2  # topics that repeat each other's words are shown once
    assert {len(topic["words"]) for topic in found} == {3}
    lines = docboltz("topics", model, "--number", 2, "--words", 3).out.splitlines()
    assert lines[0].split() == ["topic", "sharpness", "activity", "words"]
    assert lines[1].split()[3:] == found[0]["words"]
    assert len(lines) == 1 + len(found)


def test_words(docboltz, model):
    found = docboltz("words", model, "rocket launch", "--json", "-k", 5).json
    assert found == TextModel.open(model).words("rocket launch", 5).to_dicts()
    lines = docboltz("words", model, "rocket launch", "-k", 5).out.splitlines()
    assert lines[0].split() == ["word", "probability", "lift"]
    assert [line.split()[0] for line in lines[1:]] == [entry["word"] for entry in found]


def test_unknown_words(docboltz, model):
    assert "knows none of these words" in docboltz("words", model, "xyzzy").complaint
