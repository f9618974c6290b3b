"""Finding and opening a workspace.

The root is the folder that holds `gitmem.yaml`; it names the branch that is the truth,
whatever is checked out. From a code repository the workspace is found through a linked work
tree of its branch `gitmem`, or through the user's own configuration.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from gitmem.core.config import FORMAT_VERSION, WorkspaceConfig, config_of
from gitmem.core.errors import (
    GitError,
    InvalidDocumentError,
    NotAWorkspaceError,
    StorageError,
    UnsupportedFormatError,
)
from gitmem.core.layout import CONFIG_FILE
from gitmem.store import git_files
from gitmem.store.git import Git

# The branch of its own that a workspace inside a code repository lives on (`init --here`).
OWN_BRANCH = "gitmem"
# Where a workspace can be when the folder at hand shows no gitmem.yaml.
_LIKELY_BRANCHES = (OWN_BRANCH, "main", "master")


class Workspace:
    """An opened workspace: its repository, its configuration, its branch."""

    def __init__(self, git: Git, config: WorkspaceConfig) -> None:
        self.git = git
        self.config = config
        self.branch = config.branch
        self.ref = f"refs/heads/{config.branch}"

    @cached_property
    def checkout(self) -> git_files.Places | None:
        """The work tree in which the workspace branch is checked out, if there is one."""
        places = self.git.places
        if places.worktree and git_files.head_branch(places.git_dir) == self.branch:
            return places
        for other in git_files.worktrees(places):
            if git_files.head_branch(other.git_dir) == self.branch:
                return other
        return None

    def forget_checkout(self) -> None:
        """Look again at what is checked out when it is next asked for."""
        self.__dict__.pop("checkout", None)

    @property
    def root(self) -> Path | None:
        """The folder of the working files, None where the branch is not checked out."""
        return self.checkout.worktree if self.checkout else None

    @property
    def index_path(self) -> Path:
        return self.git.state_dir / "index.sqlite"

    def tip(self) -> str:
        """The commit that the workspace branch is at.

        Raises NotAWorkspaceError where the branch has no commit yet.
        """
        oid = self.git.ref(self.ref)
        if oid is None:
            raise NotAWorkspaceError(
                f"the workspace branch {self.branch!r} has no commit",
                f"commit {CONFIG_FILE} on it, or let {CONFIG_FILE} name the right branch",
            )
        return oid

    def refresh(self) -> None:
        """Look again at what is checked out and what `gitmem.yaml` says; a broken one changes nothing."""
        self.forget_checkout()
        data = None
        if self.root is not None and (self.root / CONFIG_FILE).is_file():
            data = _read_config(self.root / CONFIG_FILE)
        else:
            data = _committed_config(self.git, self.branch)
        with suppress(InvalidDocumentError):
            self.config = config_of(_config_fields(self.git, data)) if data else self.config

    def close(self) -> None:
        self.git.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def find(start: Path) -> Workspace:
    """The workspace at `start`, above it, in its repository, or remembered for its repository.

    Raises NotAWorkspaceError, UnsupportedFormatError or InvalidDocumentError.
    """
    start = start.resolve()
    if not start.is_dir():
        raise NotAWorkspaceError(f"{start} is not a folder")
    try:
        git = Git.discover(start)
    except GitError:
        raise _none_here(start) from None
    found = _in_repository(git) or _remembered(git)
    if found is None or found.git is not git:
        git.close()
    if found is None:
        raise _none_here(start)
    _recover(found)
    return found


def _recover(workspace: Workspace) -> None:
    """After a crash in the middle of a change, that comes before anything else (see `journal`)."""
    lock = workspace.checkout.git_dir / "index.lock" if workspace.checkout else None
    if (workspace.git.state_dir / "journal.json").exists() or (lock and lock.exists()):
        from gitmem.store.journal import recover  # late: only after a crash

        recover(workspace)


def _none_here(start: Path) -> NotAWorkspaceError:
    return NotAWorkspaceError(
        f"{start} is not in a gitmem workspace", "make one with `gitmem init DIR`, or name one with `-C DIR`"
    )


def _in_repository(git: Git) -> Workspace | None:
    top = git.worktree
    if top and (top / CONFIG_FILE).is_file():
        return open_workspace(git, _read_config(top / CONFIG_FILE))
    branches = _LIKELY_BRANCHES if top else (git.head_branch(), *_LIKELY_BRANCHES)
    for branch in branches:
        data = _committed_config(git, branch) if branch else None
        if data is not None:
            return open_workspace(git, data)
    return None


def _committed_config(git: Git, branch: str) -> bytes | None:
    oid = git.ref(f"refs/heads/{branch}")
    if oid is None or len(oid) != 40:
        return None
    entry = git.entry(oid, CONFIG_FILE)
    return git.blob(entry.oid) if entry else None


def _read_config(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror}") from error


def open_workspace(git: Git, config_file: bytes) -> Workspace:
    """The workspace whose `gitmem.yaml` has these bytes.

    Raises UnsupportedFormatError for a newer format, InvalidDocumentError for a broken file.
    """
    fields = _config_fields(git, config_file)
    version = fields.get("format")
    if isinstance(version, int) and version > FORMAT_VERSION:
        raise UnsupportedFormatError(
            f"this workspace has format {version}; this gitmem reads up to format {FORMAT_VERSION}",
            "install a newer gitmem: pip install --upgrade gitmem-workspace",
        )
    config = config_of(fields)
    oid = git.ref(f"refs/heads/{config.branch}")
    if oid is not None and len(oid) != 40:
        raise UnsupportedFormatError(
            "this repository uses SHA-256 object ids; gitmem works on SHA-1 repositories"
        )
    return Workspace(git, config)


def _config_fields(git: Git, data: bytes) -> dict[str, Any]:
    """The parsed `gitmem.yaml`, from a cache beside its text: loading YAML costs half a command."""
    cache = git.state_dir / "config.json"
    text = data.decode("utf-8", "surrogateescape")
    try:
        known = json.loads(cache.read_bytes())
        if known["text"] == text and isinstance(known["fields"], dict):
            return dict(known["fields"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    fields = _parse_config(data)
    write_aside(cache, json.dumps({"text": text, "fields": fields}).encode())
    return fields


def _parse_config(data: bytes) -> dict[str, Any]:
    from gitmem.store import document  # late: imports yaml

    parsed = document.parse(data, CONFIG_FILE, whole_yaml=True)
    if parsed.problems:
        first = parsed.problems[0]
        raise InvalidDocumentError(
            f"{CONFIG_FILE}:{first.line}:{first.column}: {first.message}",
            first.hint,
            problems=parsed.problems,
        )
    return parsed.fields


def write_aside(path: Path, data: bytes) -> bool:
    """Write a cache file whole or not at all; False where the place cannot be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        return False
    return True


def user_config_path() -> Path:
    """The user's own configuration file, never part of a workspace."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "gitmem" / "config.yaml"


def repository_key(git: Git) -> str:
    """What the user configuration knows a code repository by: its remote's address, else its path."""
    out = git.run("config", "--get", "remote.origin.url", ok=(0, 1)).decode().strip()
    return out or str(git.worktree or git.git_dir)


def _remembered(git: Git) -> Workspace | None:
    path = user_config_path()
    if not path.is_file():
        return None
    from gitmem.store import document  # late: imports yaml

    known = document.parse(path.read_bytes(), str(path), whole_yaml=True).fields.get("workspaces")
    place = known.get(repository_key(git)) if isinstance(known, dict) else None
    if not isinstance(place, str) or not (Path(place) / CONFIG_FILE).is_file():
        return None
    return _in_repository(Git.discover(Path(place)))
