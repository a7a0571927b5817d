"""The model as it is on disk now: each request answers wholly from one snapshot of it.

A snapshot holds everything it needs in memory or mapped, so that files which are replaced while it
is in use do not change its answers. A thread looks at the manifests now and then, opens a new
snapshot when one of them has changed, and puts it in the place of the old one in one step.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docboltz.errors import DocboltzError, InvalidModelFile
from docboltz.explorer.log import Log
from docboltz.explorer.snapshot import Snapshot
from docboltz.text_model import TextModel

MANIFESTS = (
    "model.json",
    "search/store.json",
    "search/milvus/milvus.json",
    "topics/topics.json",
    "map/map.json",
)
LOOK_SECONDS = 0.25
"""Between two looks at the manifests."""

BACKGROUND = 15
"""Nice value of the thread that computes a map."""
LAST_SECONDS = 10.0
"""That a map has to be given up in when the server is stopped."""

Signature = tuple[tuple[int, int, int] | None, ...]


RETRY_SECONDS = 5.0
"""Until a state that could not be opened is tried again."""


class StateChanged(Exception):
    """What a change was meant for is not there any more."""


class _Stopped(Exception):
    """The server ends: nobody will see the map."""


class Live:
    """The model in a folder, followed."""

    def __init__(self, folder: Path, *, edit: bool = False, log: Log | None = None) -> None:
        """Open it now: whoever is asked to serve a model that cannot be opened says so at once."""
        self.folder, self.edit = folder, edit
        self.map_progress: float | None = None
        """Of a map that is being computed; None while none is."""
        self._log = log or Log(quiet=True)
        self._changing = threading.Lock()
        self._stop = threading.Event()
        self._threads: list[threading.Thread] = []
        self._signature = self._look()
        self._snapshot = Snapshot(TextModel.open(folder))
        self._without_map: Signature | None = None

    @property
    def snapshot(self) -> Snapshot:
        """The model as it was last seen; whoever asks keeps it for the whole of an answer."""
        return self._snapshot

    def start(self) -> None:
        """Follow the files, and compute a map that is missing, until `stop`."""
        self._run(self._follow)

    def stop(self) -> None:
        """Follow no more, and give up a map that is being computed."""
        self._stop.set()
        for thread in self._threads:
            thread.join(LAST_SECONDS)

    def change(self, change: Callable[[TextModel], None], build: str | None = None) -> Snapshot:
        """Change what is on disk, take it up, and give the snapshot that has the change.

        With a `build`, only topics of that state: numbers mean others in another.
        """
        with self._changing:
            if build is not None:
                if self._look() != self._signature:
                    self._take_up()
                if build != self._snapshot.build:
                    raise StateChanged
            model = TextModel.open(self.folder)
            if build is not None and model.tree.origin != self._snapshot.tree.origin:
                raise StateChanged
            change(model)
            self._take_up()
            return self._snapshot

    def refresh(self) -> None:
        """Take up what has changed on disk, if anything has."""
        with self._changing:
            if self._look() != self._signature:
                self._take_up()

    def _take_up(self) -> None:
        seen = self._look()  # before it is read: what changes meanwhile is a reason to look again
        model = TextModel.open(self.folder)
        if not model.knows_topics:  # whoever indexes looks for them, and will have them soon
            raise InvalidModelFile(f"The collection in {self.folder} has no topics yet.")
        self._snapshot, self._signature = Snapshot(model), seen

    def _look(self) -> Signature:
        return tuple(_stamp(self.folder / name) for name in MANIFESTS)

    def _follow(self) -> None:
        failed: Signature | None = None
        failed_at = 0.0
        while not self._stop.wait(LOOK_SECONDS):
            self._need_map()
            seen = self._look()
            waiting = seen == failed and time.monotonic() - failed_at < RETRY_SECONDS
            if seen == self._signature or waiting:
                continue
            try:
                self.refresh()
                self._log.event("taken up", documents=len(self._snapshot))
            except (DocboltzError, OSError) as error:  # half of a change: the other half follows
                failed, failed_at = seen, time.monotonic()
                self._log.event("not taken up", problem=str(error))
            except Exception:  # nobody else would follow the files any more
                failed, failed_at = seen, time.monotonic()
                self._log.failure(traceback.format_exc())

    def _need_map(self) -> None:
        """Have a map computed if there is none; not twice for the same collection."""
        wanted = self._snapshot.positions is None and self._without_map != self._signature
        if wanted and self.map_progress is None:
            self._without_map, self.map_progress = self._signature, 0.0
            self._run(self._make_map)

    def _make_map(self) -> None:
        def progress(done: int, total: int | None, *_: Any) -> None:
            if self._stop.is_set():
                raise _Stopped
            self.map_progress = done / total if total else 0.0

        _give_way()
        try:
            TextModel.open(self.folder).map(progress=progress)  # saves it, which will be seen
        except _Stopped:
            pass
        except (DocboltzError, OSError) as error:
            self._log.event("no map", problem=str(error))
        finally:
            self.map_progress = None

    def _run(self, work: Callable[[], None]) -> None:
        thread = threading.Thread(target=work, name=work.__name__, daemon=True)
        self._threads = [*filter(threading.Thread.is_alive, self._threads), thread]
        thread.start()


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """What changes whenever a file is replaced; None where there is none."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _give_way() -> None:
    """Let whoever asks go first: the threads that this one starts do so, too."""
    if sys.platform == "linux":  # elsewhere a thread has no priority of its own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), BACKGROUND)
