"""What is known about a language: its stemmer (Snowball) and its stop words.

Stemmers come from PyStemmer. Stop words come from the maintained stopwords-iso collection, except
for English: its English list has 1,298 entries, among them "computer", "research", "system" and
"world", which are topics and not filler. English takes scikit-learn's list of 318 words instead,
and from stopwords-iso only the contractions ("don't", "they've") that list lacks.
"""

from __future__ import annotations

from functools import lru_cache

from docboltz.corpus.english import ENGLISH_STOP_WORDS
from docboltz.errors import InvalidParameter, require
from docboltz.files import StrPath, read_text

CODES = {
    "arabic": "ar", "armenian": "hy", "basque": "eu", "bengali": "bn", "breton": "br",
    "bulgarian": "bg", "catalan": "ca", "chinese": "zh", "croatian": "hr", "czech": "cs",
    "danish": "da", "dutch": "nl", "english": "en", "esperanto": "eo", "estonian": "et",
    "finnish": "fi", "french": "fr", "galician": "gl", "german": "de", "greek": "el",
    "hebrew": "he", "hindi": "hi", "hungarian": "hu", "indonesian": "id", "irish": "ga",
    "italian": "it", "japanese": "ja", "korean": "ko", "latin": "la", "latvian": "lv",
    "lithuanian": "lt", "malay": "ms", "marathi": "mr", "nepali": "ne", "norwegian": "no",
    "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru",
    "serbian": "sr", "sesotho": "st", "slovak": "sk", "slovenian": "sl", "spanish": "es",
    "swahili": "sw", "swedish": "sv", "tamil": "ta", "thai": "th", "turkish": "tr",
    "ukrainian": "uk", "urdu": "ur", "vietnamese": "vi", "yiddish": "yi",
}  # fmt: skip
"""Languages that have a stemmer, a list of stop words or both, with their ISO 639-1 codes."""

STOP_WORD_LISTS = ("scikit-learn", "stopwords-iso")


def language_name(name: str) -> str:
    """Return the English name, in small letters, of a language given by name or by its code."""
    lowered = name.strip().lower()
    by_code = {code: language for language, code in CODES.items()}
    found = by_code.get(lowered, lowered)
    expected = f"one of {', '.join(sorted(CODES))}, a two-letter code, or none"
    require(found in CODES, "TextAnalysis", "language", expected, name)
    return found


def stemmer_names() -> tuple[str, ...]:
    """Return every stemmer that PyStemmer has, "porter" included."""
    import Stemmer

    return tuple(Stemmer.algorithms())


def check_stemmer(name: str, *, named_by_language: bool) -> None:
    """Raise unless PyStemmer has the stemmer."""
    known = name in stemmer_names()
    if named_by_language and not known:
        raise InvalidParameter(
            f"There is no Snowball stemmer for {name}.",
            hint="Set {stem=False} to keep words as they are.",
            settings=("stem=False",),
        )
    expected = f"True, False or one of {', '.join(stemmer_names())}"
    require(known, "TextAnalysis", "stem", expected, name)


def check_stop_words(language: str | None, source: bool | str) -> None:
    """Raise unless there is such a list of stop words."""
    known = isinstance(source, bool) or source in STOP_WORD_LISTS
    expected = f"True, False, a tuple of words or one of {', '.join(STOP_WORD_LISTS)}"
    require(known, "TextAnalysis", "stop_words", expected, source)
    if isinstance(source, str) and language is None:
        raise InvalidParameter(f"Stop words from {source!r} need a language, and there is none.")
    if source == "scikit-learn" and language != "english":
        raise InvalidParameter(
            f"scikit-learn has English stop words only, and the language is {language}.",
            hint="Set {stop_words=True}.",
            settings=("stop_words=True",),
        )
    if language is not None and language != "english":
        stop_word_list(language)


@lru_cache(maxsize=16)
def stop_word_list(language: str, source: str | None = None) -> frozenset[str]:
    """Return the stop words of a language: from `source` if given, else from the default list."""
    if source is None and language == "english":
        contractions = {w for w in stop_word_list(language, "stopwords-iso") if "'" in w}
        return stop_word_list(language, "scikit-learn") | contractions
    if source == "scikit-learn":
        return ENGLISH_STOP_WORDS
    import stopwordsiso

    words = stopwordsiso.stopwords(CODES[language])
    if not words:
        raise InvalidParameter(
            f"There is no stop-word list for {language}.",
            hint="Set {stop_words=False}, with words of your own if you have some; {max_df=0.3} "
            "also drops the words that most documents share.",
            settings=("stop_words=False", "max_df=0.3"),
        )
    return frozenset(words)


def read_stop_words(path: StrPath) -> frozenset[str]:
    """Return the words of a UTF-8 text file with one word a line."""
    return frozenset(read_text(path, "stop words").split())
