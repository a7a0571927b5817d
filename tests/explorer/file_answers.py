"""What the single file answers, by node; and how far that is from what the server answers."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from docboltz.explorer.archive import pack
from docboltz.explorer.file_data import file_data
from docboltz.explorer.single_file import PAGE

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")
KEYS = ("id", "unit", "word", "topic", "label")  # by which items of a list are told apart


def packed(model, characters=2000):
    model.map()
    return pack(*file_data(model, characters))


def ask(data, questions, folder):
    """Answers, or errors, of a file's data to [method, *arguments] each."""
    (folder / "data").write_text(data)
    (folder / "questions").write_text(json.dumps(questions))
    script = Path(__file__).with_name("ask_file.mjs")
    command = [NODE, script, PAGE / "file.js", folder / "data", folder / "questions"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def answers(data, questions, folder):
    found = ask(data, questions, folder)
    assert not [each["error"] for each in found if "error" in each]
    return [each["answer"] for each in found]


def differences(one, other, tolerance, path=""):
    """Where two answers differ; items of a list that have a name may come in another order."""
    if isinstance(one, float) or isinstance(other, float):
        near = (
            one is not None
            and other is not None
            and abs(one - other) <= tolerance * max(1, abs(one))
        )
        return [] if near else [f"{path}: {one} {other}"]
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return [f"{path}: {sorted(map(str, one.keys() ^ other.keys()))}"]
        return [d for k in one for d in differences(one[k], other[k], tolerance, f"{path}.{k}")]
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        named = named_items(one), named_items(other)
        if None not in named:
            named = without_close_calls(*named, tolerance)
            return differences(*named, tolerance, path)
        if len(one) != len(other):
            return [f"{path}: {len(one)} {len(other)} items"]
        pairs = enumerate(zip(one, other, strict=True))
        return [d for i, (a, b) in pairs for d in differences(a, b, tolerance, f"{path}[{i}]")]
    return [] if one == other else [f"{path}: {one!r} {other!r}"]


def without_close_calls(one, other, tolerance):
    """Without items that only one has, if its score is next to none or hardly the last there."""

    def cut(own, others):
        least = min((score_of(item) for item in others.values()), default=0.0)
        return {
            name: item
            for name, item in own.items()
            if name in others
            or not min(abs(score_of(item)), abs(score_of(item) - least)) <= tolerance
        }

    return cut(one, other), cut(other, one)


def score_of(item):
    return item.get("score", float("nan"))


def named_items(items):
    if items and all(isinstance(item, dict) for item in items):
        for key in KEYS:
            names = [item.get(key) for item in items]
            if None not in names and len(set(names)) == len(names):
                return dict(zip(names, items, strict=True))
    return None
