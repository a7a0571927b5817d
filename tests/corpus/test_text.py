import copy
import json
import pickle
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docboltz.corpus import analysis as text_module
from docboltz.corpus.analysis import TextAnalysis
from docboltz.errors import InvalidParameter

PLAIN = TextAnalysis(language=None)


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        (
            "english",
            "Running the house's 3 naïve cafés, foo_bar x86",
            "run hous naïv café foo bar x86",
        ),
        ("german", "Die Häuser der Straße", "haus strass"),
        ("french", "L’homme d'aujourd'hui aime les maisons", "homm aim maison"),
        ("russian", "Книги были интересными", "книг интересн"),
        ("hindi", "हिन्दी भाषा में किताबें", "हिन्द भाष किताब"),
        ("turkish", "İstanbul IŞIK kitapları", "istanbul ışık kitap"),
    ],
)
def test_words_of_a_language(language, text, expected):
    assert TextAnalysis(language=language).tokens(text) == expected.split()


def test_scripts_without_spaces_become_pairs_of_characters():
    analysis = TextAnalysis(language=None, min_letters=3)
    assert analysis.tokens("自然言語 processing 語") == ["自然", "然言", "言語", "processing", "語"]


def test_numbers_are_dropped_unless_asked_for():
    assert PLAIN.tokens("in 1984 2x") == ["in", "2x"]
    assert TextAnalysis(language=None, numbers=True).tokens("in 1984") == ["in", "1984"]


def test_compatibility_forms_are_one_word():
    assert PLAIN.tokens("eﬃcient Ｗｉｄｅ e\u0301te\u0301") == ["efficient", "wide", "été"]


def test_pretokenised_text_is_only_split():
    analysis = TextAnalysis(pretokenised=True)
    assert analysis.tokens("The 17\tfoo_bar don't\n17") == ["The", "17", "foo_bar", "don't", "17"]


def test_porter_and_snowball_english_differ():
    word = "fairly"
    assert TextAnalysis(stem="porter").tokens(word) == ["fairli"]
    assert TextAnalysis(stem="english").tokens(word) == ["fair"]


def test_own_stop_words_are_cut_like_text():
    analysis = TextAnalysis(language=None, stop_words=("don't", "cat"))
    assert analysis.tokens("cat don't dog") == ["dog"]


@given(st.text())
def test_any_text_gives_words_without_spaces(text):
    for token in TextAnalysis().tokens(text):
        assert token
        assert token == "".join(token.split())


@given(st.lists(st.sampled_from(["Sea", "ship", "Größe", "x1", "自然", "\u0301a", "-"])))
def test_blocks_do_not_change_words(pieces):
    text = " ".join(pieces)
    whole = PLAIN.tokens(text)
    old, text_module.BLOCK = text_module.BLOCK, 4
    try:
        assert PLAIN.tokens(text) == whole
    finally:
        text_module.BLOCK = old


@given(st.text(st.characters(max_codepoint=127)))
def test_ascii_and_unicode_paths_agree(text):
    # One letter alone is too short to be a word, but it takes the text off the fast path.
    assert PLAIN.tokens(text + " é") == PLAIN.tokens(text)


def test_settings_survive_json_with_their_stop_words():
    analysis = TextAnalysis.paper()
    back = TextAnalysis.from_dict(json.loads(json.dumps(analysis.to_dict())))
    assert back == analysis.resolved()
    assert back.to_dict() == analysis.to_dict()
    assert "whereupon" in back.stop_words
    text = "The ships were sailing whereupon they sank"
    assert back.tokens(text) == analysis.tokens(text)


def test_settings_of_a_newer_version_are_refused():
    with pytest.raises(InvalidParameter, match="newer version"):
        TextAnalysis.from_dict({"language": "english", "lemmas": True})


@pytest.mark.parametrize(
    "settings",
    [
        {"language": "klingon"},
        {"language": "tamil"},
        {"language": "ukrainian"},
        {"stem": "lancaster"},
        {"stop_words": "mine"},
        {"stop_words": ["a"]},
        {"language": "german", "stop_words": "scikit-learn"},
        {"language": None, "stop_words": "stopwords-iso"},
        {"min_letters": 0},
        {"lowercase": "yes"},
    ],
)
def test_settings_that_make_no_sense(settings):
    with pytest.raises(InvalidParameter):
        TextAnalysis(**settings)


