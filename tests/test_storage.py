from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from docboltz.errors import InvalidModelFile, InvalidParameter
from docboltz.storage import Arrays, digest, fingerprint, fingerprint_of, load_model, save_model

ARRAYS = {"W": np.arange(6, dtype=np.float32).reshape(2, 3), "b": np.ones(3, np.float64)}
SETTINGS = {"model": "Test", "stopped": None, "names": ["ä", "ß"]}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", ARRAYS, SETTINGS)
    return tmp_path / "model"


def test_round_trip(model: Path) -> None:
    arrays, settings = load_model(model)
    assert settings == SETTINGS
    for name, array in ARRAYS.items():
        assert np.array_equal(arrays[name], array)
        assert arrays[name].dtype == array.dtype


def test_memory_order_does_not_matter(tmp_path: Path) -> None:
    save_model(tmp_path / "model", {"W": np.asfortranarray(ARRAYS["W"])}, {})
    assert np.array_equal(load_model(tmp_path / "model")[0]["W"], ARRAYS["W"])


def test_only_json_and_safetensors(model: Path) -> None:
    files = [f for f in model.rglob("*") if f.is_file() and f.name != ".lock"]
    assert sorted(f.suffix for f in files) == [".json", ".safetensors"]


def test_saving_again_replaces_the_model_and_leaves_nothing_behind(model: Path) -> None:
    save_model(model, {"W": ARRAYS["W"] + 1}, {"new": True})
    assert load_model(model)[1] == {"new": True}
    assert len(list(model.glob("build-*"))) == 1


@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("call", [1])
def test_a_crash_while_saving_keeps_the_old_model(
    model: Path, monkeypatch: pytest.MonkeyPatch, step: str, call: int
) -> None:
    real, calls = getattr(os, step), 0

    def crash(*args: object) -> None:
        nonlocal calls
        calls += 1
        if calls == call:
            raise OSError("no space left on device")
        real(*args)

    monkeypatch.setattr(os, step, crash)
    with pytest.raises(InvalidParameter, match="no space"):
        save_model(model, {"W": ARRAYS["W"] + 1}, {"new": True})
    monkeypatch.undo()
    arrays, settings = load_model(model)
    assert settings == SETTINGS
    assert np.array_equal(arrays["W"], ARRAYS["W"])
    save_model(model, ARRAYS, {"again": True})
    assert len(list(model.glob("build-*"))) == 1


def test_a_crash_in_the_first_save_does_not_block_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    left = folder / "build-0123456789abcdef"
    left.mkdir()
    (left / "parameters.safetensors").write_bytes(b"half")
    save_model(folder, ARRAYS, SETTINGS)
    assert load_model(folder)[1] == SETTINGS
    assert not left.exists(), "the remains of an old crash are swept up"


def tensors(model: Path) -> Path:
    return next(model.glob("build-*/*.safetensors"))


def test_truncated_tensors_are_refused(model: Path) -> None:
    data = tensors(model).read_bytes()
    tensors(model).write_bytes(data[:-1])
    with pytest.raises(InvalidModelFile, match=r"(has .* bytes|was changed)"):
        load_model(model)


def test_tampered_tensors_are_refused(model: Path) -> None:
    data = bytearray(tensors(model).read_bytes())
    data[-1] ^= 1
    tensors(model).write_bytes(data)
    with pytest.raises(InvalidModelFile, match=r"(has .* bytes|was changed)"):
        load_model(model)


def test_missing_tensors_are_refused(model: Path) -> None:
    tensors(model).unlink()
    with pytest.raises(InvalidModelFile, match="is missing"):
        load_model(model)


def test_truncated_description_is_refused(model: Path) -> None:
    text = (model / "model.json").read_text(encoding="utf-8")
    (model / "model.json").write_text(text[:-20], encoding="utf-8")
    with pytest.raises(InvalidModelFile, match="not valid JSON"):
        load_model(model)


def test_edited_description_is_refused(model: Path) -> None:
    description = json.loads((model / "model.json").read_text(encoding="utf-8"))
    description["content"]["model"] = "Other"
    (model / "model.json").write_text(json.dumps(description), encoding="utf-8")
    with pytest.raises(InvalidModelFile, match=r"model.json was changed"):
        load_model(model)


def test_a_newer_format_asks_for_an_upgrade(model: Path) -> None:
    description = {"format": "docboltz-model", "version": 99, "docboltz": "9.0"}
    (model / "model.json").write_text(json.dumps(description), encoding="utf-8")
    with pytest.raises(InvalidModelFile, match=r"format 99.*docboltz 9.0.*Upgrade"):
        load_model(model)


