import json
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest

from docboltz.corpus.analysis import TextAnalysis
from docboltz.corpus.counting import count
from docboltz.corpus.document import Document
from docboltz.explorer.single_file import PAGE
from docboltz.explorer.word_table import counted, cutting, word_table
from docboltz.search.words import index_analysis
from tests.explorer.file_answers import NODE, needs_node

TEXTS = [
    "The houses' 3 cats don't run 2nd, snake_case and 1993.",
    "Flights to New York: new YORK, New York's flights. York new",
    "Straße, STRASSE, naïve café; Ångström, Å and K are signs of their own.",
    "ＦＵＬＬ ｗｉｄｔｈ, ﬁne ligatures, ½ and x², ①",
    "Ο Οδυσσέας ΟΔΥΣΣΕΑΣ πήγε. Привет, мир! İstanbul'da IŞIK ılık",
    "東京都に住んでいる。私はTokyo東京が好き 中 x中y",
    "ภาษาไทยไม่มีช่องว่าง ကျွန်တော် ភាសាខ្មែរ ພາສາລາວ",
    "नमस्ते दुनिया, தமிழ் மொழி; می‌خواهم کتاب",
    "한국어 텍스트 שלום עולם مرحبا بالعالم",
    "I ❤️ pizza 🍕🍕 and 👩‍👩‍👧 👍🏽 🇩🇪 🏴󠁧󠁢󠁳󠁣󠁴󠁿 1️⃣ © ©️ ☎ ☎️",
    "\x1f a\x1cb\x85c\u2003d\ufeffe\u200bf\u180eg \u3000h",
    "𝕳𝖊𝖑𝖑𝖔 𐐀𐐨 a\U0001e8d0b 𠀀𠀁𠀂",
    "<script>alert(1)</script> \x1b[31m \u202eright to left",
    "",
    "   ",
]
ANALYSES = {
    "english": TextAnalysis(),
    "paper": TextAnalysis.paper(),
    "turkish": TextAnalysis(language="turkish"),
    "german, capitals": TextAnalysis(language="german", lowercase=False, stem=False),
    "numbers, one letter": TextAnalysis(language=None, min_letters=1, numbers=True),
    "pairs": TextAnalysis(ngrams=2),
    "pretokenised": TextAnalysis(pretokenised=True),
    "pretokenised pairs": TextAnalysis(pretokenised=True, ngrams=2),
    "own stop words": TextAnalysis(language=None, stop_words=("don't", "cats")),
}


def counted_by_browser(analysis, vocabulary, known, texts, folder):
    table = word_table(analysis, vocabulary, counted(analysis, known)[2])
    asked = {
        "cutting": cutting(analysis),
        "words": table.words,
        "spelt": table.spelt.tolist(),
        "columns": table.columns.tolist(),
        "pairs": table.pairs.reshape(-1).tolist(),
        "texts": texts,
    }
    (folder / "asked").write_text(json.dumps(asked))
    script = Path(__file__).with_name("count_words.mjs")
    command = list(map(str, [NODE, script, PAGE / "file" / "words.js", folder / "asked"]))
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return table, json.loads(done.stdout)


@needs_node
@pytest.mark.parametrize("analysis", ANALYSES.values(), ids=ANALYSES)
def test_the_browser_counts_what_python_counts(analysis, tmp_path):
    documents = [Document(str(i), text) for i, text in enumerate(TEXTS)]
    # Not all words: some must be unknown, and parts of pairs that are no words themselves.
    vocabulary = count(documents, analysis, max_words=60, max_df=2).vocabulary
    expected = count(documents, analysis, vocabulary=vocabulary).counts
    table, found = counted_by_browser(analysis, vocabulary, TEXTS, TEXTS, tmp_path)
    term_of = analysis.term_of()
    for i, (text, browser) in enumerate(zip(TEXTS, found, strict=True)):
        words = [word for block in analysis.words(text) for word in block]
        assert browser["cut"] == words
        row = expected[[i]]
        assert dict(zip(browser["columns"], browser["counts"], strict=True)) == dict(
            zip(row.indices.tolist(), row.data.tolist(), strict=True)
        )
        terms = {word: term_of(word) for word in words}
        assert browser["unknown"] == [
            word for word, term in terms.items() if term is not None and term not in vocabulary
        ]
        terms = list(table.number)
        assert [terms[term] for _, term in browser["searched"]] == index_analysis(analysis).tokens(
            text
        )


@needs_node
def test_every_character_separates_words_or_does_not_as_in_python(tmp_path):
    analysis = TextAnalysis(language=None, min_letters=1, numbers=True)
    # Characters that the browser's Unicode may know and Python's does not are left out.
    characters = [
        chr(i)
        for i in range(sys.maxunicode + 1)
        if unicodedata.category(chr(i)) not in ("Cn", "Cs", "Co")
    ]
    step = 500
    texts = [
        " ".join(f"a{char}b" for char in characters[i : i + step])
        for i in range(0, len(characters), step)
    ]
    vocabulary = count([Document("0", "a")], analysis).vocabulary
    _, found = counted_by_browser(analysis, vocabulary, ["a"], texts, tmp_path)
    for text, browser in zip(texts, found, strict=True):
        assert browser["cut"] == [word for block in analysis.words(text) for word in block]


def table_of(analysis, vocabulary, texts):
    """The table, and the term of each word in it."""
    table = word_table(analysis, vocabulary, counted(analysis, texts)[2])
    terms = [term for term, n in zip(table.number, table.spelt, strict=True) for _ in range(n)]
    return table, dict(zip(table.words, terms, strict=True))


def test_the_table_has_all_words_of_texts_and_vocabulary():
    documents = [Document("0", "Skaters skate. Skating!")]
    analysis = TextAnalysis()
    vocabulary = count(documents, analysis).vocabulary
    table, known = table_of(analysis, vocabulary, ["She skated, he danced 7 times, x."])
    assert known["skated"] == known["skate"] == "skate"
    assert known["skaters"] == "skater"
    assert {"danced", "7", "times", "x"} < set(known)  # which the model does not know
    columns = dict(zip(table.number, table.columns.tolist(), strict=True))
    assert columns["skate"] == vocabulary.column("skate")
    assert columns["7"] == -1
    assert not table.pairs.size


def test_of_each_term_the_word_that_was_met_first_is_shown():
    analysis = TextAnalysis()
    vocabulary = count([Document("0", "skate skating")], analysis).vocabulary
    table, _ = table_of(analysis, vocabulary, ["Skated here. Skates, skating."])
    begin = table.spelt[: table.number["skate"]].sum()
    assert table.words[begin] == "skated"


def test_the_table_has_forms_that_no_text_has():
    analysis = TextAnalysis()
    text = "goal team teams player cook cooking cooked"
    vocabulary = count([Document("0", text)], analysis).vocabulary
    _, known = table_of(analysis, vocabulary, [text])
    assert known["goals"] == "goal"
    assert known["teaming"] == "team"
    assert all(term == analysis.tokens(word)[0] for word, term in known.items())


def test_a_pair_is_known_by_its_terms():
    analysis = TextAnalysis(ngrams=2)
    vocabulary = count([Document("0", "new york new york")], analysis).vocabulary
    table, _ = table_of(analysis, vocabulary, ["york"])
    first, second = table.number["new"], table.number["york"]
    assert [first, second, vocabulary.column("new york")] in table.pairs.tolist()
