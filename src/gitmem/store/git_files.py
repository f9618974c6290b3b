"""What git keeps in plain files and we read without starting it: places, refs, unfinished operations."""

from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from gitmem.core.errors import GitError


class Places(NamedTuple):
    """Where a repository lies; in a linked work tree `git_dir` and `common_dir` differ."""

    git_dir: Path
    common_dir: Path
    worktree: Path | None


def find_places(start: Path) -> Places:
    """The repository that holds `start`, itself or a parent, bare ones included.

    Raises GitError where there is none.
    """
    for folder in (start, *start.parents):
        dot_git = folder / ".git"
        if dot_git.is_dir() and _is_git_dir(dot_git):
            common = _common_dir(dot_git)
            return Places(dot_git, common, _main_tree(common))
        if dot_git.is_file():
            git_dir = _linked(dot_git)
            return Places(git_dir, _common_dir(git_dir), folder)
        if _is_git_dir(folder):
            return _inside_git_dir(folder)
    raise GitError(f"{start} is not in a git repository")


def _inside_git_dir(folder: Path) -> Places:
    common = _common_dir(folder)
    return Places(folder, common, _main_tree(common) if folder == common else None)


def _is_git_dir(folder: Path) -> bool:
    if not (folder / "HEAD").is_file():
        return False
    return (folder / "objects").is_dir() or (folder / "commondir").is_file()


def _linked(dot_git: Path) -> Path:
    text = dot_git.read_text(encoding="utf-8", errors="replace").strip()
    prefix, _, target = text.partition("gitdir: ")
    if prefix or not target:
        raise GitError(f"{dot_git} is not a link to a git directory")
    return (dot_git.parent / target).resolve()


def _common_dir(git_dir: Path) -> Path:
    try:
        text = (git_dir / "commondir").read_text(encoding="utf-8").strip()
    except OSError:
        return git_dir
    return (git_dir / text).resolve()


def read_ref(places: Places, name: str) -> str | None:
    """The oid of a ref, None where it does not exist; raises LookupError where only git can tell."""
    base = places.git_dir if "/" not in name else places.common_dir
    for _ in range(5):  # git's own limit on symbolic references
        text = _read_small(base / name)
        if text is None:
            return _packed(places.common_dir, name)
        if not text.startswith("ref: "):
            return text
        name = text[5:].strip()
        base = places.common_dir
        if name.startswith("refs/heads/.invalid"):
            raise LookupError(name)  # the reftable backend keeps a dummy HEAD
    return None


