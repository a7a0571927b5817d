"""How long commands that only ask take from the shell, beside importing NumPy and SciPy alone.

    python benchmarks/shell.py [--repeat 15]

A model of a few thousand made-up texts is fitted first. Commands and the bare import alternate, so
that whatever else the machine does hits all alike; medians are printed, and their ratios. Modules
are compiled once, as `pip install` does, even where Python is told not to keep what it compiles.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

COMMAND = [sys.executable, "-c", "from docboltz.cli.app import main; main()"]
BARE = [sys.executable, "-c", "import numpy, scipy.sparse"]
ENVIRONMENT = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def seconds(command: list[str]) -> float:
    """Wall-clock time of a command that must succeed."""
    begin = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=ENVIRONMENT)
    return time.perf_counter() - begin


def main() -> None:
    """Fit, time, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=15)
    given = parser.parse_args()
    rng = random.Random(0)
    words = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(600)]
    with tempfile.TemporaryDirectory() as folder:
        corpus, model = Path(folder) / "texts.txt", Path(folder) / "model"
        lines = (" ".join(rng.choices(words, k=12)) for _ in range(5000))
        corpus.write_text("\n".join(lines), encoding="utf-8")
        fit = ["fit", str(corpus), "--out", str(model), "--updates", "50", "-q"]
        subprocess.run([*COMMAND, *fit], check=True, env=ENVIRONMENT)
        asked = {
            "search": ["search", str(model), f"{words[0]} {words[1]}"],
            "similar": ["similar", str(model), "42"],
            "words": ["words", str(model), words[0]],
            "topics": ["topics", str(model)],
        }
        commands = {"bare": BARE, **{name: [*COMMAND, *ask] for name, ask in asked.items()}}
        times: dict[str, list[float]] = {name: [] for name in commands}
        for round_ in range(given.repeat + 1):
            for name, command in commands.items():
                took = seconds(command)
                if round_:  # the first one warms the disk's cache
                    times[name].append(took)
        median = {name: statistics.median(took) for name, took in times.items()}
        print(f"import numpy, scipy.sparse   {median['bare']:.3f} s")
        for name in asked:
            ratio = median[name] / median["bare"]
            print(
                f"docboltz {name:<8}            {median[name]:.3f} s   {ratio:.2f} times the import"
            )


if __name__ == "__main__":
    main()
