"""What is left on the disk when a command is killed, its disk fills, another writes, clocks jump?

    python benchmarks/faults.py [--kills 200] [--seed 0]

Every command that writes runs again and again over a good model, in a child that is forked from
here, which spares it the imports, and is killed by SIGKILL at a random moment of the time it takes.
After each kill the model must load, its checksums must fit, and it must be the old one or the new
one. Then the same command runs to its end: what it makes must have the bits of a run that nobody
stopped, and nothing may lie about. Fit has both phases and writes its checkpoint after every
update. Then come full disks (a limit on the size of files), two writers at once, and clocks that
jump. Ends with code 1 if anything was torn, lost or different.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import click
import numpy as np
import torch

import docboltz.training.run
from docboltz import TextModel
from docboltz.cli.app import Commands, main
from docboltz.errors import DocboltzError
from docboltz.experiments.record import read_records
from docboltz.fitting import checkpoint_folder
from docboltz.storage import MODEL

SMALL = ["--quiet", "--min-df", "1", "--units", "4"]
THEMES = ["goal match league team", "flour butter oven bread", "rocket orbit moon launch"]


@dataclass
class Writer:
    """A command that writes, and what it has written."""

    name: str
    arguments: Callable[[Path], list[str]]
    """Of the folder it works in."""
    made: Callable[[Path], str]
    """What tells its results from others; an error if they are torn."""
    again: int = 0
    """Exit code of the same command when it has done all it should."""
    reference: str = ""
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[str] = field(default_factory=list)


def texts(seed: int, n: int = 60) -> str:
    """Lines of JSON: documents of three themes."""
    rng = random.Random(seed)
    rows = []
    for i in range(n):
        own, rare = THEMES[i % 3].split(), f"word{rng.randrange(40)}"
        words = [*rng.choices(own, k=8), rare]
        rows.append({"id": str(i), "text": " ".join(words), "label": own[0]})
    return "".join(json.dumps(row) + "\n" for row in rows)


def prepare(folder: Path) -> None:
    """A good model, documents, and features and results of before."""
    (folder / "old.jsonl").write_text(texts(0))
    (folder / "new.jsonl").write_text(texts(1))
    old, model = str(folder / "old.jsonl"), str(folder / "model")
    run(["fit", old, "--out", model, "--updates", "5", *SMALL])
    run(["topics", model])


# ---- what was made ----


def of_model(folder: Path) -> str:
    """The bits of the model; topics and search answer, or say that they are another model's."""
    model = TextModel.open(folder / "model")
    model.estimator.transform(model.count(["goal match"]).counts)
    opened = MODEL.open(folder / "model", math.inf)
    try:
        model.store.verify()
        assert len(model.search("goal match league", 3)) == 3
        model.topics()
    except DocboltzError as error:
        if "another model" not in str(error):
            raise
    return opened.files["parameters.safetensors"].sha256


def of_store(folder: Path) -> str:
    """What the collection holds and answers; files may hold it in another order."""
    of_model(folder)
    model = TextModel.open(folder / "model")
    store = model.store
    store.verify()
    found = hashlib.sha256(np.asarray(store.features).tobytes())
    found.update(store.presence().indices.tobytes())
    asked = [f"word{i}" for i in range(40)] + THEMES
    hits = [[(hit.id, hit.score) for hit in each] for each in model.search_many(asked, 100)]
    found.update(repr([store.documents(range(len(store))), hits]).encode())
    return found.hexdigest()


def of_features(folder: Path) -> str:
    """The bits of the file, or nothing where there is none yet."""
    of_model(folder)
    file = folder / "features.parquet"
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "none"


def of_records(folder: Path) -> str:
    """The figures of the trials that are done, without times."""
    of_model(folder)
    found = read_records(folder / "compare")
    figures = {
        name: (r.halves_found, r.mean_average_precision, r.topics and r.topics.coherence)
        for name, r in sorted(found.items())
    }
    return json.dumps(figures, default=str)


