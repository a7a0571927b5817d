"""Text → words → terms: how to cut a text, which words to drop, how to stem the others."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from docboltz.errors import InvalidParameter, require
from docboltz.storage import SavedSettings, StrPath, read_text

# Shown as pictures without being asked; beyond the basic plane whole blocks.
_PICTURES = (
    "\u231a\u231b\u23e9-\u23ec\u23f0\u23f3\u25fd\u25fe\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1"
    "\u26aa\u26ab\u26bd\u26be\u26c4\u26c5\u26ce\u26d4\u26ea\u26f2\u26f3\u26f5\u26fa\u26fd\u2705"
    "\u270a\u270b\u2728\u274c\u274e\u2753-\u2755\u2757\u2795-\u2797\u27b0\u27bf\u2b1b\u2b1c\u2b50"
    "\u2b55\U0001f004\U0001f0cf\U0001f18e\U0001f300-\U0001f3fa\U0001f400-\U0001f64f"
    "\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7f0\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff"
)
_SYMBOLS = "\u00a9\u00ae\u203c\u2049\u2139-\u2bff\u3030\u303d\U0001f170-\U0001f251"
_TONES = "\U0001f3fb-\U0001f3ff"
_FLAG_LETTERS = "\U0001f1e6-\U0001f1ff"
_JOINED = f"[{_PICTURES}{_SYMBOLS}]\ufe0f?[{_TONES}]?"
EMOJI_PATTERN = (
    f"(?:[{_FLAG_LETTERS}]{{2}}|[0-9#*]\ufe0f?\u20e3"
    f"|(?:[{_PICTURES}]\ufe0f?|[{_SYMBOLS}](?:\ufe0f|(?=[\u200d{_TONES}])))[{_TONES}]?"
    f"[\U000e0020-\U000e007f]*(?:\u200d{_JOINED})*)"  # U+E0020…: the letters of Scotland's flag
)
EMOJI = re.compile(EMOJI_PATTERN)
EMOJI_SIGNS = "\u203c\u2049\u20e3\u2139-\u2bff\ufe0f\U0001f004-\U0001faff"
"""One of these is in every emoji."""


def emoji_term(word: str) -> str | None:
    """What an emoji is counted as, None if the word is none: U+FE0F often is left out.

    >>> emoji_term("❤\\ufe0f"), emoji_term("heart")
    ('❤', None)
    """
    return word.replace("\ufe0f", "") if EMOJI.fullmatch(word) else None


_WORDS = """
a about above across after afterwards again against all almost alone along already also although
always am among amongst amoungst amount an and another any anyhow anyone anything anyway anywhere
are around as at back be became because become becomes becoming been before beforehand behind
being below beside besides between beyond bill both bottom but by call can cannot cant co con
could couldnt cry de describe detail do done down due during each eg eight either eleven else
elsewhere empty enough etc even ever every everyone everything everywhere except few fifteen fifty
fill find fire first five for former formerly forty found four from front full further get give go
had has hasnt have he hence her here hereafter hereby herein hereupon hers herself him himself his
how however hundred i ie if in inc indeed interest into is it its itself keep last latter latterly
least less ltd made many may me meanwhile might mill mine more moreover most mostly move much must
my myself name namely neither never nevertheless next nine no nobody none noone nor not nothing
now nowhere of off often on once one only onto or other others otherwise our ours ourselves out
over own part per perhaps please put rather re same see seem seemed seeming seems serious several
she should show side since sincere six sixty so some somehow someone something sometime sometimes
somewhere still such system take ten than that the their them themselves then thence there
thereafter thereby therefore therein thereupon these they thick thin third this those though three
through throughout thru thus to together too top toward towards twelve twenty two un under until
up upon us very via was we well were what whatever when whence whenever where whereafter whereas
whereby wherein whereupon wherever whether which while whither who whoever whole whom whose why
will with within without would yet you your yours yourself yourselves
"""
ENGLISH_STOP_WORDS = frozenset(_WORDS.split())


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


TEXTS = 1000
"""Texts that are looked at; the first tell enough."""
CHARACTERS = 1000
"""Characters of each text that are looked at."""
FEWEST_WORDS = 20
LEAST_SHARE = 0.25
"""Share of stop words below which nothing is said: code, lists, text without stop words."""
LEAST_LEAD = 1.2
"""How many times the share of the next language: Danish and Norwegian are close."""

_WORD = re.compile(r"[^\W\d_]{2,}")  # single letters are stop words everywhere
_SCRIPTS = {
    "kana": re.compile("[\u3041-\u30ff]"),
    "chinese": re.compile("[\u3400-\u4dbf\u4e00-\u9fff]"),
    "korean": re.compile("[\uac00-\ud7a3]"),
    "thai": re.compile("[\u0e01-\u0e3a\u0e40-\u0e4e]"),
}


class LanguageGuess:
    """Looks at texts as they pass and guesses their language.

    >>> guess = LanguageGuess()
    >>> for _ in range(3):
    ...     guess.add("Das Haus, das wir gesehen haben, steht nicht mehr an der alten Straße.")
    >>> guess.result()
    ('german', 0.6923076923076923)
    """

    def __init__(self) -> None:
        self._n_texts = 0
        self._words: Counter[str] = Counter()
        self._scripts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Look at a text, unless enough have been seen."""
        if self._n_texts >= TEXTS:
            return
        self._n_texts += 1
        text = text[:CHARACTERS].lower()
        self._words.update(_WORD.findall(text))
        if not text.isascii():
            self._scripts.update({name: len(r.findall(text)) for name, r in _SCRIPTS.items()})

    def result(self) -> tuple[str, float] | None:
        """The language and the share of words or letters that speak for it; None if unsure."""
        return self._by_script() or self._by_stop_words()

    def mismatch(self, analysis: TextAnalysis) -> str | None:
        """A sentence if the texts seem to be in another language than the analysis is set to."""
        found = self.result()
        if analysis.pretokenised or analysis.language is None or found is None:
            return None
        language, share = found
        if language == analysis.language:
            return None
        return (
            f"The text seems to be {language.capitalize()} ({share:.0%} of it says so), but stop "
            f"words and stems are {analysis.language.capitalize()}"
        )

    def _by_script(self) -> tuple[str, float] | None:
        n_letters = sum(len(word) * n for word, n in self._words.items())
        kana, han = self._scripts["kana"], self._scripts["chinese"]
        letters = {"japanese": kana + han} if 10 * kana > han else {"chinese": han}
        letters |= {name: self._scripts[name] for name in ("korean", "thai")}
        language = max(letters, key=letters.__getitem__)
        enough = n_letters >= FEWEST_WORDS and 2 * letters[language] > n_letters
        return (language, min(1.0, letters[language] / n_letters)) if enough else None

    def _by_stop_words(self) -> tuple[str, float] | None:
        languages_of = _languages_of_stop_words()
        n_words = self._words.total()
        hits: Counter[str] = Counter()
        for word, n in self._words.items():
            for language in languages_of.get(word, ()):
                hits[language] += n
        (language, most), (_, next_most) = [*hits.most_common(2), ("", 0), ("", 0)][:2]
        least = max(LEAST_SHARE * n_words, LEAST_LEAD * next_most)
        sure = n_words >= FEWEST_WORDS and most >= least
        return (language, most / n_words) if sure else None


