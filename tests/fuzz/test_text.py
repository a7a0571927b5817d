"""Any text in any language setting: words, and the same ones twice."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.errors import InvalidCorpus
from docboltz.search.places import PlaceFinder
from tests.fuzz.runs import examples, one_input

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
LANGUAGES = st.sampled_from(["english", "german", "french", "russian", "turkish", None])


@settings(max_examples=examples(60, 5000))
@given(text=TEXTS, language=LANGUAGES, stem=st.booleans(), pretokenised=st.booleans())
@example(text="İ" * 50, language="turkish", stem=True, pretokenised=False)
@example(text="a" * 10_000, language="english", stem=True, pretokenised=False)
@example(text="'" * 200, language="english", stem=True, pretokenised=False)
@example(text="\u0300" * 200, language=None, stem=False, pretokenised=True)
@one_input()
def test_any_text_is_counted_alike_every_time(
    text: str, language: str | None, stem: bool, pretokenised: bool
) -> None:
    known = language is not None
    analysis = TextAnalysis(language, known, stem=stem and known, pretokenised=pretokenised)
    documents = [Document("1", text), Document("2", f"{text} {text}")]
    try:
        found = [count(documents, analysis, min_df=1, max_df=1.0) for _ in range(2)]
    except InvalidCorpus:  # no word in it
        return
    assert found[0].vocabulary == found[1].vocabulary
    assert (found[0].counts != found[1].counts).nnz == 0
    terms = frozenset(found[0].vocabulary)
    for spans in PlaceFinder(analysis).find(text, terms).values():
        assert all(0 <= begin < end <= len(text) for begin, end in spans)
