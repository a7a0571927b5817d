"""Text → words → terms: how to cut a text, which words to drop, how to stem the others."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, Self

from docboltz.errors import InvalidParameter, require, shown
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
_EMOJI = re.compile(EMOJI_PATTERN)
EMOJI_SIGNS = "\u203c\u2049\u20e3\u2139-\u2bff\ufe0f\U0001f004-\U0001faff"
"""One of these is in every emoji."""


def emoji_term(word: str) -> str | None:
    """What an emoji is counted as, None if the word is none: U+FE0F often is left out.

    >>> emoji_term("❤\\ufe0f"), emoji_term("heart")
    ('❤', None)
    """
    return word.replace("\ufe0f", "") if _EMOJI.fullmatch(word) else None


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
    found = {code: language for language, code in CODES.items()}.get(lowered, lowered)
    expected = f"one of {', '.join(sorted(CODES))}, a two-letter code, or none"
    require(found in CODES, "TextAnalysis", "language", expected, name)
    return found


@lru_cache(maxsize=1)
def stemmer_names() -> tuple[str, ...]:
    """Return every stemmer that PyStemmer has, "porter" included."""
    import Stemmer

    return tuple(Stemmer.algorithms())


@lru_cache(maxsize=16)
def stop_word_list(language: str | None, source: str | None = None) -> frozenset[str]:
    """Return the stop words of a language: from `source` if given, else from the default list."""
    expected = f"True, False, a tuple of words or one of {', '.join(STOP_WORD_LISTS)}"
    require(source in (None, *STOP_WORD_LISTS), "TextAnalysis", "stop_words", expected, source)
    if language is None:
        raise InvalidParameter(f"Stop words from {source!r} need a language, and there is none.")
    if source == "scikit-learn":
        if language == "english":
            return ENGLISH_STOP_WORDS
        raise InvalidParameter(
            f"scikit-learn has English stop words only, and the language is {language}.",
            hint="Set {stop_words=True}.",
            settings=("stop_words=True",),
        )
    import stopwordsiso

    words: set[str] = stopwordsiso.stopwords(CODES[language])
    if source is None and language == "english":
        return ENGLISH_STOP_WORDS.union(word for word in words if "'" in word)
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
        self.n_texts = 0
        """Texts that were looked at; more than `TEXTS` are not."""
        self._words: Counter[str] = Counter()
        self._scripts: Counter[str] = Counter()

    def add(self, text: str) -> None:
        """Look at a text, unless enough have been seen."""
        if self.n_texts >= TEXTS:
            return
        self.n_texts += 1
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
        languages_of, hits = _languages_of_stop_words(), Counter[str]()
        for word, n in self._words.items():
            hits.update(dict.fromkeys(languages_of.get(word, ()), n))
        n_words = self._words.total()
        (language, most), (_, next_most) = [*hits.most_common(2), ("", 0), ("", 0)][:2]
        least = max(LEAST_SHARE * n_words, LEAST_LEAD * next_most)
        sure = n_words >= FEWEST_WORDS and most >= least
        return (language, most / n_words) if sure else None


@lru_cache(maxsize=1)
def _languages_of_stop_words() -> dict[str, list[str]]:
    import stopwordsiso

    languages_of: dict[str, list[str]] = {}
    for language in (name for name, code in CODES.items() if stopwordsiso.has_lang(code)):
        for word in set(_WORD.findall(" ".join(stop_word_list(language)).lower())):
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
    Words without a letter are dropped unless `numbers` is set, links and data unless `links` is. An
    emoji is a word.

    Chinese, Japanese, Thai, Lao, Khmer and Burmese do not put spaces between words. Runs of these
    scripts become overlapping pairs of characters, a crude but usual choice in retrieval. Where
    real words matter, use a `function`, or segment the text first and use `pretokenised=True`.

    Inside a scikit-learn pipeline use scikit-learn's own class:
    `CountVectorizer(analyzer=TextAnalysis(language="german"))`.

    >>> TextAnalysis().tokens("The houses' 3 cats don't run 2nd: see http://cats.org/a?b=1.")
    ['hous', 'cat', 'run', '2nd']
    >>> TextAnalysis(pretokenised=True).tokens("17 4 4 The")
    ['17', '4', '4', 'The']
    >>> TextAnalysis(function=lambda text: text.lower().split(", ")).tokens("Cats, Dogs")
    ['cats', 'dogs']
    """

    language: str | None = "english"
    """Chooses stop words and stemmer: a name or an ISO 639-1 code. None: neither."""
    stop_words: bool | str | tuple[str, ...] = True
    """True: the language's list. Or the list's name ("scikit-learn", "stopwords-iso"), or exactly
    these words."""
    stem: bool | str = True
    """True: the language's Snowball stemmer. Or a stemmer's name, such as "porter"."""
    lowercase: bool = True
    """Lower-case the text first; Turkish dotless and dotted i are kept apart."""
    min_letters: int = 2
    """Shorter words are dropped, counted in characters before stemming (pairs of characters of
    scripts without spaces and emoji are exempt)."""
    numbers: bool = False
    """Keep words without any letter."""
    links: bool = False
    """Keep the words in URLs and e-mail addresses, hash values (16 hexadecimal digits or more) and
    encoded data (base64 or uuencode: lines of 40 characters or more, and data: URLs)."""
    pretokenised: bool = False
    """The text is terms separated by white space: split it, do nothing else."""
    ngrams: int = 1
    """2: pairs of neighbours among the terms of a text are terms too, such as "new york"."""
    function: Callable[[str], Iterable[str]] | str | None = None
    """A function of your own that gives the terms of a text, all of which count as they are; white
    space in one becomes "_". Settings other than `ngrams` do nothing then. A saved model holds its
    name only, `module:function`: see `TextModel.open`."""

    def __post_init__(self) -> None:
        flags = ("lowercase", "numbers", "links", "pretokenised")
        words, function = self.stop_words, self.function
        listed = isinstance(words, (bool, str)) or (
            isinstance(words, tuple) and all(isinstance(word, str) for word in words)
        )
        whole = type(self.min_letters) is int and 1 <= self.min_letters <= 100
        for ok, name, expected in (
            (isinstance(self.language, str | None), "language", "None or a name"),
            (listed, "stop_words", "a bool, a name or a tuple of words"),
            (isinstance(self.stem, bool | str), "stem", "a bool or the name of a stemmer"),
            (whole, "min_letters", "a whole number, 1 to 100"),
            (type(self.ngrams) is int and self.ngrams in (1, 2), "ngrams", "1 or 2"),
            (isinstance(function, str | None) or callable(function), "function", "a function"),
            *((isinstance(getattr(self, flag), bool), flag, "True or False") for flag in flags),
        ):
            require(ok, "TextAnalysis", name, expected, getattr(self, name))
        if self.language is not None:
            object.__setattr__(self, "language", language_name(self.language))
        if function is not None:
            object.__setattr__(self, "pretokenised", True)
        if not self.pretokenised:
            self._stop_words()
            self._stemmer_name()

    @classmethod
    def of(
        cls,
        analysis: Any = None,
        owner: str = "TextModel.fit",
        *,
        language: str | None = "english",
        stop_words: bool | str | Iterable[str] = True,
        ngrams: int = 1,
    ) -> TextAnalysis:
        """What `owner` was given: an analysis, a function from a text to its words, or settings.

        Stop words that are listed are dropped beside those of the language.
        """
        if analysis is None and isinstance(stop_words, bool | str):
            return cls(language, stop_words, ngrams=ngrams)
        if analysis is None and not isinstance(stop_words, bool):
            return cls(language, ngrams=ngrams).with_stop_words(stop_words)
        require(callable(analysis), owner, "analysis", "a TextAnalysis or a function", analysis)
        whole = isinstance(analysis, TextAnalysis)
        if (language, stop_words) != ("english", True) or (whole and ngrams != 1):
            raise InvalidParameter(
                "An analysis says itself what to do about language, stop words and pairs.",
                hint="Leave out {language}, {stop_words} and {ngrams}, or {analysis}.",
                settings=("language", "stop_words", "ngrams", "analysis"),
            )
        return analysis if whole else cls(None, function=analysis, ngrams=ngrams)

    @classmethod
    def from_dict(cls, saved: Any) -> Self:
        """The settings that were saved; models of before there was `links` have kept them."""
        return super().from_dict({"links": True, **saved} if isinstance(saved, Mapping) else saved)

    @classmethod
    def paper(cls) -> TextAnalysis:
        """The paper's preparation: English stop words and short words removed, Porter stems."""
        return cls(
            language="english", stop_words="scikit-learn", stem="porter", min_letters=3, links=True
        )

    def tokens(self, text: str) -> list[str]:
        """The terms of a text, in order, and then its pairs if they count."""
        term_of = self.term_of()
        found = (term_of(word) for words in self.words(text) for word in words)
        terms = [term for term in found if term is not None]
        return terms if self.ngrams == 1 else terms + list(map(pair_term, terms, terms[1:]))

    __call__ = tokens

    def words(self, text: str) -> Iterator[list[str]]:
        """Cut a text into words; a long one in blocks that end at white space."""
        if self.function is not None:
            yield self._call(text)
            return
        cut = str.split if self.pretokenised else self._cut
        if len(text) <= BLOCK:
            yield cut(text)
            return
        for match in _BLOCK.finditer(text):
            yield cut(match[0])

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
                "Stop words are not looked for in text that is pretokenised or cut by a function.",
                hint="Leave out {stop_words} or {pretokenised}.",
                settings=("stop_words", "pretokenised"),
            )
        return replace(self, stop_words=tuple(sorted(self._stop_words().union(words), key=str)))

    def with_function(self, function: Callable[[str], Iterable[str]]) -> TextAnalysis:
        """The same analysis with its function, of which a saved model holds the name only."""
        fits = self.function and callable(function) and not isinstance(function, TextAnalysis)
        expected = "a function, for a model that was made with one"
        require(fits, "docboltz.open", "analysis", expected, function)
        return replace(self, function=function)

    def to_dict(self) -> dict[str, Any]:
        """The settings as JSON can hold them, stop words spelled out.

        Lists of stop words change from one release of their package to the next, and a model must
        treat new text as it treated its training text. Of a function it is the name.
        """
        saved = asdict(replace(self.resolved(), function=None))
        return saved | {"function": None if self.function is None else _name_of(self.function)}

    def _call(self, text: str) -> list[str]:
        """The words that the function gives."""
        if self.function is None or isinstance(self.function, str):
            raise InvalidParameter(
                f"The model's words are found by the function {shown(self.function)}, which is not "
                "saved with it.",
                hint="Pass it in Python: docboltz.open(folder, analysis=function).",
            )
        words = self.function(text)
        no_list = isinstance(words, str) or not isinstance(words, Iterable)
        found = [] if no_list else list(words)
        if no_list or not all(isinstance(word, str) for word in found):
            wrong = next((word for word in found if not isinstance(word, str)), words)
            raise InvalidParameter(
                f"{_name_of(self.function)} must give a list of words, each a string; got "
                f"{type(wrong).__name__} {shown(wrong)}."
            )
        return ["_".join(word.split()) for word in found if word and not word.isspace()]

    def _cut(self, text: str) -> list[str]:
        if not self.links:
            text = without_links(text)
        if text.isascii():
            table = _ASCII_LOWER if self.lowercase else _ASCII
            return text.encode("ascii").translate(table).decode("ascii").split()
        text = unicodedata.normalize("NFKC", text)
        if self.lowercase and self.language == "turkish":
            text = text.replace("İ", "i").replace("I", "ı")
        text = text.lower() if self.lowercase else text
        if _RARE.search(text) is None:
            return _word_pattern().findall(text)
        has_emoji = _EMOJI_SIGN.search(text) is not None
        words = (word_pattern() if has_emoji else _word_pattern()).findall(text)
        return [piece for word in words for piece in _pieces(word)]

    def _stop_words(self) -> frozenset[str]:
        if isinstance(self.stop_words, tuple):
            return frozenset(self.stop_words)
        if self.stop_words is False or (self.stop_words is True and self.language is None):
            return frozenset()
        return stop_word_list(self.language, None if self.stop_words is True else self.stop_words)

    def _stemmer_name(self) -> str | None:
        name = self.language if self.stem is True else self.stem
        if name:
            expected = f"True, False or one of {', '.join(stemmer_names())}"
            hint: Any = {"hint": "Set {stem=False} to keep words as they are."}
            known = name in stemmer_names()
            require(known, "TextAnalysis", "stem", expected, name, **hint, settings=("stem=False",))
        return name or None


