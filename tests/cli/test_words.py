"""docboltz words."""

from docboltz.text_model import TextModel


def test_words(docboltz, model):
    found = docboltz("words", model, "rocket launch", "--json", "-k", 5).json
    assert found == TextModel.open(model).words("rocket launch", 5).to_dicts()
    lines = docboltz("words", model, "rocket launch", "-k", 5).out.splitlines()
    assert lines[0].split() == ["word", "probability", "lift"]
    assert [line.split()[0] for line in lines[1:]] == [entry["word"] for entry in found]


def test_unknown_words(docboltz, model):
    assert "knows none of these words" in docboltz("words", model, "xyzzy").complaint
