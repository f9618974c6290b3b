"""Making a workspace: a repository of its own, a branch of its own, or beside a code repository."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from gitmem.core.clock import Clock
from gitmem.core.errors import ConflictError, GitError, GitmemError, StorageError, UsageError
from gitmem.core.ids import Entropy, new_id
from gitmem.core.layout import CONFIG_FILE, slug
from gitmem.core.record import mapping, text
from gitmem.ops import identity
from gitmem.ops.people import NewMember
from gitmem.ops.template import Facts, File, public_url, template_dir, workspace_files
from gitmem.store import document, git_process
from gitmem.store.git import EMPTY_TREE, EXECUTABLE, SYMLINK, ZERO, Git, RefUpdate, TreeEntry, blob_id
from gitmem.store.git_files import Places
from gitmem.store.trees import rewrite
from gitmem.store.workspace import OWN_BRANCH, find, repository_key, user_config_path, write_aside

# The linked work tree of a workspace inside a code repository.
OWN_FOLDER = ".gitmem"

DEFAULT_BRANCH = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user asked for. `adapters` are the agent programs found on this machine."""

    name: str | None = None
    template: Path | None = None
    adapters: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Made:
    """A new workspace. `commit` is None where an existing branch was only checked out."""

    root: Path
    id: str
    name: str
    branch: str
    commit: str | None
    repository: str | None = None


@dataclass(frozen=True, slots=True)
class Maker:
    """The time, randomness and trace of one `init`."""

    now: Clock
    entropy: Entropy
    trace: str


def make(maker: Maker, folder: Path, wishes: Wishes) -> Made:
    """A workspace in a repository of its own at `folder`.

    An existing repository is used only if it has no commit yet, as after cloning an empty one.
    Raises GitmemError inside another repository, ConflictError where files are in the way,
    IdentityError; then nothing has been made.
    """
    return _make(maker, folder, wishes, None)


def make_beside(maker: Maker, code: Git, folder: Path, wishes: Wishes) -> Made:
    """A workspace at `folder` that knows the code repository, and that commands find from the code.

    Raises as `make` does, and ConflictError where the code has another workspace already.
    """
    if code.worktree is not None and folder.resolve().is_relative_to(code.worktree):
        raise UsageError(
            f"{folder} is inside the code repository",
            f"name a folder beside it: gitmem init --beside ../{code.worktree.name}-memory",
        )
    remembered = _remembering(code, folder)
    made = _make(maker, folder, wishes, code_entry(code))
    if not write_aside(user_config_path(), remembered):
        raise StorageError(
            f"the workspace is made, but {user_config_path()} cannot be written",
            f"until it can, give `-C {folder}` when you work from the code",
        )
    return made


def make_here(maker: Maker, code: Git, wishes: Wishes) -> Made:
    """A workspace on a branch of its own in a code repository, checked out in `.gitmem`.

    Branches, index, HEAD, stash, hooks and configuration of the code stay as they are. Where the
    branch is there already, as in another clone, it is only checked out.
    """
    top = code.worktree
    if top is None:
        raise UsageError("a bare repository has no place for a work tree", "gitmem init DIR")
    folder = top / OWN_FOLDER
    if os.path.lexists(folder):
        raise ConflictError(f"{folder} exists already", f"gitmem -C {folder} status")
    commit, entry = None, code_entry(code)
    if not _has_own_branch(code):
        facts = _facts(maker, code, wishes, top.name, OWN_BRANCH, entry)
        files = workspace_files(wishes.template or template_dir(), facts)
        commit = _commit(maker, code, files, facts)
        _create(code, OWN_BRANCH, commit)
    _exclude(code)
    # The code's post-checkout hook knows nothing of a workspace.
    code.run("-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet", str(folder), OWN_BRANCH)
    return _made(folder, commit, entry)


def code_entry(code: Git) -> dict[str, Any]:
    """What `repositories:` says of a code repository."""
    top = code.worktree or code.git_dir
    head = code.run("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD", ok=(0, 1))
    base = head.decode().strip().removeprefix("origin/") or code.head_branch() or DEFAULT_BRANCH
    return {"name": slug(top.name) or "code", "url": public_url(repository_key(code)), "base": base}


def _make(maker: Maker, folder: Path, wishes: Wishes, entry: Mapping[str, Any] | None) -> Made:
    git = _empty_repository(folder)
    home = git or Git(Places(folder / ".git", folder / ".git", _existing(folder)))
    branch = home.head_branch() or DEFAULT_BRANCH if git else DEFAULT_BRANCH
    facts = _facts(maker, home, wishes, folder.resolve().name, branch, entry)
    files = workspace_files(wishes.template or template_dir(), facts)
    _check_free(folder, files)
    folder.mkdir(parents=True, exist_ok=True)
    if git is None:
        git_process.run(["init", "--quiet", f"--initial-branch={branch}"], cwd=folder)
        git = Git.discover(folder)
    for path, file in files.items():
        _write(folder / path, file)
    commit = _commit(maker, git, files, facts)
    # Index first: were the branch moved before it, their next commit would take everything back.
    lines = (f"{file.mode} {blob_id(file.data)}\t{path}\0" for path, file in files.items())
    git.run("update-index", "--add", "-z", "--index-info", data="".join(lines).encode())
    _create(git, branch, commit)
    git.run("update-index", "-q", "--refresh", ok=(0, 1))
    return _made(folder, commit, entry)


