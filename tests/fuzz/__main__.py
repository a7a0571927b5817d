"""Fuzz until the time is over, with another seed each round: python -m tests.fuzz MINUTES.

With --coverage, which needs the package of that name, the lines that were reached are counted.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import secrets
import signal
import subprocess
import sys
import time

from tests.fuzz.runs import LONG

PYTEST = ["pytest", "-q", "-x", "tests/fuzz", "-p", "no:cacheprovider"]
PYTEST += ["-o", "faulthandler_timeout=300"]
COVERED = ["coverage", "run", "--parallel-mode", "--source=docboltz", "-m"]


def main(minutes: float, *, coverage: bool) -> int:
    """Run the tests here again and again; stop at the first that fails, which names its input."""
    if coverage and importlib.util.find_spec("coverage") is None:
        print("--coverage needs a package: pip install coverage")
        return 2
    command = [sys.executable, "-m", *(COVERED if coverage else ()), *PYTEST]
    end, rounds, executions, code = time.monotonic() + 60 * minutes, 0, 0, 0
    while not code and (rounds == 0 or time.monotonic() < end):
        seed = secrets.randbelow(2**32)
        left = max(60.0, end - time.monotonic())
        try:
            done = subprocess.run(
                [*command, f"--hypothesis-seed={seed}"],
                env={**os.environ, LONG: str(seed)},
                capture_output=True,
                text=True,
                timeout=left + 600 if rounds == 0 else left,
                check=False,
            )
        except subprocess.TimeoutExpired:
            break  # in the middle of a round
        rounds, code = rounds + 1, done.returncode
        executions += sum(map(int, re.findall(r"^(\d+) executions", done.stdout, re.MULTILINE)))
        print(f"round {rounds}, seed {seed}: {executions:,} executions so far", flush=True)
        if code:
            print(done.stdout[-20_000:], ends(done.stderr), f"It {ending(code)}.", sep="\n")
    if not code:
        print(
            f"{executions:,} executions in {rounds} whole rounds: no crash, no hang, no traceback"
        )
    if coverage:
        report = [sys.executable, "-m", "coverage"]
        subprocess.run([*report, "combine", "--quiet"], check=False)
        subprocess.run([*report, "report", "--skip-covered"], check=False)
    return 1 if code else 0


def ends(text: str, most: int = 5_000) -> str:
    """The ends of a text: where a signal kills, the stack is at the beginning of what is said."""
    return text if len(text) <= 2 * most else f"{text[:most]}\n[...]\n{text[-most:]}"


def ending(code: int) -> str:
    """How a child ended that did not end well."""
    if code >= 0:
        return f"ended with code {code}"
    why = ", perhaps for its memory" if -code == signal.SIGKILL else ""
    return f"was killed by {signal.Signals(-code).name}{why}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="tests.fuzz", description=__doc__)
    parser.add_argument("minutes", type=float, nargs="?", default=60.0)
    parser.add_argument("--coverage", action="store_true")
    given = parser.parse_args()
    sys.exit(main(given.minutes, coverage=given.coverage))
