import binascii
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


@pytest.mark.parametrize("word", ["ship", "Größe", "自然", "a\u0301x"])
def test_a_long_text_is_cut_in_blocks_between_words(word):
    text = f" {word}\n" * (3 * text_module.BLOCK // len(word))
    blocks = list(PLAIN.words(text))
    assert len(blocks) > 2
    words = [each for block in blocks for each in block]
    assert len(words) == text.count(word)
    assert set(words) == set(next(PLAIN.words(word)))


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
        {"links": 1},
        {"function": 3},
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
        "print(len(names) > 10, [m for m in ('torch', 'sklearn') if m in sys.modules])"
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


@pytest.mark.parametrize(
    "token",
    [
        "http://sea.org/ships?id=7&name=x#top",
        "HTTPS://Sea.org",
        "(www.sea.org/ships)",
        "ann.smith+ships@mail.sea-side.org",
        "<1993Apr5.171501.2593@sea.org>,",
        "d41d8cd98f00b204e9800998ecf8427e",
        "0xDEADBEEF01234567",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUg",
        "\nU2hpcHMgYXQgc2VhLCBzaGlwcyBpbiBwb3J0LCBzaGlwcyBldmVyeXdoZXJlLg==\n",
        "\n" + binascii.b2a_uu(bytes(range(7, 97, 2)), backtick=True).decode(),
        "\n" + 2 * binascii.b2a_uu(bytes(range(0, 45, 1))).decode(),  # with spaces
    ],
)
@pytest.mark.parametrize("around", [("ships", "sails"), ("Größe", "naïv")])
def test_links_and_data_are_no_words_unless_asked_for(token, around):
    text = f"{around[0]} {token} {around[1]}"
    plain = [word.lower() for word in around]
    assert PLAIN.tokens(text) == plain
    kept = TextAnalysis(language=None, links=True, numbers=True, min_letters=1)
    assert len(kept.tokens(text)) > 2
    assert TextAnalysis(pretokenised=True).tokens(text) == text.split()


@pytest.mark.parametrize(
    "text",
    [
        "state of the art http and www or user at example dot org",
        "and/or: either@home 12:30 c:/users/ann/documents/letters/june.txt",
        "deadbeef facade decade 20130811 1234567890123456 donaudampfschifffahrtsgesellschaft",
        "\n/usr/local/lib/python3.11/site-packages/sklearn/linear_model/LogisticRegression.py",
        "\nyou've-got-to-position-the-fingers-perfectly-to-make-it-beep",
        "\nMANY SHIPS AND SAILS WERE LOST AT SEA IN THE WINTER OF THAT YEAR",
        "看见东京塔的人很多很多很多很多很多很多很多很多很多很多很多很多很多很多很多很多很多很多",
    ],
)
def test_words_are_not_taken_for_links_or_data(text):
    assert PLAIN.tokens(text) == TextAnalysis(language=None, links=True).tokens(text)


def test_a_link_ends_where_a_script_without_spaces_goes_on():
    assert PLAIN.tokens("看http://t.cn/abc东京，好") == ["看", "东京", "好"]


@given(st.text(st.sampled_from("ab1.@:/w \n;,-é東")))
def test_what_is_put_in_the_place_of_links_is_as_long(text):
    found = text_module.without_links(text)
    assert len(found) == len(text)
    assert all(new in (old, " ") for old, new in zip(text, found, strict=True))


def test_models_of_before_there_were_links_keep_their_words():
    saved = TextAnalysis().to_dict()
    assert TextAnalysis.from_dict(saved) == TextAnalysis().resolved()
    del saved["links"], saved["function"]
    assert TextAnalysis.from_dict(saved).links


def halves(text):
    return text.split(";")


class Upper:
    def __call__(self, text):
        return text.upper().split()


@pytest.mark.parametrize(
    ("function", "name", "expected"),
    [
        (halves, "tests.corpus.test_text:halves", ["New_York", "a", "the"]),
        (Upper(), "tests.corpus.test_text:Upper", ["NEW", "YORK;A;;THE;"]),
        (lambda text: (word for word in ["x", " ", "y"]), None, ["x", "y"]),
    ],
)
def test_a_function_gives_the_words_as_they_count(function, name, expected):
    analysis = TextAnalysis.of(function)
    assert analysis.tokens("New  York;a;;the;") == expected
    assert analysis.resolved() is analysis
    saved = json.loads(json.dumps(analysis.to_dict()))
    assert name is None or saved["function"] == name
    opened = TextAnalysis.from_dict(saved)
    with pytest.raises(InvalidParameter, match=r"is not saved with it.*docboltz\.open"):
        opened.tokens("a")
    assert opened.with_function(function).tokens("New  York;a;;the;") == expected
    assert TextAnalysis.of(function, ngrams=2).tokens("a b;c d")[-1].count(" ") == 1


@pytest.mark.parametrize("words", ["a string", ["a", 3], [None]])
def test_a_function_that_gives_no_words_is_named(words):
    with pytest.raises(InvalidParameter, match="must give a list of words"):
        TextAnalysis.of(lambda text: words).tokens("x")


def test_an_analysis_is_chosen_in_one_way():
    assert TextAnalysis.of() == TextAnalysis()
    assert TextAnalysis.of(language="de", ngrams=2) == TextAnalysis("german", ngrams=2)
    assert not TextAnalysis.of(stop_words=False).stop_words
    assert TextAnalysis.of(stop_words="scikit-learn") == TextAnalysis(stop_words="scikit-learn")
    assert TextAnalysis.of(stop_words=["ships"]) == TextAnalysis().with_stop_words(["ships"])
    own = TextAnalysis("german")
    assert TextAnalysis.of(own) is own
    for wrong in ({"analysis": own, "ngrams": 2}, {"analysis": halves, "stop_words": False}):
        with pytest.raises(InvalidParameter, match="Leave out"):
            TextAnalysis.of(**wrong)
    with pytest.raises(InvalidParameter, match="'analysis' parameter of count"):
        TextAnalysis.of(3, "count")
    with pytest.raises(InvalidParameter, match="words"):
        TextAnalysis.of(stop_words=[1])


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
