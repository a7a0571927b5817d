import pytest

from docboltz.corpus.languages import CODES, language_name, stemmer_names, stop_word_list
from docboltz.errors import InvalidParameter


def test_every_snowball_language_is_known():
    variants = {"porter", "dutch_porter"}  # other stemmers for languages that are there
    assert set(stemmer_names()) - variants <= set(CODES)


def test_codes_and_names_are_the_same_language():
    assert language_name("DE") == language_name("German") == "german"


def test_unknown_language_lists_the_known_ones():
    with pytest.raises(InvalidParameter, match="french"):
        language_name("klingon")


def test_english_keeps_topical_words_and_drops_contractions():
    words = stop_word_list("english")
    assert {"the", "don't"} <= words
    assert not {"computer", "research", "world"} & words
    assert "computer" in stop_word_list("english", "stopwords-iso")


def test_a_language_without_a_list_says_what_to_do():
    with pytest.raises(InvalidParameter, match="stop_words=False"):
        stop_word_list("tamil")
