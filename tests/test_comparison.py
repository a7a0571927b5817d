"""Models side by side: splits, measures, failures, reports."""

import copy
import json
import re
import warnings

import numpy as np
import pytest

from docboltz.comparison.contenders import CONTENDERS, DEFAULT_MODELS, Effort
from docboltz.comparison.parts import Counting, Parts, count_parts
from docboltz.comparison.report import table, to_html, write
from docboltz.comparison.run import choose_models, compare
from docboltz.comparison.tuning import tune
from docboltz.corpus.document import Document
from docboltz.errors import (
    InvalidCorpus,
    InvalidParameter,
    MissingPackageWarning,
    TrainingDiverged,
)

THEMES = {
    "sea": ["ship", "harbour", "sail", "wave", "captain", "anchor", "tide"],
    "food": ["bread", "butter", "soup", "oven", "salt", "flour", "sugar"],
    "space": ["rocket", "orbit", "moon", "planet", "star", "launch", "engine"],
}
SMALL = Effort(topics=4, recipe="quick", updates=20, device="cpu")


def sentences(n=60, *, labels=1):
    """Short documents of three themes."""
    rng = np.random.default_rng(0)
    themes = list(THEMES)
    found = []
    for number in range(n):
        theme = themes[number % 3]
        text = " ".join(rng.choice(THEMES[theme], 6))
        own = (theme,) if labels == 1 else (theme, f"kind {number % 2}")
        found.append(Document(str(number), text, own if labels else ()))
    return found


def parts_of(documents, **options):
    return count_parts(documents, Counting(min_df=1, max_df=1.0), **options)


@pytest.fixture(scope="module")
def found():
    return compare(parts_of(sentences()), [*DEFAULT_MODELS, "unigram"], SMALL)


@pytest.mark.parametrize("share", [0.1, 0.2, 0.5])
@pytest.mark.parametrize("n", [60, 93])
def test_parts_are_of_the_share_asked_for_and_disjoint(n, share):
    parts = parts_of(sentences(n), test_share=share, seed=3)
    assert abs(len(parts.test) - share * n) <= 4
    assert len(parts.train) + len(parts.test) == n
    assert not set(parts.train.ids) & set(parts.test.ids)
    again = parts_of(sentences(n), test_share=share, seed=3)
    assert again.test.ids == parts.test.ids
    assert parts_of(sentences(n), test_share=share, seed=4).test.ids != parts.test.ids


def test_the_vocabulary_is_of_the_training_part_alone():
    test = [Document(f"t{n}", "bread zyzzyva", ("food",)) for n in range(3)]
    parts = parts_of(sentences(), test=[*test, Document("none", "zyzzyva", ("food",))])
    assert "zyzzyva" not in parts.train.vocabulary
    assert (len(parts.train), len(parts.test), parts.n_empty) == (60, 3, (0, 1))


def test_too_few_documents_are_refused():
    with pytest.raises(InvalidCorpus, match="at least"):
        parts_of(sentences(7), test=sentences(3))


def test_every_model_has_what_can_be_measured(found):
    assert [model.name for model in found.models] == [*DEFAULT_MODELS, "unigram"]
    for model in found.models:
        assert model.failure is None
        assert model.seconds > 0
        assert model.n_parameters > 0
        assert (model.mean_average_precision is None) == (model.name == "unigram")
        assert (model.coherence is not None) == CONTENDERS[model.name].has_topics
        assert (model.perplexity is not None) == (model.name in ("docnade", "lda", "unigram"))
    by_name = {model.name: model for model in found.models}
    assert by_name["tfidf"].mean_average_precision > 0.5
    assert by_name["unigram"].perplexity == pytest.approx(found.unigram_perplexity)
    assert by_name["ors"].n_parameters == 4 * found.n_words + found.n_words + 4


def test_the_full_recipe_has_a_perplexity():
    effort = Effort(topics=3, recipe="full", updates=5, device="cpu")
    [model] = compare(parts_of(sentences()), ["ors"], effort).models
    assert model.perplexity > 1
    assert model.perplexity_error > 0


def test_few_documents_are_classified_by_features_of_any_scale(found):
    """Where no penalty is chosen, tf-idf weights need a weaker one than standardised features."""
    by_name = {model.name: model for model in found.models}
    assert by_name["tfidf"].classification == by_name["lsi"].classification == 1


def test_json_holds_all_of_it(found, tmp_path):
    page, data = write(found, tmp_path / "new")
    assert json.loads(data.read_text(encoding="utf-8")) == found.to_dict()
    assert sorted(path.name for path in page.parent.iterdir()) == ["report.html", "report.json"]


def test_the_page_needs_nothing_else(found):
    page = to_html(found)
    assert not re.search(r"<(script|link|img|iframe|object)\b|url\(\s*['\"]?http|@import", page)
    assert not re.search(r"(href|src)\s*=\s*['\"]\s*(https?:)?//", page)
    assert page.count("<svg") == 2
    assert all(f"<td>{model.title}</td>" in page for model in found.models)