def _read_small(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip() or None
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None


def _packed(common_dir: Path, name: str) -> str | None:
    if (common_dir / "reftable").is_dir():
        raise LookupError(name)
    return next((oid for known, oid in _packed_refs(common_dir) if known == name), None)


def _packed_refs(common_dir: Path) -> Iterator[tuple[str, str]]:
    try:
        lines = (common_dir / "packed-refs").read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return
    for line in lines:
        if line[:1] not in {"#", "^", ""}:
            oid, _, name = line.partition(" ")
            yield name, oid


def read_refs(places: Places, prefix: str) -> dict[str, str]:
    """Full name → oid of every ref below the folder `prefix`; LookupError where only git can tell."""
    if (places.common_dir / "reftable").is_dir():
        raise LookupError(prefix)
    found = {name: oid for name, oid in _packed_refs(places.common_dir) if name.startswith(f"{prefix}/")}
    folder = places.common_dir / prefix
    for file in sorted(folder.rglob("*")) if folder.is_dir() else []:
        oid = _read_small(file) if not file.name.endswith(".lock") else None
        if oid:
            found[file.relative_to(places.common_dir).as_posix()] = oid
    return found


def head_branch(git_dir: Path) -> str | None:
    """The short name of the branch that is checked out, None where HEAD is detached."""
    text = _read_small(git_dir / "HEAD") or ""
    prefix = "ref: refs/heads/"
    return text[len(prefix) :] if text.startswith(prefix) else None


def worktrees(places: Places) -> list[Places]:
    """The main work tree, if it can be found, and every linked one that is still there."""
    common = places.common_dir
    main = _main_of(places)
    found = [Places(common, common, main)] if main else []
    for entry in _linked_dirs(common):
        tree = _linked_tree(entry)
        if tree is not None:
            found.append(Places(entry, common, tree))
    return found


def lost_worktrees(places: Places) -> list[Path]:
    """The git directories of work trees that there are, but that cannot be found from here.

    Nothing says where the main one is after `git init --separate-git-dir`, except to those
    who stand in it; a linked one that is `locked` may lie on a disk that is not mounted.
    """
    common = places.common_dir
    lost = [e for e in _linked_dirs(common) if (e / "locked").exists() and _linked_tree(e) is None]
    if _main_of(places) is None and (common / "index").exists() and not _is_bare(common):
        lost.append(common)
    return lost


def _linked_dirs(common: Path) -> list[Path]:
    folder = common / "worktrees"
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _linked_tree(git_dir: Path) -> Path | None:
    dot_git = _read_small(git_dir / "gitdir")
    place = git_dir / dot_git if dot_git else None
    return place.parent.resolve() if place and place.exists() else None


def _main_of(places: Places) -> Path | None:
    here = places.worktree if places.git_dir == places.common_dir else None
    return here or _main_tree(places.common_dir)


def _main_tree(common: Path) -> Path | None:
    """The work tree that leads to this git directory; None where it is bare or nothing tells where."""
    told = _told_worktree(common)
    if told is None and (common.name != ".git" or _is_bare(common)):
        return None
    tree = (common / told).resolve() if told else common.parent
    dot_git = tree / ".git"
    with suppress(OSError, GitError):
        if (_linked(dot_git) if dot_git.is_file() else dot_git.resolve()) == common.resolve():
            return tree
    return None


_NO = ("false", "no", "off", "0")


def _is_bare(common: Path) -> bool:
    said = [settings["bare"] for _, settings in _configs(common) if "bare" in settings]
    return bool(said) and not said[-1].lower().startswith(_NO)


def _told_worktree(common: Path) -> str | None:
    told = [file for file, settings in _configs(common) if "worktree" in settings]
    return _ask_worktree(told[-1], told[-1].read_bytes()) if told else None


def _configs(common: Path) -> Iterator[tuple[Path, dict[str, str]]]:
    """The files that git takes core.bare and core.worktree from, with the keys of all sections.

    No other section has keys of these names, so that git need not be started for the common case.
    """
    for name in ("config", "config.worktree"):
        try:
            text = (common / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        pairs = (line.partition("=") for line in text.splitlines())
        yield common / name, {key.rpartition("]")[2].strip().lower(): v.strip() for key, _, v in pairs}


@lru_cache(maxsize=8)
def _ask_worktree(file: Path, _text: bytes) -> str | None:
    """core.worktree, with git's own quoting; asked again when the file has changed."""
    from gitmem.store import git_process  # late: only where there is such a setting

    out = git_process.run(
        ["config", "--file", str(file), "--get", "core.worktree"], cwd=file.parent, ok=(0, 1)
    )
    return out.decode("utf-8", "surrogateescape").removesuffix("\n") or None


class Operation(StrEnum):
    """What a user can be in the middle of; the value is the word for people."""

    MERGE = "merge"
    CHERRY_PICK = "cherry-pick"
    REVERT = "revert"
    REBASE = "rebase"
    AM = "am"


_SIGNS = (
    ("MERGE_HEAD", Operation.MERGE),
    ("CHERRY_PICK_HEAD", Operation.CHERRY_PICK),
    ("REVERT_HEAD", Operation.REVERT),
    ("rebase-merge", Operation.REBASE),
    ("rebase-apply", Operation.AM),
)


def operation(git_dir: Path) -> Operation | None:
    """The unfinished operation of the work tree that belongs to `git_dir`."""
    for sign, found in _SIGNS:
        if (git_dir / sign).exists():
            return Operation.REBASE if (git_dir / sign / "rebasing").exists() else found
    return None


def rebased_branch(git_dir: Path) -> str | None:
    """The branch that an unfinished rebase will move when it ends."""
    for folder in ("rebase-merge", "rebase-apply"):
        text = _read_small(git_dir / folder / "head-name")
        if text and text.startswith("refs/heads/"):
            return text[len("refs/heads/") :]
    return None