def test_language_without_stop_words_or_stemmer_works_when_told_so():
    assert TextAnalysis(language="tamil", stop_words=False).tokens("வீடுகள்")
    assert TextAnalysis(language="uk", stem=False).tokens("Книги та кіт") == ["книги", "кіт"]


def test_copies_and_pickles_are_equal():
    analysis = TextAnalysis(language="german")
    assert copy.deepcopy(analysis) == analysis == pickle.loads(pickle.dumps(analysis))
    assert hash(analysis) == hash(TextAnalysis(language="de"))


def test_inside_a_scikit_learn_pipeline():
    from sklearn.base import clone
    from sklearn.feature_extraction.text import CountVectorizer

    vectorizer = clone(CountVectorizer(analyzer=TextAnalysis()))
    vectorizer.fit(["The ships sailed", "a ship"])
    assert list(vectorizer.get_feature_names_out()) == ["sail", "ship"]


@pytest.mark.parametrize(
    "use",
    [
        "TextAnalysis.paper()",
        "TextAnalysis().tokens('The ships')",
        "TextAnalysis.from_dict(TextAnalysis('de').to_dict()).tokens('Die Schiffe')",
    ],
)
def test_importing_and_analysing_is_light(use):
    code = (
        f"import sys; from docboltz.corpus.analysis import TextAnalysis; {use}; "
        "print([m for m in ('torch', 'sklearn', 'scipy', 'numpy', 'pyarrow') if m in sys.modules])"
    )
    # Without docboltz/__init__.py, which may load what it likes.
    start = (
        "import sys, types; p = types.ModuleType('docboltz'); p.__path__ = [sys.argv[1]]; "
        "sys.modules['docboltz'] = p; "
    )
    package = str(__import__("pathlib").Path(text_module.__file__).parents[1])
    out = subprocess.run(
        [sys.executable, "-c", start + code, package], capture_output=True, text=True, check=True
    )
    assert out.stdout.strip() == "[]"


def test_no_module_of_the_corpus_imports_torch_or_scikit_learn():
    code = (
        "import sys, importlib, pkgutil, docboltz.corpus as c; "
        "names = [m.name for m in pkgutil.iter_modules(c.__path__)]; "
        "[importlib.import_module('docboltz.corpus.' + n) for n in names]; "
        "print(len(names) > 20, [m for m in ('torch', 'sklearn') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "True []"


@pytest.mark.parametrize(
    "emoji",
    [
        "😂",
        "👍🏽",  # a skin tone
        "👩\u200d🚀",  # joined
        "🏳\ufe0f\u200d🌈",
        "❤\ufe0f\u200d🔥",
        "🇩🇪",
        "1\ufe0f\u20e3",  # a keycap
        "☎\ufe0f",  # text unless asked for
        "☝🏽",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",  # Scotland
    ],
)
def test_an_emoji_is_one_word(emoji):
    analysis = TextAnalysis(min_letters=3)
    term = emoji.replace("\ufe0f", "")
    assert analysis.tokens(f"ships {emoji}{emoji} (sails {emoji})") == [
        "ship", term, term, "sail", term,
    ]  # fmt: skip
    assert next(TextAnalysis().words(f"x {emoji}")) == ["x", emoji]


def test_symbols_that_are_no_pictures_are_no_words():
    assert TextAnalysis().tokens("© 2024 ▪ ships → sails ★ ☎ 5€ naïve") == ["ship", "sail", "naïv"]


def test_stop_words_can_be_emoji_and_more_can_be_added():
    analysis = TextAnalysis(stop_words=True).with_stop_words(["ships", "😂"])
    assert analysis.tokens("The ships and sails 😂 👍") == ["sail", "👍"]
    with pytest.raises(InvalidParameter, match="pretokenised"):
        TextAnalysis(pretokenised=True).with_stop_words(["a"])


def test_pairs_of_neighbours_among_the_terms():
    analysis = TextAnalysis(ngrams=2)
    assert analysis.tokens("Ships of New York") == [
        "ship", "new", "york", "ship new", "new york",
    ]  # fmt: skip
    assert analysis.tokens("ships") == ["ship"]
    assert TextAnalysis(pretokenised=True, ngrams=2).tokens("a b") == ["a", "b", "a b"]
    assert TextAnalysis.from_dict(analysis.to_dict()).ngrams == 2
    for wrong in (0, 3, True, "2"):
        with pytest.raises(InvalidParameter, match="ngrams"):
            TextAnalysis(ngrams=wrong)
