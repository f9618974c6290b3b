"""The run directory: where an agent works, outside the workspace and below no `.git`.

It is stable per issue and agent, because some agent programs know their sessions by the
working directory; what an earlier run left of logs and outbox is set aside under `past/`.
Measured: from a folder below `.git`, plain `git config` changed the workspace itself.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gitmem.core.errors import StorageError
from gitmem.store import document
from gitmem.store.git_process import run as run_git

LOGS = ("events.jsonl", "stdout.log", "stderr.log", "run.yaml")
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

    `files` are by path relative to the working directory. Raises StorageError.
    """
    try:
        _set_aside(place)
        place.work.mkdir(parents=True, exist_ok=True)
        _own_repository(place.work)
        _clear(place.work)
        for path, data in files.items():
            target = _safe_target(place.work, path)
            target.write_bytes(data)
            if data.startswith(b"#!"):
                target.chmod(0o755)
        for folder in (OUTBOX, INBOX):
            (place.work / folder).mkdir(parents=True, exist_ok=True)
        (place.path / "run.yaml").write_bytes(document.render({"run": run_id, **about}, None))
    except OSError as error:
        raise StorageError(f"cannot prepare {place.path}: {error.strerror}") from error


def _safe_target(work: Path, path: str) -> Path:
    """Where to write `path`; a link that the agent left on the way is removed, never followed."""
    target = work
    for part in path.split("/"):
        target = target / part
        if target.is_symlink():
            target.unlink()
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


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
    if not isinstance(previous, str) or "/" in previous:
        return
    shelf = place.path / "past" / previous
    shelf.mkdir(parents=True, exist_ok=True)
    for name in LOGS:
        if (place.path / name).exists():
            (place.path / name).replace(shelf / name)
    if place.outbox.is_dir() and not place.outbox.is_symlink() and any(place.outbox.iterdir()):
        shutil.rmtree(shelf / "outbox", ignore_errors=True)
        place.outbox.rename(shelf / "outbox")


# What we write into the working directory, and so what is replaced at each run.
_OURS = (".gitmem", ".agents/skills", ".claude/skills")


def _clear(work: Path) -> None:
    for name in _OURS:
        target = work / name
        if target.is_symlink():
            target.unlink()
        elif target.exists():
            shutil.rmtree(target)


def _own_repository(work: Path) -> None:
    """A repository of the agent's own, so that its git commands meet no other."""
    if (work / ".git").exists():
        return
    run_git(["init", "-q", "--template="], cwd=work)
    info = work / ".git" / "info"
    info.mkdir(exist_ok=True)
    (info / "exclude").write_text("".join(f"/{name}/\n" for name in _OURS), encoding="utf-8")


def exclude(work: Path, names: list[str]) -> None:
    """Keep our brief out of the agent's repository."""
    file = work / ".git" / "info" / "exclude"
    if not file.parent.is_dir():
        return
    have = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    missing = [f"/{name}" for name in names if f"/{name}" not in have]
    if missing:
        file.write_text("\n".join([*have, *missing]) + "\n", encoding="utf-8")


def fingerprint(work: Path) -> frozenset[tuple[str, int, int]]:
    """What an agent has made in its working directory: (path, size, mtime) of each such file.

    Two fingerprints that are equal mean that nothing was changed, whatever the agent says.
    """
    found = set()
    for top, folders, names in os.walk(work, followlinks=False):
        inside = Path(top)
        if inside == work:
            folders[:] = [name for name in folders if name not in {".git", ".gitmem", ".agents", ".claude"}]
        for name in names:
            about = (inside / name).lstat()
            found.add(((inside / name).relative_to(work).as_posix(), about.st_size, about.st_mtime_ns))
    return frozenset(found)