def writers() -> list[Writer]:
    """All commands that write over something good."""

    def with_files(*arguments: str) -> Callable[[Path], list[str]]:
        return lambda folder: [a.replace("@", f"{folder}/") for a in arguments]

    found = [
        Writer("fit", with_files("fit", "@new.jsonl", "--out", "@model", "--replace", "--recipe",
                                 "density", "--updates", "6", *SMALL), of_model),
        Writer("index", with_files("index", "@model", "@new.jsonl", "--quiet"), of_store),
        Writer("transform", with_files("transform", "@model", "@new.jsonl", "--quiet", "--out",
                                       "@features.parquet", "--replace"), of_features),
        Writer("compare", with_files("compare", "@new.jsonl", "--out", "@compare", "--models",
                                     "lsi,tfidf", *SMALL), of_records),
    ]  # fmt: skip
    more = with_files("index", "@model", "@new.jsonl", "--append", "--quiet")
    less = with_files("delete", "@model", "3", "7", "59", "--quiet")
    # What is gone already cannot be deleted again, which it says.
    return [*found, Writer("append", more, of_store), Writer("delete", less, of_store, again=2)]


# ---- children ----


def child(arguments: list[str], before: Callable[[], None] | None = None) -> int:
    """Fork a process that runs the command as a shell would; give its number."""
    sys.stdout.flush()
    pid = os.fork()
    if pid:
        return pid
    code = 70
    try:
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        docboltz.training.run.SAVE_SECONDS = 0.0  # a checkpoint after every update
        if before is not None:
            before()
        sys.argv = ["docboltz", *arguments]
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 70
    finally:
        os._exit(code)


def run(arguments: list[str], before: Callable[[], None] | None = None) -> int:
    """Run a command to its end and give its exit code."""
    return os.waitstatus_to_exitcode(os.waitpid(child(arguments, before), 0)[1])


def leftovers(folder: Path) -> list[str]:
    """Drafts and builds that nobody uses: there must be none after a run that ended."""
    bundles = [folder / "model", *(folder / "model" / part for part in ("search", "topics"))]
    left = [str(b) for each in bundles for b in sorted(each.glob("build-*"))[1:]]
    return (
        left
        + [str(checkpoint_folder(folder / "model"))] * checkpoint_folder(folder / "model").exists()
    )


# ---- faults ----


def kill_once(writer: Writer, good: Path, rng: random.Random) -> None:
    """One kill, and what is left of it."""
    with tempfile.TemporaryDirectory(prefix="docboltz-faults-") as place:
        folder = Path(place) / "work"
        shutil.copytree(good, folder)
        arguments, before = writer.arguments(folder), writer.made(folder)
        pid = child(arguments)
        time.sleep(rng.random() * writer.seconds * 1.1)
        os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        found = writer.made(folder)
        if writer.name != "compare" and found not in (before, writer.reference):
            raise AssertionError("neither the old one nor the new one")
        state = (
            "ended before" if code == 0 else "new one" if found == writer.reference else "old one"
        )
        resumed = checkpoint_folder(folder / "model").exists()
        done = found == writer.reference
        again = run(arguments)
        if again != (writer.again if done else 0):
            raise AssertionError(f"the same command ends with code {again} afterwards")
        if writer.made(folder) != writer.reference:
            raise AssertionError("the run that went on has other bits")
        if left := leftovers(folder):
            raise AssertionError(f"left behind: {left}")
        writer.outcomes[state + (", from a checkpoint" if resumed else "")] += 1


def full_disk(writer: Writer, good: Path, rng: random.Random) -> None:
    """A limit on the size of files, where the system says that there is no room."""
    with tempfile.TemporaryDirectory(prefix="docboltz-faults-") as place:
        folder = Path(place) / "work"
        shutil.copytree(good, folder)
        before, limit = writer.made(folder), int(10 ** rng.uniform(1, 5))

        def fill() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

        code, found = run(writer.arguments(folder), fill), writer.made(folder)
        if code not in (0, 2) or (
            writer.name != "compare" and found not in (before, writer.reference)
        ):
            raise AssertionError(f"code {code} with files of at most {limit} bytes")
        writer.outcomes["disk full, refused" if code else "disk full enough"] += 1


