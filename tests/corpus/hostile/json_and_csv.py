"""Lines of JSON and of CSV."""

from __future__ import annotations

import json

from .cases import add_file

# ---- JSON Lines ----

TEXTS_OF_OTHER_TYPES = ("500 objects", "an exponent", "NaN", "true", "an object as text")
"""Nobody would find them, but after a record with a text they are in its column."""

for name, (line, outcome) in {
    "500 lists": ('{"text": ' + "[" * 500 + '"deep"' + "]" * 500 + "}", 1),
    "100,000 lists": ("[" * 100_000, "nested too deeply"),
    "100,000 objects": ('{"a":' * 100_000, "nested too deeply"),
    "500 objects": ('{"text": ' + '{"a":' * 500 + "1" + "}" * 501, "no column"),
    "deep labels": ('{"text": "a", "label": ' + "[" * 700 + "1" + "]" * 700 + "}", 1),
    "deep id": ('{"text": "a", "id": ' + '{"a":' * 900 + "1" + "}" * 901, 1),
    "deep date": ('{"text": "a", "date": ' + "[" * 900 + "1" + "]" * 901, "not JSON"),
    "5,000 digits": ('{"text": ' + "9" * 5000 + "}", "not JSON"),
    "an exponent": ('{"text": 1e999999}', "no column"),
    "NaN": ('{"text": NaN}', "no column"),
    "infinity": ('{"text": "a", "id": -Infinity}', 1),
    "true": ('{"text": true}', "no column"),
    "null": ('{"text": null}', 1),
    "an array": ('["a", "b"]', "not a JSON object"),
    "a number": ("3", "not a JSON object"),
    "a string": ('"words"', 1),
    "nothing": ("{}", "no column"),
    "an empty name": ('{"": "words"}', 1),
    "a key twice": ('{"text": "a", "text": "b"}', 1),
    "half a character": ('{"text": "\\ud800", "id": "\\udfff"}', 1),
    "a NUL": ('{"text": "a\\u0000b", "label": "\\u0000"}', 1),
    "an escape": ('{"text": "\\u001b[31m", "id": "\\u001b]52;c;x\\u0007"}', 1),
    "raw controls": ('{"text": "a\tb\x01 and more of them"}', "not JSON"),
    "cut off": ('{"text": "wor', "not JSON"),
    "two in a line": ('{"text": "a"} {"text": "b"}', "not JSON"),
    "single quotes": ("{'text': 'a'}", "not JSON"),
    "a comment": ('{"text": "a"} // b', "not JSON"),
    "a comma": ('{"text": "a",}', "not JSON"),
    "long names": (json.dumps({"x" * 100_000: 1, "y" * 100_000: 2}), "no column"),
    "many names": (json.dumps({str(i): i for i in range(9999)}), "no column"),
    "a long id": (json.dumps({"text": "a", "id": "i" * 1_000_000}), 1),
    "many labels": (json.dumps({"text": "a", "label": list(range(9999))}), 1),
    "an object as text": ('{"text": {"a": 1}}', "no column"),
    "lists of objects": ('{"text": [{"a": [1]}, null, [2.5]]}', 1),
    "a date of another type": ('{"text": "a", "date": {"day": 1}}', 1),
    "a huge date": ('{"text": "a", "date": 1e300}', 1),
    "a mark before": ('\ufeff{"text": "a"}', 1),
    "spaces before": ("   \t" + '{"text": "a"}', 1),
    "a proto": ('{"__proto__": "a", "text": "b"}', 1),
}.items():
    add_file("JSON Lines", name, "a.jsonl", line.encode("utf-8", "surrogatepass") + b"\n", outcome)
    add_file(
        "JSON Lines",
        f"{name}, among others",
        "a.jsonl",
        b'{"text": "first"}\n' + line.encode("utf-8", "surrogatepass") + b"\n",
        2 if outcome == 1 or name in TEXTS_OF_OTHER_TYPES else 1,
    )
for name, data in {
    "an array": '[{"text": "a"}]',
    "an array over lines": '[\n{"text": "a"},\n{"text": "b"}\n]',
}.items():
    add_file("JSON Lines", f"{name} in all", "a.json", data, "one JSON array")


# ---- CSV ----

