"""The language that texts seem to be in, told by their commonest words.

Between a third and two thirds of the running words of a text are stop words of its language, and
few are of another. Languages without spaces between words, and Korean, are told by their script.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from docboltz.corpus.languages import CODES, stop_word_list

if TYPE_CHECKING:
    from docboltz.corpus.text import TextAnalysis

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
