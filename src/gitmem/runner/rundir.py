"""The run directory: where an agent works, outside the workspace and below no `.git`.

It is stable per issue and agent, because some agent programs know their sessions by the
working directory; what an earlier run left of logs and outbox is set aside under `past/`.
Measured: from a folder below `.git`, plain `git config` changed the workspace itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem.core.errors import StorageError
from gitmem.core.ids import is_id
from gitmem.store import document
from gitmem.store.git_process import run as run_git

LOGS = ("events.jsonl", "stdout.log", "stderr.log", "run.yaml", "verdict.json")
OUTBOX = ".gitmem/outbox"
INBOX = ".gitmem/inbox"


@dataclass(frozen=True, slots=True)
class RunDir:
    path: Path

    @property
    def work(self) -> Path:
        return self.path / "work"

    @property
    def outbox(self) -> Path:
        return self.work / OUTBOX

    @property
    def events(self) -> Path:
        return self.path / "events.jsonl"


def runs_home() -> Path:
    """The folder of all run directories: `$GITMEM_RUNS`, else the user's state directory."""
    if os.environ.get("GITMEM_RUNS"):
        return Path(os.environ["GITMEM_RUNS"])
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "gitmem"


def run_dir(workspace_id: str, issue: str, agent: str) -> RunDir:
    return RunDir(runs_home() / workspace_id / f"{issue}-{agent}")


def home_of(workspace_id: str, agent: str) -> Path:
    """The home of an agent that has one of its own."""
    return runs_home() / workspace_id / "homes" / agent


def prepare(place: RunDir, files: Mapping[str, bytes], about: Mapping[str, Any], run_id: str) -> None:
    """Make the directory ready for run `run_id`: old logs aside, our files written, an empty outbox.

    `files` are by path relative to the working directory. An earlier agent may have left links
    anywhere in here; they are removed before anything is moved, cleared or written. Raises StorageError.
    """
    try:
        place.path.mkdir(parents=True, exist_ok=True)
        _remove_links(place.path, ["work", "past", *(f"work/{name}" for name in (*_OURS, OUTBOX, *_GIT))])
        _set_aside(place)
        place.work.mkdir(exist_ok=True)
        _own_repository(place.work)
        _clear(place.work)
        for path, data in files.items():
            _write_work_file(place.work, path, data)
        for folder in (OUTBOX, INBOX):
            (place.work / folder).mkdir(parents=True, exist_ok=True)
        write_unlinked(place.path / "run.yaml", document.render({"run": run_id, **about}, None))
    except OSError as error:
        raise StorageError(
            f"cannot prepare {place.path}: {error.strerror}",
            "make room there, or set GITMEM_RUNS to another folder",
        ) from error


def _write_work_file(work: Path, path: str, data: bytes) -> None:
    _remove_links(work, [path])
    target = work / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(data)
    if data.startswith(b"#!"):
        target.chmod(0o755)


def _remove_links(root: Path, paths: Iterable[str]) -> None:
    """Remove every symbolic link that stands at a path, or on the way to it."""
    for path in paths:
        place = root
        for part in path.split("/"):
            place = place / part
            if place.is_symlink():
                place.unlink()


def leads_out(place: RunDir) -> bool:
    """True where a link stands in the place of the working directory or the outbox."""
    return any(part.is_symlink() for part in (place.work, place.outbox.parent, place.outbox))


def write_unlinked(path: Path, data: bytes) -> None:
    """Write a file of ours anew; what stands in its place, a link perhaps, goes and is not followed."""
    path.unlink(missing_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o644)
    with os.fdopen(handle, "wb") as file:
        file.write(data)


def described(place: RunDir) -> dict[str, Any]:
    """What `run.yaml` says of the latest run in the directory; empty where there was none."""
    try:
        return document.parse((place.path / "run.yaml").read_bytes(), "run.yaml", whole_yaml=True).fields
    except OSError:
        return {}


def find_log(place: RunDir, run_id: str, name: str) -> Path | None:
    """A log of one run: the latest run's lies on top, an earlier one's under `past/`."""
    if described(place).get("run") == run_id:
        found = place.path / name
    else:
        found = place.path / "past" / run_id / name
    return found if found.is_file() else None


def _set_aside(place: RunDir) -> None:
    """Keep the previous run's logs and outbox: what was refused must stay to be found."""
    previous = described(place).get("run")
    if not isinstance(previous, str) or not is_id(previous):
        for name in LOGS:
            (place.path / name).unlink(missing_ok=True)
        return
    _remove_links(place.path, [f"past/{previous}/outbox"])
    shelf = place.path / "past" / previous
    shelf.mkdir(parents=True, exist_ok=True)
    for name in LOGS:
        if (place.path / name).is_symlink():
            (place.path / name).unlink()
        elif (place.path / name).exists():
            (place.path / name).replace(shelf / name)
    if place.outbox.is_dir() and any(place.outbox.iterdir()):
        shutil.rmtree(shelf / "outbox", ignore_errors=True)
        place.outbox.rename(shelf / "outbox")


# What we write into the working directory, and so what is replaced at each run.
_OURS = (".gitmem", ".agents/skills", ".claude/skills")


# What we write of git's own.
_GIT = (".git/info/exclude",)


def _clear(work: Path) -> None:
    for name in _OURS:
        if (work / name).exists():
            shutil.rmtree(work / name)


def _own_repository(work: Path) -> None:
    """A repository of the agent's own, so that its git commands meet no other."""
    if (work / ".git").exists():
        return
    run_git(["init", "-q", "--template="], cwd=work)
    info = work / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "exclude").write_text("".join(f"/{name}/\n" for name in _OURS), encoding="utf-8")


def exclude(work: Path, names: list[str]) -> None:
    """Keep our brief out of the agent's repository; called after `prepare`, which removes links."""
    file = work / ".git" / "info" / "exclude"
    if not file.parent.is_dir():
        return
    have = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    missing = [f"/{name}" for name in names if f"/{name}" not in have]
    if missing:
        file.write_text("\n".join([*have, *missing]) + "\n", encoding="utf-8")


def fingerprint(work: Path) -> frozenset[tuple[str, int, int]]:
    """What an agent has made in its working directory: (path, size, mtime) of each such file.

    Two fingerprints that are equal mean that nothing was changed, whatever the agent says. One of
    a directory that is gone, or that a link has replaced, is empty.
    """
    found: set[tuple[str, int, int]] = set()
    if work.is_symlink():
        return frozenset()
    for top, folders, names in os.walk(work, followlinks=False):
        inside = Path(top)
        if inside == work:
            folders[:] = [name for name in folders if name not in {".git", ".gitmem", ".agents", ".claude"}]
        for name in names:
            about = (inside / name).lstat()
            found.add(((inside / name).relative_to(work).as_posix(), about.st_size, about.st_mtime_ns))
    return frozenset(found)