def _existing(folder: Path) -> Path:
    """`folder`, or the nearest above it that is there."""
    return next(place for place in (folder.resolve(), *folder.resolve().parents) if place.is_dir())


def _empty_repository(folder: Path) -> Git | None:
    """The repository without a commit whose top is `folder`, None where there is no repository."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file", "name a folder")
    try:
        git = Git.discover(_existing(folder))
    except GitError:
        return None
    top = git.worktree or git.git_dir
    if (top / CONFIG_FILE).is_file():
        raise ConflictError(f"{top} is a workspace already", f"gitmem -C {top} status")
    if git.worktree == folder.resolve() and not git.refs("refs/heads"):
        return git
    raise GitmemError(
        f"{folder} is inside the repository {top}",
        "for a workspace beside the code: gitmem init --beside ../NAME\n"
        "      for one in this repository, on a branch of its own: gitmem init --here",
    )


def _facts(
    maker: Maker, git: Git, wishes: Wishes, folder_name: str, branch: str, entry: Mapping[str, Any] | None
) -> Facts:
    me = identity.signature(git)
    handle = identity.handle_for(me)
    return Facts(
        id=new_id(maker.entropy),
        name=wishes.name or folder_name,
        branch=branch,
        member=NewMember(handle=handle, name=me.name, emails=[me.email], role="owner"),
        adapters=wishes.adapters,
        repositories=[entry] if entry else [],
    )


def _check_free(folder: Path, files: Mapping[str, File]) -> None:
    """Raise ConflictError where a file of the user is in the place of one of ours, or of its folder."""
    wanted = {*files, *(str(up) for path in files for up in PurePosixPath(path).parents if str(up) != ".")}
    taken = sorted(path for path in wanted if _is_taken(folder / path, is_file=path in files))
    if taken:
        shown = ", ".join(taken[:5]) + (", …" if len(taken) > 5 else "")
        raise ConflictError(f"{folder} holds files of the same name: {shown}", "choose an empty folder")


def _is_taken(place: Path, *, is_file: bool) -> bool:
    return os.path.lexists(place) and (is_file or place.is_symlink() or not place.is_dir())


def _write(place: Path, file: File) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    if file.mode == SYMLINK:
        place.symlink_to(file.data.decode())
        return
    with place.open("xb") as out:
        out.write(file.data)
    if file.mode == EXECUTABLE:
        place.chmod(0o755)


def _commit(maker: Maker, git: Git, files: Mapping[str, File], facts: Facts) -> str:
    """The first commit, in the object database; no ref points at it yet."""
    batch = git.batch()
    entries = {path: TreeEntry(path, file.mode, batch.blob(file.data)) for path, file in files.items()}
    tree = rewrite(git, batch, EMPTY_TREE, entries)
    me = identity.signature(git)
    message = (
        f"workspace {facts.id}: {facts.name}\n\nGitmem-Action: init\n"
        f"Gitmem-Actor: member:{facts.member.handle}\nGitmem-Trace: {maker.trace}\n"
    )
    epoch_s = int(maker.now().timestamp())
    oid = batch.commit(tree, [], message, author=me, committer=me, epoch_s=epoch_s)
    batch.flush()
    return oid


def _create(git: Git, branch: str, commit: str) -> None:
    # `gitmem: ` in the reflog says that the commit was made here (`runner.trust` looks for it).
    git.update_refs([RefUpdate(f"refs/heads/{branch}", commit, ZERO)], "gitmem: init")


def _has_own_branch(code: Git) -> bool:
    """True where the workspace branch is there, made from the remote's if only that has it."""
    mine = code.ref(f"refs/heads/{OWN_BRANCH}")
    if mine is not None:
        if code.entry(mine, CONFIG_FILE) is None:
            raise ConflictError(
                f"there is a branch {OWN_BRANCH!r} that holds no workspace", "gitmem init --beside ../NAME"
            )
        return True
    theirs = code.ref(f"refs/remotes/origin/{OWN_BRANCH}")
    if theirs is None or code.entry(theirs, CONFIG_FILE) is None:
        return False
    _create(code, OWN_BRANCH, theirs)
    return True


def _exclude(code: Git) -> None:
    """Keep `.gitmem` out of the code's `git status`, in the one place that is never committed."""
    path = code.common_dir / "info" / "exclude"
    line = f"/{OWN_FOLDER}/"
    old = path.read_text(encoding="utf-8", errors="surrogateescape") if path.is_file() else ""
    if line in old.splitlines():
        return
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8", errors="surrogateescape") as out:
        out.write(("" if not old or old.endswith("\n") else "\n") + line + "\n")


def _remembering(code: Git, folder: Path) -> bytes:
    """The user configuration with this code repository's workspace in it."""
    path, key = user_config_path(), repository_key(code)
    data = path.read_bytes() if path.is_file() else b""
    known = mapping(document.parse(data, path.name).fields.get("workspaces"))
    other = text(known.get(key))
    if other and Path(other) != folder.resolve() and (Path(other) / CONFIG_FILE).is_file():
        raise ConflictError(f"this repository has its workspace in {other}", f"gitmem -C {other} status")
    return document.edit(data, path.name, {"workspaces": {**known, key: str(folder.resolve())}})


def _made(folder: Path, commit: str | None, entry: Mapping[str, Any] | None) -> Made:
    with find(folder) as workspace:
        config = workspace.config
        repository = text(entry.get("name")) if entry else None
        return Made(folder.resolve(), config.id, config.name, workspace.branch, commit, repository)
