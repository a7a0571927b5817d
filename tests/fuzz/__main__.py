"""Fuzz until the time is over, with another seed each round: python -m tests.fuzz MINUTES."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time

from tests.fuzz.runs import LONG


def main(minutes: float) -> int:
    """Run the tests here again and again; stop at the first that fails, which names its input."""
    end, rounds, executions = time.monotonic() + 60 * minutes, 0, 0
    while rounds == 0 or time.monotonic() < end:
        seed = secrets.randbelow(2**32)
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "tests/fuzz",
            f"--hypothesis-seed={seed}",
        ]
        command += ["-p", "no:cacheprovider", "-o", "faulthandler_timeout=300"]
        left = max(60.0, end - time.monotonic())
        try:
            done = subprocess.run(
                command,
                env={**os.environ, LONG: str(seed)},
                capture_output=True,
                text=True,
                timeout=left + 600 if rounds == 0 else left,
                check=False,
            )
        except subprocess.TimeoutExpired:
            break  # in the middle of a round
        rounds += 1
        executions += sum(map(int, re.findall(r"^(\d+) executions", done.stdout, re.MULTILINE)))
        print(f"round {rounds}, seed {seed}: {executions:,} executions so far", flush=True)
        if done.returncode:
            print(done.stdout[-20_000:], done.stderr[-5_000:], sep="\n")
            return 1
    print(f"{executions:,} executions in {rounds} whole rounds: no crash, no hang, no traceback")
    return 0


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0))
