import base64
import gzip

import numpy as np
import pytest

from docboltz.explorer.archive import KINDS, pack, unpack


def test_gives_back_what_was_packed():
    content = {"text": "</script>\u2028 東京 \x00", "n": [1.5, None]}
    arrays = {kind: np.arange(6, dtype=kind).reshape(2, 3) for kind in sorted(KINDS)}
    arrays["none"] = np.empty(0, np.float32)
    found, back = unpack(pack(content, arrays))
    assert found == content
    assert list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array.reshape(-1))


def test_the_same_content_gives_the_same_bytes():
    assert pack([1], {"x": np.ones(3, ">f4")}) == pack([1], {"x": np.ones(3, "<f4")})


def test_bytes_of_the_same_rank_stand_together():
    whole = gzip.decompress(base64.b64decode(pack(0, {"x": np.array([1, 2, 3], np.uint16)})))
    assert whole.endswith(bytes([1, 2, 3, 0, 0, 0]))


def test_refuses_numbers_that_a_browser_cannot_read():
    with pytest.raises(TypeError, match="int64"):
        pack({}, {"x": np.arange(3)})
    with pytest.raises(ValueError, match="JSON"):
        pack({"x": float("nan")}, {})