def two_at_once(writer: Writer, good: Path, rng: random.Random) -> None:
    """The same command twice: both end, and what is there is one of theirs."""
    with tempfile.TemporaryDirectory(prefix="docboltz-faults-") as place:
        folder = Path(place) / "work"
        shutil.copytree(good, folder)
        first = child(writer.arguments(folder))
        time.sleep(rng.random() * writer.seconds)
        second = child(writer.arguments(folder))
        codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in (first, second)]
        if not set(codes) <= {0, 2} or (writer.made(folder) != writer.reference and 0 in codes):
            raise AssertionError(f"two writers ended with codes {codes}")
        writer.outcomes[f"two writers, {codes.count(0)} wrote"] += 1


def jumping_clock(writer: Writer, good: Path, rng: random.Random) -> None:
    """Clocks that leap years to and fro: the results are the same."""
    with tempfile.TemporaryDirectory(prefix="docboltz-faults-") as place:
        folder = Path(place) / "work"
        shutil.copytree(good, folder)

        def leap() -> None:
            for name in ("time", "monotonic"):
                real = getattr(time, name)
                setattr(time, name, lambda real=real: real() + rng.uniform(-1e8, 1e8))

        code = run(writer.arguments(folder), leap)
        if code != 0 or writer.made(folder) != writer.reference:
            raise AssertionError(f"a clock that jumps made another result, code {code}")
        writer.outcomes["clock jumped"] += 1


def measure(writer: Writer, good: Path) -> None:
    """How long it takes, and what it makes, if nobody stops it."""
    with tempfile.TemporaryDirectory(prefix="docboltz-faults-") as place:
        folder = Path(place) / "work"
        shutil.copytree(good, folder)
        begin = time.perf_counter()
        code = run(writer.arguments(folder))
        writer.seconds = time.perf_counter() - begin
        if code != 0:
            raise SystemExit(f"{writer.name} ends with code {code} even if nobody stops it")
        writer.reference = writer.made(folder)


@click.command()
@click.option("--kills", default=200, help="Over all commands.")
@click.option(
    "--others", default=10, help="Full disks, double writers and clocks, of each command."
)
@click.option("--seed", default=0)
def faults(kills: int, others: int, seed: int) -> None:
    """Kill, fill, collide and jump; print what came of it."""
    torch.set_num_threads(1)
    rng = random.Random(seed)
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="docboltz-faults-") as place:
        good = Path(place)
        prepare(good)
        all_of = writers()
        for writer in all_of:
            measure(writer, good)
        ways = [kill_once] * (kills // len(all_of))
        ways += [way for way in (full_disk, two_at_once, jumping_clock) for _ in range(others)]
        for number, way in enumerate(ways, 1):
            if number % 10 == 0:
                print(f"{number} of {len(ways)} rounds", file=sys.stderr, flush=True)
            for writer in all_of:
                try:
                    way(writer, good, rng)
                except Exception as error:  # whatever it is, it is what we look for
                    last = traceback.extract_tb(error.__traceback__)[-1]
                    writer.faults.append(f"{way.__name__}: {error!r} ({last.name})")
    for writer in all_of:
        print(f"{writer.name}: {writer.seconds:.2f} s undisturbed")
        for outcome, n in sorted(writer.outcomes.items()):
            print(f"  {n:4d}  {outcome}")
        for fault in writer.faults:
            print(f"  FAULT {fault}")
    n = sum(len(writer.faults) for writer in all_of)
    done = sum(sum(writer.outcomes.values()) for writer in all_of) + n
    print(f"{done} faults in {time.perf_counter() - begin:.0f} s: {n} torn, lost or different")
    sys.exit(1 if n else 0)


if __name__ == "__main__":
    assert Commands  # the commands a child runs are imported here, once
    faults()
