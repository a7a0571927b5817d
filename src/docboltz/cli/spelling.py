"""How messages name what the command line has other words for."""

from __future__ import annotations

import re
from collections.abc import Iterable

from docboltz.errors import Spelling

CALLED = {
    "n_components": "units",
    "max_words": "words",
    "random_state": "seed",
    "share": "validation",
    "n": "top",
}
"""Options that are not named as the parameters of Python are."""
IN_ONE_OPTION = {
    "TextModel.merge_topics": "merge",
    "TextModel.split_topic": "split",
    "TextModel.rename_topic": "rename",
    "TextModel.hide_words": "hide",
    "TextModel.show_words": "show",
    "save": "out",
}
"""Verbs all of whose parameters are given to one option."""
RENAMED = {"--topics": "--units"}
"""Options by the names they had: who still types one is told the new name."""
VERB = "TextModel."
READ = re.compile(r"TextModel\.read\((\w+)=…\)")
"""What is said of documents when they are read; the command that reads others is index."""
QUOTES = "'\""


class OptionNames(Spelling):
    """The options of one command, in messages: `--min-df` where Python has `min_df`.

    >>> names = OptionNames(["min_df", "stem", "words"])
    >>> names.subject("count", "min_df"), names.setting("stem=False"), names.setting("max_words")
    ('--min-df', '--no-stem', '--words')
    >>> names.subject("FixedLatentWords", "m"), names.setting("TextModel.fit")
    ("The 'm' parameter of FixedLatentWords", "'docboltz fit'")
    >>> names.setting("TextModel.read(date=…)")
    "'docboltz index' with --date"
    """

    def __init__(self, parameters: Iterable[str]) -> None:
        self._parameters = set(parameters)

    def _option(self, name: str) -> str | None:
        called = CALLED.get(name, name)
        found = next((each for each in (called, name) if each in self._parameters), None)
        return None if found is None else found.replace("_", "-")

    def subject(self, owner: str, name: str) -> str:
        """The option, or the parameter where the command has no such option."""
        option = self._option(IN_ONE_OPTION.get(owner, name))
        return super().subject(owner, name) if option is None else f"--{option}"

    def setting(self, mention: str) -> str:
        """The option with its value, as it is typed."""
        if read := READ.fullmatch(mention):
            return f"'docboltz index' with --{read[1].replace('_', '-')}"
        if mention.startswith(VERB):
            return f"'docboltz {mention.removeprefix(VERB)}'"
        name, equals, value = mention.partition("=")
        option = self._option(name)
        if option is None:
            return mention
        if not equals or value == "True":
            return f"--{option}"
        return f"--no-{option}" if value == "False" else f"--{option} {value.strip(QUOTES)}"