@pytest.mark.parametrize("text", ["[]", "{}", '{"format": "something else"}', "null"])
def test_foreign_json_is_refused(model: Path, text: str) -> None:
    (model / "model.json").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidModelFile, match="does not describe a model"):
        load_model(model)


def test_no_model_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidModelFile, match="There is no docboltz model in"):
        load_model(tmp_path / "nowhere")


def resealed(model: Path, **changes: object) -> None:
    """Change a manifest and give it the checksum that fits."""
    description = json.loads((model / "model.json").read_text(encoding="utf-8"))
    inner = {name: description[name] for name in ("build", "files", "content")} | changes
    description |= {**inner, "checksum": digest(inner)}
    (model / "model.json").write_text(json.dumps(description), encoding="utf-8")


SOUND = {"bytes": 3, "sha256": "0" * 64}


@pytest.mark.parametrize(
    "changes",
    [
        {"files": {"../../elsewhere.safetensors": SOUND}},
        {"files": {"parameters.safetensors": SOUND, "more": SOUND}},
        {"files": {"parameters.safetensors": {"bytes": "3", "sha256": "0" * 64}}},
        {"files": {"parameters.safetensors": {"bytes": 3}}},
        {"files": {"parameters.safetensors": {"bytes": 3, "sha256": "../x"}}},
        {"files": {"parameters.safetensors": [3]}},
        {"files": []},
        {"files": None},
        {"build": "../../somewhere"},
        {"build": 7},
        {"content": "text"},
        {"content": None},
    ],
    ids=str,
)
def test_a_hostile_manifest_is_refused(model: Path, changes: dict[str, object]) -> None:
    resealed(model, **changes)
    with pytest.raises(InvalidModelFile):
        load_model(model)


def test_links_that_lead_out_of_the_folder_are_refused(model: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    tensors(model).rename(elsewhere)
    build = next(model.glob("build-*"))
    (build / "parameters.safetensors").symlink_to(elsewhere)
    with pytest.raises(InvalidModelFile, match="not a plain file"):
        load_model(model)


def test_a_pipe_instead_of_a_manifest_does_not_hang(model: Path) -> None:
    (model / "model.json").unlink()
    os.mkfifo(model / "model.json")
    with pytest.raises(InvalidModelFile, match="it is a pipe"):
        load_model(model)


def test_other_programs_files_are_not_touched(tmp_path: Path) -> None:
    (tmp_path / "model.json").write_text('{"keras": 1}')
    (tmp_path / "parameters-mine.safetensors").write_text("mine")
    with pytest.raises(InvalidParameter, match="holds other things"):
        save_model(tmp_path, ARRAYS, SETTINGS)
    (tmp_path / "model.json").unlink()
    with pytest.raises(InvalidParameter, match="holds other things"):
        save_model(tmp_path, ARRAYS, SETTINGS)
    assert (tmp_path / "parameters-mine.safetensors").read_text() == "mine"


def test_several_writers_and_a_reader_at_once(model: Path) -> None:
    """Whoever reads finds a whole model, and so does the last one."""

    def write(number: int) -> None:
        for round in range(15):
            save_model(model, {"W": np.full((50, 50), 100 * number + round)}, {"writer": number})

    with ThreadPoolExecutor() as threads:
        writers = [threads.submit(write, number) for number in range(1, 4)]
        while not all(writer.done() for writer in writers):
            arrays, settings = load_model(model)
            if "writer" in settings:
                assert (arrays["W"] // 100 == settings["writer"]).all()
        for writer in writers:
            writer.result()
    load_model(model)


def test_a_fingerprint_follows_arrays_and_settings_alone(tmp_path: Path) -> None:
    def saved(arrays: Arrays, settings: dict[str, object]) -> str:
        save_model(tmp_path / "model", arrays, settings)
        return fingerprint(tmp_path / "model")

    first = saved(ARRAYS, SETTINGS)
    assert fingerprint_of(ARRAYS, SETTINGS) == first
    assert saved(ARRAYS, SETTINGS) == first
    assert saved(ARRAYS, {**SETTINGS, "model": "Other"}) != first
    assert saved({**ARRAYS, "b": np.zeros(3)}, SETTINGS) != first


def test_a_file_or_a_foreign_folder_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InvalidParameter, match="it is a file"):
        save_model(tmp_path / "notes.txt", ARRAYS, SETTINGS)
    with pytest.raises(InvalidParameter, match="holds other things"):
        save_model(tmp_path, ARRAYS, SETTINGS)
    assert [f.name for f in tmp_path.iterdir()] == ["notes.txt"]