def _name_of(function: Any) -> str:
    """The name that a function is saved by, which is never looked up."""
    named = function if hasattr(function, "__qualname__") else type(function)
    return function if isinstance(function, str) else f"{named.__module__}:{named.__qualname__}"


def without_links(text: str) -> str:
    """Put spaces in the place of URLs, addresses and encoded data.

    The signs of each are looked for first, which takes next to no time where there are none.

    >>> without_links("Write to ann@sea.org, or see https://sea.org/ships?id=7 for more")
    'Write to            , or see                            for more'
    """
    if "@" in text:
        text = _blanked(text, _ADDRESS)
    if "www." in text or (":" in text and ("://" in text or ";base64," in text)):
        text = _blanked(text, _URL)
    if ("\n" in text and _ENCODED_LINE.search(text)) or (
        " " not in text[:ENCODED] and _ENCODED.match(text)
    ):
        text = _ENCODED.sub(_blank_data, _UUENCODED.sub(_blank_data, text))
    return text


def _blanked(text: str, pattern: re.Pattern[str]) -> str:
    """Put spaces in the place of what a pattern finds and of the name that it follows."""
    parts, end = list[str](), 0
    for match in pattern.finditer(text):
        before = text[end : match.start()].rstrip(_NAME)
        parts += before, " " * (match.end() - end - len(before))
        end = match.end()
    return "".join((*parts, text[end:]))


