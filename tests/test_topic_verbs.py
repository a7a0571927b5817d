"""Topics as a person meets them: shown, assigned, changed by hand, saved and opened again."""

import json
import pickle
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import docboltz
from docboltz import TextModel
from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus, InvalidModelFile, InvalidParameter
from docboltz.storage import save_model

WORDS = {
    "sea": "ship sail harbour captain wave anchor deck tide port crew",
    "kitchen": "soup salt pan onion butter oven recipe garlic plate spoon",
    "sky": "star moon comet planet orbit telescope galaxy rocket sun eclipse",
}
THEMES = {name: words.split() for name, words in WORDS.items()}


def texts(n=150, seed=0):
    """Documents of five words about one of three things, dated and labelled."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        theme = list(THEMES)[i % 3]
        year = 2000 + (i // 3) % 6
        words = " ".join(rng.choice(THEMES[theme], 5, replace=False))
        found.append(Document(str(i), words, (theme,), f"{year}-05-01"))
    return found


@pytest.fixture(scope="module")
def fitted():
    found = TextModel.fit(texts(), units=16, updates=300, language=None)
    found.topics(3)
    return found


@pytest.fixture
def model(fitted, tmp_path):
    """One that may be changed."""
    fitted.save(tmp_path / "model")
    return docboltz.open(tmp_path / "model")


def theme_of(topic):
    return max(THEMES, key=lambda name: len(set(THEMES[name]) & set(topic.words)))


def test_topics_are_what_documents_are_about(fitted):
    found = fitted.topics(level=-1)
    assert sorted(map(theme_of, found)) == sorted(THEMES)
    assert sum(topic.documents for topic in found) == 150
    assert sum(topic.share for topic in found) == pytest.approx(1)
    for topic in found:
        ((label, share), *_) = topic.labels
        assert (label, topic.name.split(", ")[0]) == (theme_of(topic), topic.words[0])
        assert share > 0.9
        assert set(topic.expected[:5]) <= set(THEMES[label])
        assert len(topic.examples) == 3
    assert repr(found) == "Topics(3 topics: 3)"
    assert "typical document" in str(found)
    assert "<table>" in found._repr_html_()


def test_topics_as_programs_read_them(fitted):
    for topic in fitted.topics(words=4).to_dicts():
        assert len(topic["words"]) == 4
        named = ("topic", "name", "parent", "level", "documents", "share", "words", "examples")
        assert set(named) <= set(topic)
        json.dumps(topic)


def test_texts_are_assigned_and_those_without_a_known_word_are_not(fitted):
    found = fitted.assign(["the ship and its captain", "onion soup", "klingon", ""])
    names = {topic.number: theme_of(topic) for topic in fitted.topics(level=-1)}
    assert [names.get(int(k)) for k in found.topic] == ["sea", "kitchen", None, None]
    assert found.topic[2:].tolist() == [-1, -1]
    assert ((found.probability > 0) & (found.probability <= 1)).all()


def test_the_collection_is_assigned_as_its_texts_are(fitted):
    found = fitted.assign(texts())
    assert np.array_equal(found.topic, fitted.tree.assignment.topic)
    np.testing.assert_allclose(found.probability, fitted.tree.assignment.probability, atol=1e-3)


def test_topics_are_saved_and_opened_again(fitted, model):
    assert model.topics() == fitted.topics()
    assert np.array_equal(model.assign(texts()).topic, fitted.assign(texts()).topic)


def test_a_number_that_is_asked_for_is_kept(model):
    assert len(model.topics(9, level=-1)) == 9
    again = docboltz.open(model.path)
    assert again.topics() == model.topics()
    assert len(again.tree.numbers) == 9
    broad = again.topics(level=0)
    assert len(broad) == 3
    fine = again.topics(level=-1)
    for topic in broad:
        assert topic.documents == sum(t.documents for t in fine if t.parent == topic.number)


def test_topics_are_renamed_merged_split_and_kept(model):
    model.topics(6)
    numbers = [topic.number for topic in model.topics(level=-1)]
    sizes = {topic.number: topic.documents for topic in model.topics(level=-1)}
    model.rename_topic(numbers[0], "favourites")
    model.merge_topics(numbers[:2])
    model = docboltz.open(model.path)
    merged = {topic.number: topic for topic in model.topics(level=-1)}
    assert set(merged) == set(numbers) - {numbers[1]}
    assert merged[numbers[0]].name == "favourites"
    assert merged[numbers[0]].documents >= sizes[numbers[0]] + sizes[numbers[1]]
    assert sum(topic.documents for topic in merged.values()) >= sum(sizes.values())
    model.split_topic(numbers[0])
    apart = {topic.number: topic.documents for topic in model.topics(level=-1)}
    assert sorted(apart.values()) == sorted(sizes.values()), "as they were"
    assert all(apart[k] == sizes[k] for k in numbers[2:]), "whoever had no part in it"
    assert max(apart) > max(numbers), "a number is not given twice"
    model.merge_topics([numbers[0], max(apart)])
    model.merge_topics([numbers[0], numbers[2]])
    model.split_topic(numbers[3])
    model = docboltz.open(model.path)
    split = {topic.number: topic for topic in model.topics(level=-1)}
    (new,) = set(split) - set(apart)
    assert 0 < split[new].documents <= split[numbers[3]].documents
    assert split[numbers[0]].name == "favourites"
    parts = split[new].documents + split[numbers[3]].documents
    assert abs(parts - sizes[numbers[3]]) <= 2, "sharper parts may win a document"


def test_words_are_hidden(model):
    topic = model.topics(level=-1)[0]
    hidden = [topic.words[0], topic.expected[0]]
    model.hide_words(hidden)
    for each in docboltz.open(model.path).topics():
        assert not {*hidden} & {*each.words, *each.expected}


def test_hidden_words_are_shown_again(model):
    before = [topic.words for topic in model.topics()]
    hidden = [before[0][0], before[0][1]]
    model.hide_words(hidden)
    model.show_words(hidden[:1])
    again = docboltz.open(model.path)
    assert again.tree.hidden == (hidden[1],)
    again.show_words(hidden[1:])
    assert [topic.words for topic in again.topics()] == before
    with pytest.raises(InvalidParameter, match="there are none"):
        again.show_words(hidden[:1])


def test_changes_of_others_are_kept(model):
    """Each opened before the other had changed anything."""
    numbers = [topic.number for topic in model.topics(level=-1)]
    one, two = docboltz.open(model.path), docboltz.open(model.path)
    assert one.topics() == two.topics()
    one.rename_topic(numbers[0], "one")
    two.rename_topic(numbers[1], "two")
    one.hide_words(["ship"])
    found = docboltz.open(model.path)
    names = {topic.number: topic.name for topic in found.topics(level=-1)}
    assert (names[numbers[0]], names[numbers[1]]) == ("one", "two")
    assert one.topics() == found.topics()
    assert found.tree.hidden == ("ship",)


def test_changes_at_the_same_time_are_all_kept(model):
    """Eight threads with a model each, and two processes: all read, change and save at once."""
    words = [word for words in THEMES.values() for word in words][:20]

    def hide(word):
        docboltz.open(model.path).hide_words([word])

    code = "import sys, docboltz; docboltz.open(sys.argv[1]).hide_words(sys.argv[2:])"
    command = [sys.executable, "-c", code, str(model.path)]
    others = [subprocess.Popen([*command, *some]) for some in (words[16:18], words[18:])]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hide, words[:16]))
    assert [other.wait() for other in others] == [0, 0]
    assert sorted(docboltz.open(model.path).tree.hidden) == sorted(words)


def test_a_change_to_topics_that_others_replaced_is_refused(model):
    """Numbers would be those of other topics."""
    number = model.topics(level=-1)[0].number
    docboltz.open(model.path).topics(5)
    with pytest.raises(InvalidParameter, match="looked for again meanwhile"):
        model.rename_topic(number, "mine")
    assert model.topics() == docboltz.open(model.path).topics()
    model.rename_topic(model.topics(level=-1)[0].number, "mine")
    assert "mine" in {topic.name for topic in docboltz.open(model.path).topics()}


def test_others_changes_are_not_lost_by_looking_again(model):
    model.topics()
    docboltz.open(model.path).hide_words(["ship"])
    with pytest.raises(InvalidParameter, match="changed by hand"):
        model.topics(5)


def test_what_was_changed_by_hand_is_not_lost_by_looking_again(model):
    model.rename_topic(model.topics(level=-1)[0].number, "mine")
    with pytest.raises(InvalidParameter, match=r"changed by hand.*replace=True"):
        model.topics(5)
    assert "mine" in {topic.name for topic in model.topics()}
    assert len(model.topics(5, level=-1, replace=True)) == 5
    assert "mine" not in {topic.name for topic in model.topics()}


def test_other_documents_have_the_same_topics(model):
    names = [topic.name for topic in model.topics()]
    model.index([Document(str(i), "ship sail anchor", ("boat",)) for i in range(7)])
    found = docboltz.open(model.path).topics(level=-1)
    assert sorted(topic.documents for topic in found) == [0, 0, 7]
    (sea,) = (topic for topic in found if topic.documents)
    assert sea.labels == (("boat", 1.0),)
    assert sorted(topic.name for topic in model.topics()) == sorted(names)


def test_topics_changed_by_hand_outlive_their_documents(model):
    number = model.topics(level=-1)[0].number
    model.rename_topic(number, "mine")
    shutil.rmtree(model.path / "search")
    alone = docboltz.open(model.path)
    assert "mine" in {topic.name for topic in alone.topics()}
    alone.index(texts(30))
    assert "mine" in {topic.name for topic in docboltz.open(model.path).topics()}


def test_documents_other_than_those_they_were_found_in_spoil_no_topic(model):
    expected = model.assign(texts()).topic
    model.index([Document(str(i), "ship sail anchor") for i in range(7)])
    numbers = [topic.number for topic in model.topics(level=-1)]
    model.merge_topics(numbers[:2])
    found = docboltz.open(model.path).assign(texts()).topic
    kept = expected == numbers[2]
    assert (found[kept] == numbers[2]).all()
    assert (found[~kept] == numbers[0]).all()


def test_a_copy_reads_topics_of_its_own_documents(model):
    copy = pickle.dumps(model)
    model.index(list(reversed(texts())))
    again = pickle.loads(copy)
    assert np.array_equal(again.tree.assignment.topic, model.tree.assignment.topic)


def test_topics_of_a_model_that_was_replaced_are_gone(model):
    folder = model.path
    TextModel.fit(texts(60), units=4, updates=9, language=None, folder=folder, replace=True)
    other = docboltz.open(folder)
    assert other.tree.assignment.topic.shape == (60,)


def test_what_cannot_be_saved_changes_nothing(model):
    before = model.topics()
    with pytest.raises(InvalidParameter, match="Unicode"):
        model.rename_topic(before[0].number, "\udcff")
    assert model.topics() == before


def test_documents_without_known_words_have_no_topics(model):
    model.index(["qqq www", "zzz yyy"])
    with pytest.raises(InvalidCorpus, match="no topics"):
        model.topics(4)


def test_topics_by_label_and_over_time(fitted):
    by_label = fitted.topics_by("label")
    assert set(by_label.groups) == set(THEMES)
    assert np.allclose(by_label.shares.max(0), 1, atol=0.1)
    over_time = fitted.topics_by("date")
    assert over_time.groups == tuple(map(str, range(2000, 2006)))
    assert np.allclose(over_time.shares, 1 / 3, atol=0.15)
    with pytest.raises(InvalidParameter, match="'by'"):
        fitted.topics_by("colour")


def test_shares_of_broader_topics_add_up_those_they_are_made_of(model):
    model.topics(9)
    fine, broad = (model.topics_by("label", level=level) for level in (-1, 0))
    assert broad.groups == fine.groups
    children = model.topics(level=-1)
    order = [topic.number for topic in model.tree.of_level(-1)]
    for row, topic in zip(broad.shares, model.tree.of_level(0), strict=True):
        own = [order.index(child.number) for child in children if child.parent == topic.number]
        np.testing.assert_allclose(row, fine.shares[own].sum(0))
    with pytest.raises(InvalidParameter, match="'level' parameter"):
        model.topics_by("label", level=7)


def test_documents_without_dates_have_no_topics_over_time(model):
    model.index(["ship sail anchor", "soup salt"])
    with pytest.raises(InvalidParameter, match=r"have no date.*TextModel.read\(date=…\)"):
        model.topics_by("date")


@pytest.mark.parametrize(
    ("verb", "given"),
    [
        ("rename_topic", (99, "x")),
        ("rename_topic", (0, 5)),
        ("merge_topics", ([0],)),
        ("merge_topics", ([0, 99],)),
        ("split_topic", (99,)),
        ("split_topic", (0, 1)),
        ("hide_words", ("ship",)),
        ("show_words", ("ship",)),
        ("show_words", (["ship"],)),
    ],
)
def test_what_cannot_be_done_by_hand_changes_nothing(model, verb, given):
    before = model.topics()
    with pytest.raises(InvalidParameter):
        getattr(model, verb)(*given)
    assert docboltz.open(model.path).topics() == before


def test_a_level_that_is_not_there_is_refused(fitted):
    with pytest.raises(InvalidParameter, match="'level'"):
        fitted.topics(level=7)


def test_a_model_that_does_not_say_where_labels_came_from_is_refused(model):
    del model._settings["text"]["columns"]
    save_model(model.path, model._arrays, model._settings)
    with pytest.raises(InvalidModelFile, match="columns"):
        docboltz.open(model.path)


def test_topics_of_another_model_are_refused(model, tmp_path):
    TextModel.fit(
        texts(), units=8, updates=20, language=None, folder=tmp_path / "other", random_state=1
    )
    (tmp_path / "other" / "topics").rename(tmp_path / "taken")
    (model.path / "topics").rename(tmp_path / "other" / "topics")
    with pytest.raises(InvalidModelFile, match="another model"):
        docboltz.open(tmp_path / "other").topics()


def test_documents_of_one_length_and_a_single_other_do_not_drive_certainty_beyond_all_numbers():
    found = TextModel.fit(
        [*texts(), Document("long", "ship " * 900)], units=16, updates=300, language=None
    )
    found.topics(3)
    sure = found.tree.assignment.probability
    assert ((sure > 0) & (sure <= 1)).all()