def test_few_test_documents_are_remarked(found):
    assert "12 test documents are few: small differences mean nothing." in found.remarks


def test_what_looks_equal_is_equally_best(found):
    level = copy.deepcopy(found)
    for model in level.models:
        model.precision_at_10 = 0.28401 if model.name == "ors" else 0.2839
    assert to_html(level).count('<td class="best">0.284</td>') == len(level.models)


def test_the_table_fits_eighty_columns(found):
    sides, rows = table(found)
    widths = [max(map(len, column)) for column in zip(sides, *rows, strict=True)]
    assert sum(widths) + 2 * (len(widths) - 1) <= 80


def test_the_page_shows_text_as_text(found):
    said = found.remarks
    found.remarks = [*said, "<script>alert(1)</script>"]
    assert "<script>" not in to_html(found)
    found.remarks = said


def test_documents_without_labels_have_no_retrieval():
    found = compare(parts_of(sentences(labels=0)), ["rs", "lda"], SMALL)
    assert (found.labels, found.models[0].mean_average_precision) == ("none", None)
    assert found.models[1].perplexity > 1
    assert any("no labels" in remark for remark in found.remarks)
    assert "MAP" not in table(found)[0]
    assert "<svg" not in to_html(found)


def test_documents_with_several_labels():
    found = compare(parts_of(sentences(labels=2)), ["tfidf"], SMALL)
    assert (found.labels, found.classification_name) == ("several", "MAP")
    assert 0 < found.models[0].classification <= 1


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        (("same", "same"), "one label only"),
        (("", "one"), "one part only"),
        (("one", "other"), "No label of a test document"),
    ],
)
def test_labels_that_say_nothing(labels, said):
    first, second = ((label,) if label else () for label in labels)
    train = [Document(d.id, d.text, first) for d in sentences()]
    if said.startswith("No label"):
        train[0] = Document("0", train[0].text, ("third",))
    test = [Document(f"t{d.id}", d.text, second) for d in sentences(20)]
    assert said in parts_of(train, test=test).labelled()


def test_a_model_that_fails_is_in_the_report_and_the_others_go_on(monkeypatch):
    def diverge(*_):
        raise TrainingDiverged("W left the range.")

    monkeypatch.setattr("docboltz.baselines.lda.LatentDirichletAllocation.fit", diverge)
    found = compare(parts_of(sentences()), ["lda", "lsi"], SMALL)
    assert (found.models[0].failure, found.models[1].failure) == ("W left the range.", None)
    assert table(found)[1][0][-1] == "W left the range."
    assert "failed: W left the range." in to_html(found)
    with pytest.raises(InvalidParameter, match="LDA: W left the range"):
        compare(parts_of(sentences()), ["lda"], SMALL)


def test_a_missing_package_is_a_note(monkeypatch):
    def absent():
        raise ImportError

    monkeypatch.setattr("docboltz.baselines.lda.import_tomotopy", absent)
    with warnings.catch_warnings():
        warnings.simplefilter("error", MissingPackageWarning)
        [model] = compare(parts_of(sentences()), ["lda"], SMALL).models
    assert model.failure is None
    assert any("variational inference" in note for note in model.notes)


def test_an_interrupt_keeps_what_was_measured(monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("docboltz.baselines.plain.LSI.fit", stop)
    found = compare(parts_of(sentences()), ["tfidf", "lsi", "rs"], SMALL)
    assert found.interrupted
    assert [model.failure is None for model in found.models] == [True, False, False]
    with pytest.raises(KeyboardInterrupt):
        compare(parts_of(sentences()), ["lsi"], SMALL)


def test_unknown_models_are_refused():
    with pytest.raises(InvalidParameter, match=r"ors, rs, docnade.*Got 'bert'"):
        choose_models(["ors", "bert"])


@pytest.mark.parametrize("by", ["retrieval", "classification", "likelihood"])
def test_tuning_tries_every_size(by):
    found = tune(parts_of(sentences()), [2, 4], [0, 5], by=by, effort=SMALL)
    assert [(t.topics, t.latent_words) for t in found.trials] == [(2, 0), (2, 5), (4, 0), (4, 5)]
    choose = min if by == "likelihood" else max
    assert found.best.value == choose(trial.value for trial in found.trials)
    assert found.recipe == ("full" if by == "likelihood" else "quick")
    assert json.loads(json.dumps(found.to_dict())) == found.to_dict()


def test_tuning_without_labels_is_by_likelihood():
    parts = parts_of(sentences(labels=0))
    assert tune(parts, [2], [0], effort=SMALL).by == "likelihood"
    with pytest.raises(InvalidParameter, match="no labels"):
        tune(parts, [2], [0], by="retrieval", effort=SMALL)
    with pytest.raises(InvalidParameter, match="'topics'"):
        tune(parts, [], [0], effort=SMALL)


def test_parts_need_no_text():
    parts = parts_of(sentences())
    assert Parts.of(parts.train, parts.test).n_empty == (0, 0)