@lru_cache(maxsize=1)
def _languages_of_stop_words() -> dict[str, list[str]]:
    import stopwordsiso

    languages_of: dict[str, list[str]] = {}
    for language, code in CODES.items():
        if stopwordsiso.has_lang(code):
            entries = " ".join(stop_word_list(language)).lower()
            for word in set(_WORD.findall(entries)):
                languages_of.setdefault(word, []).append(language)
    return languages_of


BLOCK = 1 << 20
"""Characters cut at a time: a document of 50 MB must not become ten million strings at once."""
REMEMBERED = 1 << 20
"""Distinct words whose fate is remembered; a server that never stops must not grow forever."""


@dataclass(frozen=True, repr=False)
class TextAnalysis(SavedSettings):
    """The settings that turn a text into terms. Callable, hashable, picklable; saved with a model.

    Words are runs of letters, digits and combining marks of any script; everything else separates
    them, apostrophes and underscores too: "don't" is "don" and "t", and so it is in the stop words.
    Words without a letter are dropped unless `numbers` is set. An emoji is a word.

    Chinese, Japanese, Thai, Lao, Khmer and Burmese do not put spaces between words. Runs of these
    scripts become overlapping pairs of characters, a crude but usual choice in retrieval. Where
    real words matter, segment the text first and use `pretokenised=True`.

    Inside a scikit-learn pipeline use scikit-learn's own class:
    `CountVectorizer(analyzer=TextAnalysis(language="german"))`.

    >>> TextAnalysis().tokens("The houses' 3 cats don't run 2nd.")
    ['hous', 'cat', 'run', '2nd']
    >>> TextAnalysis(pretokenised=True).tokens("17 4 4 The")
    ['17', '4', '4', 'The']
    """

    language: str | None = "english"
    """Chooses stop words and stemmer: a name or an ISO 639-1 code. None: neither."""
    stop_words: bool | str | tuple[str, ...] = True
    """True: the language's list. Or the list's name ("scikit-learn", "stopwords-iso"), or words."""
    stem: bool | str = True
    """True: the language's Snowball stemmer. Or a stemmer's name, such as "porter"."""
    lowercase: bool = True
    """Lower-case the text first; Turkish dotless and dotted i are kept apart."""
    min_letters: int = 2
    """Shorter words are dropped, counted in characters before stemming (pairs of characters of
    scripts without spaces and emoji are exempt)."""
    numbers: bool = False
    """Keep words without any letter."""
    pretokenised: bool = False
    """The text is terms separated by white space: split it, do nothing else."""
    ngrams: int = 1
    """2: pairs of neighbours among the terms of a text are terms too, such as "new york"."""

    def __post_init__(self) -> None:
        def check(ok: bool, name: str, expected: str) -> None:
            require(ok, "TextAnalysis", name, expected, getattr(self, name))

        check(self.language is None or isinstance(self.language, str), "language", "None or a name")
        listed = isinstance(self.stop_words, (bool, str, tuple))
        check(listed, "stop_words", "a bool, name or tuple")
        check(isinstance(self.stem, (bool, str)), "stem", "a bool or the name of a stemmer")
        for name in ("lowercase", "numbers", "pretokenised"):
            check(isinstance(getattr(self, name), bool), name, "True or False")
        whole = type(self.min_letters) is int and 1 <= self.min_letters <= 100
        check(whole, "min_letters", "a whole number, 1 to 100")
        check(type(self.ngrams) is int and self.ngrams in (1, 2), "ngrams", "1 or 2")
        if self.language is not None:
            object.__setattr__(self, "language", language_name(self.language))
        if isinstance(self.stop_words, tuple):
            check(all(isinstance(w, str) for w in self.stop_words), "stop_words", "words")
        if not self.pretokenised:
            if self.stop_words and not isinstance(self.stop_words, tuple):
                check_stop_words(self.language, self.stop_words)
            self._stemmer_name()

    @classmethod
    def paper(cls) -> TextAnalysis:
        """The paper's preparation: English stop words and short words removed, Porter stems."""
        return cls(language="english", stop_words="scikit-learn", stem="porter", min_letters=3)

    def tokens(self, text: str) -> list[str]:
        """The terms of a text, in order, and then its pairs if they count."""
        term_of = self.term_of()
        found = (term_of(word) for words in self.words(text) for word in words)
        terms = [term for term in found if term is not None]
        return terms if self.ngrams == 1 else terms + list(map(pair_term, terms, terms[1:]))

    __call__ = tokens

    def words(self, text: str) -> Iterator[list[str]]:
        """Cut a text into words, a block at a time."""
        cut = str.split if self.pretokenised else self._cut
        for block in _blocks(text):
            yield cut(block)

    def lined_up(self, text: str) -> str | None:
        """The text with its words as `words` gives them, each in its place, and spaces between.

        None where they cannot be: normalising moves them, or a script is cut in pieces.

        >>> TextAnalysis().lined_up("The Ship's log")
        'the ship s log'
        """
        if text.isascii():
            return text.translate(_ASCII_LOWER if self.lowercase else _ASCII)
        if _RARE.search(text) is not None or not unicodedata.is_normalized("NFKC", text):
            return None
        lowered = self._lowered(text)
        if len(lowered) != len(text) or _RARE.search(lowered) is not None:
            return None
        parts: list[str] = []
        end = 0
        for match in _word_pattern().finditer(lowered):
            parts += (" " * (match.start() - end), match[0])
            end = match.end()
        return "".join(parts)

    def term_of(self) -> Callable[[str], str | None]:
        """word ↦ what a word that `words` gave is counted as; None if it is dropped.

        Pairs are not among them: `pair_term` makes one of two terms.
        """
        return str if self.pretokenised else _term_table(self).__getitem__

    def resolved(self) -> TextAnalysis:
        """The same analysis with its stop words spelled out, apart from any installed list."""
        if self.pretokenised:
            return self
        return replace(self, stop_words=tuple(sorted(self._stop_words())))

    def with_stop_words(self, words: Iterable[str]) -> TextAnalysis:
        """The same analysis with more stop words."""
        if self.pretokenised:
            raise InvalidParameter(
                "Stop words are not looked for in pretokenised text.",
                hint="Leave out {stop_words} or {pretokenised}.",
                settings=("stop_words", "pretokenised"),
            )
        return replace(self, stop_words=tuple(sorted(self._stop_words().union(words))))

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON can hold them, stop words spelled out.

        Lists of stop words change from one release of their package to the next, and a model must
        treat new text as it treated its training text.
        """
        return asdict(self.resolved())

    def _cut(self, text: str) -> list[str]:
        if text.isascii():
            return text.translate(_ASCII_LOWER if self.lowercase else _ASCII).split()
        if not unicodedata.is_normalized("NFKC", text):
            text = unicodedata.normalize("NFKC", text)
        text = self._lowered(text)
        if _RARE.search(text) is None:
            return _word_pattern().findall(text)
        has_emoji = _EMOJI_SIGN.search(text) is not None
        words = (word_pattern() if has_emoji else _word_pattern()).findall(text)
        return [piece for word in words for piece in _pieces(word)]

    def _lowered(self, text: str) -> str:
        if not self.lowercase:
            return text
        if self.language == "turkish":
            text = text.replace("İ", "i").replace("I", "ı")
        return text.lower()

    def _stop_words(self) -> frozenset[str]:
        if isinstance(self.stop_words, tuple):
            return frozenset(self.stop_words)
        if not self.stop_words or self.language is None:
            return frozenset()
        return stop_word_list(self.language, None if self.stop_words is True else self.stop_words)

    def _stemmer_name(self) -> str | None:
        if self.stem is False or (self.stem is True and self.language is None):
            return None
        name = self.language if self.stem is True else self.stem
        check_stemmer(str(name), named_by_language=self.stem is True)
        return str(name)


def pair_term(first: str, second: str) -> str:
    """The term of two neighbours; the space tells it from a word's.

    >>> TextAnalysis(ngrams=2).tokens("Flights to New York")
    ['flight', 'new', 'york', 'flight new', 'new york']
    """
    return f"{first} {second}"


def is_spaceless(word: str) -> bool:
    """Whether a word begins in a script without spaces: then it is a pair of characters.

    >>> is_spaceless("東京"), is_spaceless("tokyo")
    (True, False)
    """
    return _SPACELESS.match(word) is not None


class _TermTable(dict[str, str | None]):
    """word ↦ term, filled as words are met."""

    def __init__(self, analysis: TextAnalysis) -> None:
        super().__init__()
        self._analysis = analysis
        # Entries such as "don't" are cut as the text is, so that their pieces are met.
        self._dropped = {
            piece for entry in analysis._stop_words() for piece in analysis._cut(entry)
        }
        self._stem: Callable[[str], str] | None = None
        if (name := analysis._stemmer_name()) is not None:
            import Stemmer

            # Its own cache would be a second copy of this table.
            self._stem = Stemmer.Stemmer(name, 0).stemWord

    def __missing__(self, word: str) -> str | None:
        if len(self) >= REMEMBERED:
            self.clear()
        term = self[word] = self._decide(word)
        return term

    def _decide(self, word: str) -> str | None:
        if word in self._dropped:
            return None
        if not word.isascii() and (emoji := emoji_term(word)):
            return emoji
        if len(word) < self._analysis.min_letters and not is_spaceless(word):
            return None
        if not (self._analysis.numbers or any(map(str.isalpha, word))):
            return None
        return self._stem(word) if self._stem else word


_term_table = lru_cache(maxsize=8)(_TermTable)


def _blocks(text: str) -> Iterator[str]:
    """Cut a long text at white space, which no word contains."""
    start = 0
    while len(text) - start > BLOCK:
        space = _SPACE.search(text, start + BLOCK)
        if space is None:
            break
        yield text[start : space.start()]
        start = space.start()
    yield text[start:] if start else text


def _pieces(word: str) -> Iterator[str]:
    """Split a run of letters into spaced words and, for scripts without spaces, pairs."""
    for match in _SPACELESS_OR_NOT.finditer(word):
        run = match[0]
        if match[1] is None or len(run) < 3:
            yield run
        else:
            for i in range(len(run) - 1):
                yield run[i : i + 2]


@lru_cache(maxsize=1)
def _word_pattern() -> re.Pattern[str]:
    r"""Runs of letters, digits and the marks that belong to them.

    Python's \w has no combining marks, so it would cut Hindi or Tamil in the middle of syllables.
    U+200C and U+200D join letters inside Persian and Indic words. Marks beyond the basic plane are
    left out: with them, re tests ranges one by one and takes ten times as long.
    """
    marks = "".join(chr(i) for i in range(0x300, 0x10000) if unicodedata.category(chr(i))[0] == "M")
    return re.compile(rf"[^\W_]+(?:[\u200c\u200d{marks}]+[^\W_]*)*")


@lru_cache(maxsize=1)
def word_pattern() -> re.Pattern[str]:
    """Apart from the other, which is faster: few texts have emoji."""
    return re.compile(f"{EMOJI_PATTERN}|{_word_pattern().pattern}")


_SPACE = re.compile(r"\s")
_ASCII = {i: chr(i) if chr(i).isalnum() else " " for i in range(128)}
_ASCII_LOWER = {i: char.lower() for i, char in _ASCII.items()}
SPACELESS_SCRIPTS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17dd\u3005-\u3007\u3041-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
"""Ranges of Han, kana, Thai, Lao, Burmese and Khmer. Hangul has spaces."""
_SPACELESS = re.compile(f"[{SPACELESS_SCRIPTS}]")
_RARE = re.compile(f"[{SPACELESS_SCRIPTS}{EMOJI_SIGNS}]")
_EMOJI_SIGN = re.compile(f"[{EMOJI_SIGNS}]")
_SPACELESS_OR_NOT = re.compile(f"([{SPACELESS_SCRIPTS}]+)|[^{SPACELESS_SCRIPTS}]+")
