"""The bell: wakes the runner when something may have changed.

Watchers drop events on overflow without a word, so an event only rings; what is true is read
again from git each time, and a timer rings too.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers import Observer

from gitmem.store.workspace import Workspace


class _Ringer(FileSystemEventHandler):
    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring

    def on_any_event(self, event: FileSystemEvent) -> None:
        if event.event_type not in {"opened", "closed_no_write"} and not event.src_path.endswith(".lock"):  # type: ignore[arg-type]
            self._ring()


class Bell:
    """Watches the branch's ref and, where it is checked out, the queue folder."""

    def __init__(self, workspace: Workspace, ring: Callable[[], None]) -> None:
        # It warns of events that come while it is being stopped; they are nobody's concern.
        logging.getLogger("watchdog").setLevel(logging.CRITICAL)
        self._observer: Any = Observer()
        self._watching = False
        for folder in _folders(workspace):
            self._schedule(folder, _Ringer(ring))

    def _schedule(self, folder: Path, handler: FileSystemEventHandler) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._observer.schedule(handler, str(folder))
            self._watching = True
        except OSError:
            return  # no watches left, or a read-only place: the timer is enough

    def __enter__(self) -> Bell:
        if self._watching:
            try:
                self._observer.start()
            except OSError:  # inotify limit: the timer is enough
                self._watching = False
        return self

    def __exit__(self, kind: type[BaseException] | None, _: Any, __: TracebackType | None) -> None:
        if self._watching:
            self._observer.stop()
            self._observer.join()


def _folders(workspace: Workspace) -> list[Path]:
    head = workspace.git.common_dir / workspace.ref
    folders = [head.parent]
    if workspace.root is not None:
        folders.append(workspace.root / "queue")
    return folders
