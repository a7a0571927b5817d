"""Folders with a manifest: whatever stops a save, or whoever wrote what is read. Models in them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.storage import (
    Arrays,
    Bundle,
    Fingerprint,
    digest,
    fingerprint,
    fingerprint_of,
    load_model,
    save_model,
)

THING = Bundle(
    noun="thing",
    format="docboltz-thing",
    version=3,
    manifest="thing.json",
    files=("one.bin", "two.bin"),
    remedy="Make it again.",
)


def save(folder: Path, name: str = "first", size: int = 100, kind: Bundle = THING) -> None:
    """Save a thing whose files hold its name."""
    with kind.saving(folder) as build:
        for file in kind.files:
            (build.path / file).write_bytes(name.encode() * size)
        build.publish({"name": name})


def name_of(folder: Path) -> str:
    """Read all of a thing and give its name."""
    opened = THING.open(folder, math.inf)
    for file in THING.files:
        assert opened.file(file).read_bytes().startswith(opened.content["name"].encode())
    return str(opened.content["name"])


def names(path: Path) -> set[str]:
    """All files and folders below `path`, but for locks."""
    return {str(file.relative_to(path)) for file in path.rglob("*") if file.name != ".lock"}


# ---- what stops a save ----


def test_a_save_replaces_what_was_there_and_nothing_else(tmp_path: Path) -> None:
    save(tmp_path)
    first = THING.open(tmp_path)
    (tmp_path / "build-mine").mkdir()  # not one of the bundle's
    before = names(tmp_path)
    save(tmp_path)
    assert THING.open(tmp_path).identity == first.identity
    save(tmp_path, "second")
    assert THING.open(tmp_path).identity != first.identity
    assert name_of(tmp_path) == "second"
    assert len(names(tmp_path)) == len(before)
    assert len(names(tmp_path) & before) == 2  # the manifest, and what is not the bundle's


@pytest.mark.parametrize("call", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failing_end_keeps_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    def fail(*_: object) -> None:
        raise error

    save(tmp_path)
    before = names(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        for folder in (tmp_path, tmp_path / "new"):
            with pytest.raises((InvalidParameter, KeyboardInterrupt)):
                save(folder, "second")
    assert names(tmp_path) == before
    assert name_of(tmp_path) == "first"


def test_an_interrupt_after_the_replacement_keeps_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def replace_and_fail(source: Path, target: Path) -> None:
        os.rename(source, target)
        raise KeyboardInterrupt

    save(tmp_path)
    before = names(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace_and_fail)
        with pytest.raises(KeyboardInterrupt):
            save(tmp_path, "second")
    assert name_of(tmp_path) == "second"
    assert len(names(tmp_path)) == len(before)


def run(code: str, *arguments: str) -> list[str]:
    """Lines that a program of its own prints; it may not complain."""
    command = [sys.executable, "-W", "error", "-c", code, *arguments]
    root = Path(__file__).parents[1]
    result = subprocess.run(command, cwd=root, check=False, capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout.splitlines()


KILLED = """
import os, sys
from pathlib import Path
from tests.test_storage import name_of, names, save
folder, count = Path(sys.argv[1]), [0]
def die_at(real, wanted):
    def call(*arguments, **options):
        count[0] += 1
        if count[0] == wanted:
            os._exit(9)
        return real(*arguments, **options)
    return call
