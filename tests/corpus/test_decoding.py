import io

import pytest

from docboltz.corpus.decoding import Decoder, decoded_lines, detect, looks_binary
from docboltz.corpus.report import ReadReport

SENTENCES = {
    "cp1252": "Die Häuser der Straße sind größer; l'été à Paris était très agréable, déjà vu.",
    "cp1250": "Zażółć gęślą jaźń. Źle się dzieje w państwie duńskim. Człowiek człowiekowi wilkiem.",
    "cp1251": "Книги были интересными, но дорогими. Сегодня хорошая погода.",
    "koi8_r": "Книги были интересными, но дорогими. Сегодня хорошая погода.",
    "cp1253": "Η φυσική γλώσσα είναι πολύ ενδιαφέρουσα και ωραία.",
    "cp1255": "השפה העברית יפה מאוד והיום מזג האוויר נעים",
    "cp1256": "اللغة العربية جميلة جدا والطقس اليوم لطيف",
    "shift_jis": "自然言語処理はとても面白いです。今日は天気がいいですね。",
    "euc_jp": "自然言語処理はとても面白いです。今日は天気がいいですね。",
    "gb18030": "自然语言处理非常有趣。今天天气很好，我们去公园。",
    "big5": "自然語言處理非常有趣。今天天氣很好，我們去公園。",
    "euc_kr": "오늘은 날씨가 좋습니다. 자연어 처리는 재미있습니다.",
}


@pytest.mark.parametrize("encoding", SENTENCES)
def test_encodings_are_detected(encoding):
    text = SENTENCES[encoding] * 3
    report = ReadReport()
    assert Decoder(report, None).decode(text.encode(encoding)) == text
    assert report.encodings == {encoding: 1}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_encodings_need_no_guess(encoding):
    assert Decoder(ReadReport(), None).decode("Größe\n".encode(encoding)) == "Größe\n"


def test_a_single_odd_letter_is_western():
    assert detect("a caf\xe9 in town".encode("latin-1")) == "cp1252"


def test_what_is_not_text_has_no_encoding():
    junk = bytes(range(256)) * 4
    assert looks_binary(junk)
    assert detect(junk) is None
    assert Decoder(ReadReport(), None).decode(junk) is None


def test_a_stray_nul_is_forgiven():
    text = "a \0 in a text of some length, as broken exports have them" + " and so on" * 10
    assert Decoder(ReadReport(), None).decode(text.encode()) == text


def test_a_named_encoding_is_taken_at_its_word():
    assert Decoder(ReadReport(), "latin-1").decode(b"\xe4\xf6") == "äö"
    assert Decoder(ReadReport(), "utf-8").decode(b"\xe4\xf6") is None


def lines(data, encoding=None):
    stream = io.BufferedReader(io.BytesIO(data))
    return list(decoded_lines(stream, Decoder(ReadReport(), encoding, data)))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_lines_of_every_encoding(encoding):
    assert lines("Größe\r\n\nStraße".encode(encoding)) == ["Größe", "", "Straße"]


def test_wide_encodings_by_name():
    assert lines("a\nb\n".encode("utf-16-le"), "utf-16-le") == ["a", "b"]


def test_one_bad_line_does_not_spoil_the_others():
    assert lines(b"good\nb\x00d\x01\x02\n caf\xe9\nlast") == ["good", None, " café", "last"]