def _blank_data(match: re.Match[str]) -> str:
    """Encoded data have letters of both cases, digits and signs in turns; words go on for longer.

    So do paths and names of identifiers, in which small letters follow a capital one.
    """
    parts = _LETTERS.findall(match[0])
    words = sum(map(len, parts)) >= LEAST_LETTERS * len(parts)
    return match[0] if words else " " * len(match[0])


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
        how = self._analysis
        if word in self._dropped:
            return None
        if not word.isascii() and (emoji := emoji_term(word)):
            return emoji
        short = len(word) < how.min_letters and not is_spaceless(word)
        number = not (how.numbers or any(map(str.isalpha, word)))
        if short or number or not (how.links or _HASH.fullmatch(word) is None):
            return None
        return self._stem(word) if self._stem else word


_term_table = lru_cache(maxsize=8)(_TermTable)


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


ENCODED = 40
"""Characters without a space that may be encoded data."""
LEAST_LETTERS = 2.75
"""In a row, on average, among words without a space; encoded data have some two."""
_ADDRESS = re.compile(r"@(?:[\w-]+\.)+[\w-]+")
_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-%"
"""What the name before the @ of an address is made of, or before the :// of a URL."""
_ENCODED = re.compile(rf"[!-~]{{{ENCODED},}}")
_UUENCODED = re.compile(r"\nM[ -`]{60}$", re.M)
"""Lines of uuencode may have spaces; all but the last have 60 characters after the M."""
_ENCODED_LINE = re.compile(rf"\n(?:[!-~]{{{ENCODED}}}|M[ -`]{{60}}$)", re.M)
_LETTERS = re.compile("[A-Z]?[a-z]+|[A-Z]+")
_HASH = re.compile(r"(?=.*[0-9])(?=.*[a-fA-F])(?:0x)?[0-9a-fA-F]{16,}")
_BLOCK = re.compile(rf"(?s).{{{BLOCK}}}\S*|.+")
_ASCII = bytes(i if chr(i).isalnum() else 32 for i in range(128)) + bytes(128)
_ASCII_LOWER = _ASCII.lower()
"""Of bytes: to translate strings takes as long again where they are short."""
SPACELESS_SCRIPTS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ede\u1000-\u109f\u1780-\u17dd\u3005-\u3007\u3041-\u30ff"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af"
)
"""Ranges of Han, kana, Thai, Lao, Burmese and Khmer. Hangul has spaces."""
_SPACELESS = re.compile(f"[{SPACELESS_SCRIPTS}]")
_IN_URL = rf"""[^\s<>"{SPACELESS_SCRIPTS}\u3000-\u303f\uff00-\uffef]+"""
_URL = re.compile(rf"(?:://|www\.|data:[\w/.+;=-]{{0,100}};base64,){_IN_URL}")
_RARE = re.compile(f"[{SPACELESS_SCRIPTS}{EMOJI_SIGNS}]")
_EMOJI_SIGN = re.compile(f"[{EMOJI_SIGNS}]")
_SPACELESS_OR_NOT = re.compile(f"([{SPACELESS_SCRIPTS}]+)|[^{SPACELESS_SCRIPTS}]+")
