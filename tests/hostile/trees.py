"""All that lies below a folder, to see that nothing was changed."""

from __future__ import annotations

import os
from pathlib import Path


def snapshot(folder: Path) -> dict[str, object]:
    """What is at each path: a link's target, a file's bytes, or what else it is; no locks."""
    found: dict[str, object] = {}
    for where, folders, names in os.walk(folder):
        for name in (*folders, *names):
            path = Path(where, name)
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = f"-> {os.readlink(path)}"
            elif path.is_file():
                found[key] = path.read_bytes()
            else:
                found[key] = "folder" if path.is_dir() else "special"
    return {key: value for key, value in found.items() if Path(key).name != ".lock"}