for step in range(1, 100):
    save(folder)
    assert len(names(folder)) == 4
    child = os.fork()
    if not child:
        for name in ("mkdir", "open", "fsync", "replace", "unlink", "rmdir"):
            setattr(os, name, die_at(getattr(os, name), step))
        save(folder, "second")
        os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(code, name_of(folder))
    if code == 0:
        break
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no processes by fork")
def test_a_process_killed_at_any_step_leaves_a_whole_one(tmp_path: Path) -> None:
    """Dies at each system call of a save in turn; the next save sweeps up what it left."""
    *killed, last = run(KILLED, str(tmp_path))
    assert last == "0 second"
    assert len(killed) > 15
    assert killed == sorted(killed)  # first, …, first, second, …, second
    assert set(killed) == {"9 first", "9 second"}


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on the size of files")
def test_a_full_disk_is_reported_and_cleaned_up(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from docboltz.errors import InvalidParameter
from tests.test_storage import save
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    save(Path(sys.argv[1]), size=10_000)
except InvalidParameter as error:
    assert "cannot be written" in str(error), error
else:
    sys.exit("no error")
"""
    run(code, str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_an_error_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def half(folder: Path) -> None:
        with THING.saving(folder) as build:
            (build.path / "one.bin").write_bytes(b"half")
            raise ZeroDivisionError

    save(tmp_path)
    before = names(tmp_path)
    for folder in (tmp_path, tmp_path / "new"):
        with pytest.raises(ZeroDivisionError):
            half(folder)
    assert names(tmp_path) == before


def test_a_file_in_the_way_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(InvalidParameter, match=f"cannot be written to {path}"):
            save(path)
    assert names(tmp_path) == {"file"}


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="root and Windows write anyway"
)
def test_a_read_only_folder_is_a_clear_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InvalidParameter, match="Permission denied"):
        save(tmp_path)
    tmp_path.chmod(0o700)


def test_who_keeps_others_from_saving_may_save(tmp_path: Path) -> None:
    save(tmp_path, "before")
    with ThreadPoolExecutor(1) as other:
        with THING.locked(tmp_path):
            save(tmp_path, "own")
            with pytest.raises(InvalidParameter, match="Another process is writing the thing"):
                other.submit(save, tmp_path, "other").result()
        assert name_of(tmp_path) == "own"
        other.submit(save, tmp_path, "other").result()
    assert name_of(tmp_path) == "other"


def test_several_writers_and_a_reader_at_once(tmp_path: Path) -> None:
    """Whoever reads finds a whole model, and so does the last one."""

    def write(number: int) -> None:
        for round in range(15):
            save_model(tmp_path, {"W": np.full((50, 50), 100 * number + round)}, {"writer": number})

    write(0)
    with ThreadPoolExecutor() as threads:
        writers = [threads.submit(write, number) for number in range(1, 4)]
        while not all(writer.done() for writer in writers):
            arrays, settings = load_model(tmp_path)
            assert (arrays["W"] // 100 == settings["writer"]).all()
        for writer in writers:
            writer.result()
    load_model(tmp_path)


def test_removing_leaves_what_is_not_the_bundles(tmp_path: Path) -> None:
    save(tmp_path / "alone")
    save(tmp_path / "half")
    (tmp_path / "half" / "thing.json").unlink()  # of a save that was killed
    for folder in ("alone", "half", "nowhere"):
        THING.remove(tmp_path / folder)
    assert names(tmp_path) == set()
    save(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    THING.remove(tmp_path)
    assert names(tmp_path) == {"notes.txt"}
    THING.remove(tmp_path)


def test_a_build_of_an_earlier_format_goes_with_its_manifest(tmp_path: Path) -> None:
    """It may have files of other names."""
    earlier = replace(THING, version=2, files=("three.bin",))
    save(tmp_path, kind=earlier)
    with pytest.raises(ZeroDivisionError), THING.saving(tmp_path):
        raise ZeroDivisionError
    earlier.open(tmp_path, math.inf)
    save(tmp_path, "second")
    assert len(names(tmp_path)) == 4
    save(tmp_path / "other", kind=earlier)
    THING.remove(tmp_path / "other")
    assert not (tmp_path / "other").exists()


# ---- who wrote what is read ----


def test_a_machine_without_memory_is_not_a_damaged_bundle(tmp_path: Path) -> None:
    with pytest.raises(MemoryError, match="87 TiB"), THING.trusting(tmp_path):
        raise MemoryError("Unable to allocate 87 TiB")


def test_a_manifest_that_is_altered_or_another_kinds_is_refused(tmp_path: Path) -> None:
    save(tmp_path)
    file = tmp_path / "thing.json"
    whole = file.read_text()
    newer = whole.replace('"version": 3', '"version": 4')
    for content, message in {
        "": "is damaged: thing.json is not valid JSON",
        "[" * 100_000: "is damaged: thing.json is not valid JSON",
        whole[:100]: "is damaged: thing.json is not valid JSON",
        "[1]": "does not describe a thing",
        "{}": "does not describe a thing",
        newer: "has format 4, written by docboltz .*Upgrade",
        whole.replace('"version": 3', '"version": 2'): r"has format 2.*Make it again\.",
        whole.replace("first", "fi1st"): "thing.json was changed",
    }.items():
        file.write_text(content)
        with pytest.raises(InvalidModelFile, match=message):
            THING.open(tmp_path)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidModelFile, match="not valid JSON"):
        THING.open(tmp_path)
    with pytest.raises(InvalidModelFile, match=r"There is no docboltz thing.*Make it again\."):
        THING.open(tmp_path / "elsewhere")
    file.write_text(whole)
    assert name_of(tmp_path) == "first"


def reseal(folder: Path, **changes: Any) -> None:
    """Change a manifest and give it the checksum that fits."""
    described = json.loads((folder / "thing.json").read_text())
    inner = {name: described[name] for name in ("build", "files", "content")} | changes
    (folder / "thing.json").write_text(json.dumps(described | inner | {"checksum": digest(inner)}))


SOUND = vars(Fingerprint(500, "0" * 64))


@pytest.mark.parametrize(
    "changes",
    [
        *(
            {"build": build}
            for build in ("..", "../build-0123456789abcdef", "/etc", "build-1/../..", "", 7, None)
        ),
        {"build": "build-0123456789abcdef\n"},
        *(
            {"files": {"one.bin": SOUND, "two.bin": entry}}
            for entry in (
                {"bytes": 499, "sha256": "0" * 64},
                {"bytes": "500", "sha256": "0" * 64},
                {"bytes": True, "sha256": "0" * 64},
                {"bytes": 500, "sha256": "../x"},
                {"bytes": 500, "sha256": 0},
                {"bytes": 500},
                {"bytes": 500, "sha256": "0" * 64, "more": 1},
                [500],
                None,
            )
        ),
        {"files": {"one.bin": SOUND}},
        {"files": {"one.bin": SOUND, "../two.bin": SOUND}},
        {"files": {"one.bin": SOUND, "two.bin": SOUND, "more": SOUND}},
        {"files": ["one.bin", "two.bin"]},
        {"files": None},
        {"content": "text"},
        {"content": None},
    ],
    ids=str,
)
def test_a_hostile_manifest_is_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    """Even with a checksum that fits."""
    save(tmp_path)
    reseal(tmp_path)
    assert name_of(tmp_path) == "first"
    reseal(tmp_path, **changes)
    with pytest.raises(InvalidModelFile, match=r"Make it again\."):
        THING.open(tmp_path, math.inf)


def test_files_that_are_not_as_they_were_saved_are_refused(tmp_path: Path) -> None:
    save(tmp_path)
    file = THING.open(tmp_path).file("two.bin")
    whole = file.read_bytes()
    for content, message in ((whole[:-1], "499 bytes instead of 500"), (whole + b"x", "501 bytes")):
        file.write_bytes(content)
        with pytest.raises(InvalidModelFile, match=message):
            THING.open(tmp_path)
    file.write_bytes(whole[:-1] + b"x")
    THING.open(tmp_path, checked=499)
    with pytest.raises(InvalidModelFile, match=r"two\.bin was changed"):
        THING.open(tmp_path, checked=500)
    file.unlink()
    with pytest.raises(InvalidModelFile, match=r"two\.bin is missing"):
        THING.open(tmp_path)


@pytest.mark.skipif(sys.platform == "win32", reason="links need a permission there")
def test_links_out_of_the_folder_are_refused(tmp_path: Path) -> None:
    thing, elsewhere = tmp_path / "thing", tmp_path / "elsewhere"
    save(thing)
    build = THING.open(thing).file("one.bin").parent
    build.rename(elsewhere)
    build.symlink_to(elsewhere)
    with pytest.raises(InvalidModelFile, match="not a plain file"):
        THING.open(thing)
    build.unlink()
    elsewhere.rename(build)
    (build / "one.bin").rename(elsewhere)
    (build / "one.bin").symlink_to(elsewhere)
    with pytest.raises(InvalidModelFile, match="not a plain file"):
        THING.open(thing)


# ---- models ----

ARRAYS: Arrays = {"W": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.float64)}
SETTINGS = {"model": "Test", "stopped": None, "names": ["ä", "ß"]}


def test_a_model_comes_back_as_it_went_in(tmp_path: Path) -> None:
    save_model(tmp_path, ARRAYS | {"T": np.asfortranarray(ARRAYS["W"])}, SETTINGS)
    arrays, settings = load_model(tmp_path)
    assert settings == SETTINGS
    for name, array in (*ARRAYS.items(), ("T", ARRAYS["W"])):
        assert np.array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype
    files = [f for f in tmp_path.rglob("*") if f.is_file() and f.name != ".lock"]
    assert sorted(f.suffix for f in files) == [".json", ".safetensors"]


def test_a_fingerprint_follows_arrays_and_settings_alone(tmp_path: Path) -> None:
    def saved(arrays: Arrays, settings: dict[str, object]) -> str:
        save_model(tmp_path / "model", arrays, settings)
        return fingerprint(tmp_path / "model")

    first = saved(ARRAYS, SETTINGS)
    assert fingerprint_of(ARRAYS, SETTINGS) == first
    assert saved(ARRAYS, SETTINGS) == first
    assert saved(ARRAYS, {**SETTINGS, "model": "Other"}) != first
    assert saved({**ARRAYS, "b": np.zeros(3)}, SETTINGS) != first


def test_parameters_that_are_no_safetensors_are_refused(tmp_path: Path) -> None:
    """Even with checksums that fit."""
    kind = replace(THING, files=("parameters.safetensors",))
    save(tmp_path, kind=kind)
    with pytest.raises(InvalidModelFile, match=r"SafetensorError.*Make it again\."):
        load_model(tmp_path, kind)


@pytest.mark.parametrize("manifest", ['{"keras": 1}', None])
def test_other_programs_files_are_not_touched(tmp_path: Path, manifest: str | None) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    if manifest is not None:
        (tmp_path / "model.json").write_text(manifest)
    before = names(tmp_path)
    with pytest.raises(InvalidParameter, match="holds other things"):
        save_model(tmp_path, ARRAYS, SETTINGS)
    with pytest.raises(InvalidParameter, match=r"notes\.txt: it is a file"):
        save_model(tmp_path / "notes.txt", ARRAYS, SETTINGS)
    assert names(tmp_path) == before
