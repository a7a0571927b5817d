"""Emoji as words: one sequence, however many characters it takes, is one word.

After Unicode Technical Standard #51: symbols that show as pictures count by themselves; those that
show as text by default (☎, ©, ▶) only where U+FE0F, a skin tone or a joiner makes them a picture.
"""

import re

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