for name, (data, outcome, options) in {
    "an open quote": ('text\n"one\ntwo\nthree\n', "never closed", {}),
    "a quote in a field": ('text,n\n5" pipe,1\n', 1, {}),
    "a quote at the end": ('text\n"', "never closed", {}),
    "cut off in a quote": ('text,n\na,1\n"b and', 1, {}),
    "quotes": ("text\n" + '"' * 999 + "\n", "never closed", {}),
    "only delimiters": (",,,,\n,,,,\n", "no documents", {}),
    "names that are empty": (",,\na,b,c\n", "no column", {}),
    "the same name": ("text,text\na,b\n", 1, {}),
    "the same unused": ("text,n,n\na,1,2\n", 1, {}),
    "the same id": ("text,id,id\na,1,2\nb,1,3\n", 2, {}),
    "a long name": ("x" * 100_000 + ",y\na,b\n", "no column", {}),
    "a NUL in the header": ("te\0xt,b" + "b" * 500 + "\na,b\n", "no column", {}),
    "controls in the header": ("\x1b[31m,\x07x\na,b\n" + "c,d\n" * 30, "no column", {}),
    "more fields": ("text\na,b,c\n", "malformed", {}),
    "fewer fields": ("n,text\n1\n", "malformed", {}),
    "only a header": ("text,label\n", "no documents", {}),
    "no header": ("1,2\n", 1, {"header": False}),
    "no header, no lines": ("", "no documents", {"header": False}),
    "a field of 200 kB": ("text\n" + "w " * 100_000 + "\n", 1, {}),
    "a quoted field of 200 kB": ('text\n"' + "w\n" * 100_000 + '"\n', 1, {}),
    "100,000 columns": (
        ",".join(map(str, range(100_000))) + ",text\n" + "1," * 100_000 + "w\n",
        1,
        {},
    ),
    "two marks": ("\ufeff\ufefftext\na\n", 1, {}),
    "old line ends": ("text,n\ra,1\rb,2\r", 2, {}),
    "mixed line ends": ("text,n\ra,1\r\nb,2\nc,3\r", 3, {}),
    "delimiter of two": ("text\na\n", "delimiter' parameter", {"delimiter": ";;"}),
    "a quote as delimiter": ("text\na\n", "delimiter' parameter", {"delimiter": '"'}),
    "a line end as delimiter": ("text\na\n", "delimiter' parameter", {"delimiter": "\n"}),
    "no delimiter": ("text\na\n", "delimiter' parameter", {"delimiter": ""}),
    "a NUL as delimiter": (
        "text\0n\na\0b\n" + "c\0d\n",
        "",
        {"delimiter": "\0", "encoding": "utf-8"},
    ),
    "a space as delimiter": ("text n\na b\n", 1, {"delimiter": " "}),
    "a letter as delimiter": ("texteb\na\n", 1, {"delimiter": "e", "text": "t"}),
    "half a character as delimiter": ("text\na\n", 1, {"delimiter": "\ud800"}),
    "an emoji as delimiter": ("text😀n\na😀1\n", 1, {"delimiter": "😀"}),
    "a number as delimiter": ("text\na\n", "delimiter' parameter", {"delimiter": 3}),
    "an empty separator": (
        "text,label\na,b\n",
        "label_separator' parameter",
        {"label_separator": ""},
    ),
    "a column that is missing": ("text\na\n", "no text column", {"text": "\x1b[0m"}),
    "a column of no name": ("text\na\n", "no label column", {"label": ""}),
    "columns named by numbers": ("1,2\na,b\n", 1, {"text": "2"}),
    "no columns": ("text\na\n", 1, {"text": []}),
    "the text as label": (
        "text\na\n",
        1,
        {"text": "text", "label": "text", "id": "text", "date": "text"},
    ),
    "dates out of range": (
        "text,date\na,99999-99-99\nb,0000-00-00\nc,31/02/2013\nd,9999-12-31T23:59:59-14:00\n",
        4,
        {"date": "date"},
    ),
    "numbers as dates": (
        "text,date\na,1e400\nb,-1\nc," + "9" * 5000 + "\nd,NaN\ne,9999999999999\n",
        5,
        {"date": "date"},
    ),
    "mail dates of no day": (
        'text,date\na,"Mon, 99 Foo 9999 99:99:99 +9999"\nb,"Mon, 01 Jan 0001 00:00:00 +2359"\n',
        2,
        {"date": "date"},
    ),
    "zones out of range": (
        "text,date\na,0001-01-01T00:00:00+14:00\nb,2013-01-01T00:00:00+99:99\n",
        2,
        {"date": "date"},
    ),
    "digits of other scripts": ("text,date\na,٢٠١٣-٠٨-١١\nb,²⁰¹³\n", 2, {"date": "date"}),
    "undecodable": (b"text,n\n" + b"fine,1\n" * 9999 + b"\x00\x01\x02,2\n", 9999, {}),
    "all undecodable": (b"text,n\n" + b"a\xff\xfe,1\n" * 3, "undecodable", {"encoding": "ascii"}),
}.items():
    add_file("CSV", name, "a.csv", data, outcome, **options)
