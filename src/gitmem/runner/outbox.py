"""The files that an agent hands back: what may be read at all, and what is refused and why.

Nothing an agent writes is trusted: links are not followed, names and sizes are checked, and
credentials are replaced before anybody sees the text.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitmem.core.layout import path_problem
from gitmem.runner.secrets import scrub

# A handback is a few notes; thousands of files are a mistake (a dependency folder, a loop).
FILES_MAX = 500


@dataclass(frozen=True, slots=True)
class OutFile:
    """One file of the outbox; `path` is relative to it, with `/`."""

    path: str
    data: bytes
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """A file, or part of one, that is not delivered; it stays in the run directory."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Outbox:
    files: tuple[OutFile, ...]
    refused: tuple[Refusal, ...]
    # "path: kind of secret", for each credential that was replaced.
    redacted: tuple[str, ...]


def read(folder: Path, file_bytes_max: int) -> Outbox:
    """Every deliverable file below `folder`, sorted by path; an absent folder is an empty outbox."""
    if folder.is_symlink() or folder.parent.is_symlink():
        return Outbox((), (Refusal(".", "the outbox is a symbolic link"),), ())
    files: list[OutFile] = []
    refused: list[Refusal] = []
    redacted: list[str] = []
    for path in sorted(_walk(folder)):
        if len(files) >= FILES_MAX:
            refused.append(Refusal(path, f"more than {FILES_MAX} files"))
            continue
        got = _read_one(folder, path, file_bytes_max)
        if isinstance(got, Refusal):
            refused.append(got)
            continue
        clean, kinds = _scrubbed(got)
        files.append(clean)
        redacted += [f"{path}: {kind}" for kind in kinds]
    return Outbox(tuple(files), tuple(refused), tuple(redacted))


def _walk(folder: Path) -> Iterator[str]:
    for top, folders, names in os.walk(folder, followlinks=False):
        links = [name for name in folders if (Path(top) / name).is_symlink()]
        folders[:] = [name for name in folders if name not in links and name != ".git"]
        for name in [*names, *links]:
            yield (Path(top) / name).relative_to(folder).as_posix()


def _read_one(folder: Path, path: str, file_bytes_max: int) -> OutFile | Refusal:
    if scrub(path).kinds:
        return Refusal(scrub(path).text, "a credential stands in its name")
    reason = path_problem(path)
    if reason:
        return Refusal(path, reason)
    file = folder / path
    try:
        about = file.lstat()
        if not stat.S_ISREG(about.st_mode):
            return Refusal(path, "is not a plain file")
        if about.st_size > file_bytes_max:
            return Refusal(path, f"is larger than {file_bytes_max} bytes")
        return OutFile(path, file.read_bytes(), bool(about.st_mode & 0o111))
    except OSError as error:
        return Refusal(path, f"cannot be read: {error.strerror}")


def _scrubbed(file: OutFile) -> tuple[OutFile, tuple[str, ...]]:
    try:
        text = file.data.decode("utf-8")
    except UnicodeDecodeError:
        return file, ()  # not text: only a skill may hold such a file, and its lint looks at it
    done = scrub(text)
    if not done.kinds:
        return file, ()
    return OutFile(file.path, done.text.encode(), file.executable), done.kinds
