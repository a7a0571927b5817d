"""The pages' own examples run in a folder that holds what they read."""

from __future__ import annotations

import csv
import io
import os
import random
from pathlib import Path

import pytest

# Tests start many processes: each would compile the package anew where its bytecode is not kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

collect_ignore = ["docs/docstrings.py"]  # it extends the tool that builds the site

PARTS = {
    "battery": (
        "the battery does not last a day",
        "battery empty after an hour of calls",
        "charging the battery takes all night",
        "the charger gets hot and the battery swells",
        "the battery lasts for a week, great battery",
    ),
    "screen": (
        "the screen is bright and sharp",
        "scratches on the glass of the screen",
        "screen flickers when the brightness is low",
        "colours on this display look pale",
        "a crack in the display after one fall",
    ),
    "delivery": (
        "the parcel came two weeks late",
        "delivery was quick and the box well packed",
        "the courier left the parcel in the rain",
        "wrong item in the box, shipping it back was slow",
        "arrived on time, friendly courier",
    ),
    "sound": (
        "the speaker crackles when music is loud",
        "clear sound and deep bass",
        "the microphone is too quiet for calls",
        "headphones with good bass but thin voices",
        "music stops when bluetooth loses the speaker",
    ),
}
GOOD = ("great", "lasts", "bright", "quick", "clear", "good", "time")


def reviews(n: int = 200) -> str:
    """A CSV of made-up reviews, two things said in each: nr, stars, date, body."""
    draw = random.Random(0)
    rows = io.StringIO()
    table = csv.writer(rows, lineterminator="\n")
    table.writerow(["nr", "stars", "date", "body"])
    for number in range(n):
        about = draw.choice(list(PARTS.values()))
        body = f"{draw.choice(about).capitalize()}. {draw.choice(about).capitalize()}."
        stars = 5 if any(word in body for word in GOOD) else 2
        table.writerow([number, stars, f"2026-{1 + number % 12:02d}-01", body])
    return rows.getvalue()


@pytest.fixture(autouse=True)
def _folder_of_the_page(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Give the doctests of a Markdown page the file that they read, and room for what they save."""
    if isinstance(request.node, pytest.DoctestItem) and request.node.path.suffix == ".md":
        (tmp_path / "reviews.csv").write_text(reviews(), encoding="utf-8")
        monkeypatch.chdir(tmp_path)
