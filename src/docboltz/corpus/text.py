"""Text → words → terms: how to cut a text, which words to drop, how to stem the others.

A *word* is what stands in the text; a *term* is what is counted. Cutting runs over every character
and is kept to a few C calls. What becomes of a word is decided once per distinct word and
remembered, so stop words and stems cost next to nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

from docboltz.corpus.emoji import EMOJI_PATTERN, EMOJI_SIGNS, emoji_term
from docboltz.corpus.languages import check_stemmer, check_stop_words, language_name, stop_word_list
from docboltz.errors import InvalidParameter, require
from docboltz.settings import SavedSettings

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
