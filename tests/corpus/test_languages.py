import pytest

from docboltz.corpus.analysis import (
    CODES,
    language_name,
    read_stop_words,
    stemmer_names,
    stop_word_list,
)
from docboltz.errors import InvalidCorpus, InvalidParameter


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


def test_the_english_list_is_scikit_learns():
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    assert stop_word_list("english", "scikit-learn") == ENGLISH_STOP_WORDS


def test_stop_words_from_a_file(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_bytes("\ufeffShips\r\n\n  é \n".encode())
    assert read_stop_words(path) == {"Ships", "é"}
    path.write_bytes(b"\xff")
    with pytest.raises(InvalidCorpus, match=r"stop words in .*stop\.txt could not be read"):
        read_stop_words(path)


def test_hints_name_settings_for_every_face():
    with pytest.raises(InvalidParameter) as error:
        stop_word_list("tamil")
    assert error.value.settings == ("stop_words=False", "max_df=0.3")
    with pytest.raises(InvalidParameter) as error:
        language_name("klingon")
    assert (error.value.owner, error.value.name) == ("TextAnalysis", "language")
