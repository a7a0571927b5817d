import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus.corpus import Vocabulary
from docboltz.errors import InvalidCorpus


@given(st.lists(st.text(), unique=True))
def test_columns_follow_the_order_of_words(words):
    vocabulary = Vocabulary(words)
    assert [vocabulary.column(word) for word in words] == list(range(len(words)))
    assert vocabulary.forms == vocabulary.words == tuple(words)


def test_unknown_words_have_no_column():
    vocabulary = Vocabulary(["sea"])
    assert vocabulary.column("sky") is None
    assert "sky" not in vocabulary


def test_forms_are_for_show_only():
    assert Vocabulary(["hockei"], ["hockey"]) == Vocabulary(["hockei"])


@pytest.mark.parametrize(
    ("words", "forms", "message"),
    [([1], None, "words"), (["a", "a"], None, "twice"), (["a"], ["a", "b"], "as many forms")],
)
def test_nonsense_is_refused(words, forms, message):
    with pytest.raises(InvalidCorpus, match=message):
        Vocabulary(words, forms)
