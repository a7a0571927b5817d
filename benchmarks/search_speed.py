"""How long searches, indexing and changes take in a large collection of short texts, in one run.

    python benchmarks/search_speed.py [--documents 1000000] [--repeat 30]

Documents have ten words, drawn by Zipf's law out of 500,000. The model is trained for a moment
only: its weights do not matter for the time. Only public functions are called, so that the program
measures other versions of docboltz, too: PYTHONPATH=OTHER/src python benchmarks/search_speed.py
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import docboltz
from docboltz import TextModel
from docboltz.errors import DocboltzError

N_WORDS = 500_000
LENGTH = 10
LETTERS = "bcdfghjklmnpqrstvwxz"


def spelt(number: int) -> str:
    """A word for a number: letters only, so that it is stemmed and counted as words are."""
    word = ""
    while number or len(word) < 4:
        number, digit = divmod(number, len(LETTERS))
        word += LETTERS[digit]
    return word


def texts(n: int, seed: int) -> Iterator[str]:
    """n documents of ten words."""
    rng, words = np.random.default_rng(seed), [spelt(k) for k in range(N_WORDS)]
    for _ in range(0, n, 10_000):
        drawn = (N_WORDS ** rng.random((10_000, LENGTH))).astype(np.int64) - 1
        yield from (" ".join(words[k] for k in row) for row in drawn.tolist())


def median_ms(call: Callable[[], object], repeat: int) -> tuple[float, float]:
    """Median and 95th percentile of the milliseconds of a call; the first is not counted."""
    times = []
    for _ in range(repeat + 1):
        begin = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[1:]), float(np.percentile(times[1:], 95))


def main() -> None:
    """Build, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=30)
    given = parser.parse_args()
    n, rng = given.documents, np.random.default_rng(1)
    print(f"docboltz {docboltz.__version__}, {Path(docboltz.__file__).parent}")
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        how = {"updates": 20, "language": None, "device": "cpu"}
        TextModel.fit(list(texts(20_000, 0)), folder=folder, **how)
        model = docboltz.open(folder)
        begin = time.perf_counter()
        model.index(texts(n, 0))
        took = time.perf_counter() - begin
        print(f"index and topics          {n / took:12,.0f} documents/s")
        files = [f for f in (folder / "search").rglob("*") if f.is_file()]
        for file in sorted(files):
            print(f"  {file.name:22s}  {file.stat().st_size / n:12.1f} bytes a document")
        print(f"  in all                  {sum(f.stat().st_size for f in files) / n:12.1f}")
        model = docboltz.open(folder)

        def query(low: float, high: float, length: int) -> Callable[[], object]:
            def ask() -> object:
                ranks = np.exp(rng.uniform(np.log(low), np.log(high), length)).astype(int)
                try:
                    return model.search(" ".join(spelt(k - 1) for k in ranks))
                except DocboltzError:
                    return None

            return ask

        for name, call in (
            ("two rare words", query(50_000, N_WORDS, 2)),
            ("two of middling frequency", query(100, 1000, 2)),
            ("two of the 20 commonest", query(1, 20, 2)),
            ("eight as in documents", query(1, N_WORDS, 8)),
        ):
            median, slow = median_ms(call, given.repeat)
            print(f"{name:26s}{median:12.2f} ms (95th percentile {slow:.2f})")
        for size in (1, 1000):
            new = list(texts(10_000, 2))[:size]
            begin = time.perf_counter()
            model.index(new, append=True)
            took = time.perf_counter() - begin
            print(f"append {size:5,d}              {size / took:12.1f} documents/s ({took:.2f} s)")


if __name__ == "__main__":
    main()
