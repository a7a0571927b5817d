"""What a person sees who types a name: one line, whatever is behind it."""

import pytest

import docboltz
from docboltz.corpus.datasets import DATASETS, TextDataset
from docboltz.corpus.document import Document
from docboltz.corpus.split import Split

TEXTS = ["Cats chase mice.", "Mice fear cats.", "Stocks fell.", "Stocks and bonds fell."] * 30


@pytest.fixture(scope="module")
def things():
    model = docboltz.TextModel.fit(TEXTS, units=3, updates=5, min_df=1)
    counted = model.count(TEXTS)
    documents = tuple(Document(str(n), text) for n, text in enumerate(TEXTS))
    with pytest.warns(UserWarning, match="contrastive divergence"):
        measured = model.perplexity(TEXTS)
    return [
        model,
        model.analysis,
        model.reading,
        model.vocabulary,
        model.store,
        model.search("cats"),
        model.topics(),
        model.units(),
        model.words("cats"),
        counted,
        Split(counted, counted),
        TextDataset(DATASETS["docstrings"], documents, documents, model.analysis, 10),
        measured,
        measured.log_partition,
        docboltz.Pretraining(updates=7),
        docboltz.Finetuning(),
        docboltz.Validation(),
    ]


def test_reprs_are_one_short_line(things):
    for thing in things:
        shown = repr(thing)
        assert "\n" not in shown
        assert len(shown) < 200, shown
        assert shown.startswith(f"{type(thing).__name__}(")


def test_settings_show_what_is_not_the_default():
    assert repr(docboltz.Finetuning()) == "Finetuning()"
    assert repr(docboltz.TextAnalysis("german", stem=False)) == (
        "TextAnalysis(language='german', stem=False)"
    )
    assert repr(docboltz.TextAnalysis().resolved()).startswith("TextAnalysis(stop_words=<")
