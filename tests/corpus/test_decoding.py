import gzip
import io

import pytest

from docboltz.corpus import decoding
from docboltz.corpus.decoding import (
    READ_ERRORS,
    Decoder,
    compression,
    decoded_lines,
    detect,
    looks_binary,
    unpacked,
)
from docboltz.corpus.report import ReadReport
from docboltz.errors import InvalidCorpus

from .packing import PACKERS, streamed_zst

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


def test_utf16_without_a_mark_is_told_to_name_its_order():
    with pytest.raises(InvalidCorpus, match="encoding=utf-16-le or encoding=utf-16-be"):
        lines("a\n".encode("utf-16-le"), "utf-16")


WAYS = {**PACKERS, "zst streamed": streamed_zst}


class TestUnpacking:
    """What ends too early says so; what does not end is taken piece by piece."""

    DATA = b"".join(b"%d lines\n" % (i * i) for i in range(20_000))

    @pytest.mark.parametrize("way", WAYS)
    def test_a_compression_is_known_by_its_first_bytes(self, way):
        assert compression(WAYS[way](b"text")) == f".{way[:3].strip()}"
        assert compression(b"BZhang wrote this") == compression(b"text") == ""

    @pytest.mark.parametrize("way", WAYS)
    def test_a_cut_file_is_never_read_to_a_good_end(self, way):
        pack, suffix = WAYS[way], f".{way[:3].strip()}"
        for packed in (pack(self.DATA), pack(self.DATA[:100]) + pack(self.DATA[100:])):
            stream = unpacked(io.BufferedReader(io.BytesIO(packed)), suffix)
            assert stream.read() == self.DATA
            first = len(pack(self.DATA[:100])) if len(packed) > len(pack(self.DATA)) else None
            for cut in {
                *range(0, len(packed), 997),
                *range(len(packed) - 12, len(packed)),
                1,
                2,
                3,
            }:
                if cut == first:
                    continue  # a whole file
                with pytest.raises(READ_ERRORS):
                    unpacked(io.BufferedReader(io.BytesIO(packed[:cut])), suffix).read()

    @pytest.mark.parametrize("way", WAYS)
    def test_padding_is_no_second_part_and_junk_is_none_either(self, way):
        packed = WAYS[way](b"text")
        if way in ("gz", "xz", "bz2"):
            padded = io.BufferedReader(io.BytesIO(packed + bytes(100_000)))
            assert unpacked(padded, f".{way}").read() == b"text"
        junk = io.BufferedReader(io.BytesIO(packed + b"junk and more"))
        with pytest.raises(READ_ERRORS):
            unpacked(junk, f".{way[:3].strip()}").read()


class TestLongLines:
    @pytest.fixture(autouse=True)
    def few_bytes(self, monkeypatch):
        monkeypatch.setattr(decoding, "LONGEST", 1000)

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32-le"])
    def test_a_line_without_end_is_an_error_that_names_it(self, encoding):
        named = encoding if encoding.endswith("le") else None
        data = ("short\n" + "a" * 2000 + "\nshort\n").encode(encoding)
        with pytest.raises(InvalidCorpus, match="The text, line 2, is longer than"):
            lines(data, named)

    def test_many_lines_are_not(self):
        assert lines(b"word\n" * 5000) == ["word"] * 5000

    def test_a_bomb_is_left_before_it_is_unpacked(self):
        packed = io.BytesIO(gzip.compress(bytes(1 << 20)) * 500)
        stream = unpacked(io.BufferedReader(packed), ".gz")
        with pytest.raises(InvalidCorpus, match="longer than"):
            list(decoded_lines(stream, Decoder(ReadReport(), "latin-1")))
        assert packed.tell() < len(packed.getvalue()) // 2
