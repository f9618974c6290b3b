"""Which commit introduced a file: where the id of a file that does not say its own comes from."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gitmem.core.errors import GitError
from gitmem.core.layout import RECORD_FOLDERS

if TYPE_CHECKING:
    from gitmem.store.git import Git

_MARK = "\x01"


def introductions(git: Git, known: Mapping[str, str], since: str | None, tip: str) -> dict[str, str]:
    """Path → `<time> <commit>` of the latest commit reachable from `tip` that added it.

    `known` holds the paths to look for, with the answer at commit `since` where there is one,
    else ''. The answer is a function of `tip` alone: every clone with the whole history finds
    the same (a shallow clone ends early, and so may answer otherwise). A file that came into
    being in a merge commit has no such commit and stays ''.
    """
    found = dict(known)
    new = {path for path, told in known.items() if not told}
    if since is not None and _is_ancestor(git, since, tip):
        _take_later(found, git, f"{since}..{tip}", known)
        unfound = [path for path in new if not found[path]]
    else:
        found = dict.fromkeys(known, "")
        unfound = list(known)
    if unfound:
        _take_later(found, git, tip, set(unfound))
    return found


def added_by(git: Git, paths: Iterable[str], tip: str) -> dict[str, str]:
    """Path → the latest commit reachable from `tip` that added it, in one walk over the files' folders.

    Paths that no commit added, uncommitted ones among them, are left out.
    """
    wanted = dict.fromkeys(paths, "")
    if wanted:
        _take_later(wanted, git, tip, set(wanted), _folders(wanted))
    return {path: told.rpartition(" ")[2] for path, told in wanted.items() if told}


def order_of(git: Git, paths: Iterable[str], tip: str) -> dict[str, int]:
    """Path → the place in history of the latest commit that added it, from 0 up; one walk.

    Files of one commit share a place. Paths that no commit added are left out.
    """
    wanted = set(paths)
    added: dict[str, str] = {}
    for told, path in _additions(git, tip, _folders(wanted)) if wanted else ():
        if path in wanted:
            added.setdefault(path, told)
    places = {told: place for place, told in enumerate(reversed(dict.fromkeys(added.values())))}
    return {path: places[told] for path, told in added.items()}


def _folders(paths: Iterable[str]) -> list[str]:
    """The folders of the paths, as git takes them: few, where the paths may be too many for a command."""
    return sorted({f":(top,literal){path.rpartition('/')[0]}" for path in paths})


def _is_ancestor(git: Git, old: str, new: str) -> bool:
    try:
        git.run("merge-base", "--is-ancestor", old, new)
    except GitError:  # no ancestor, or collected
        return False
    return True


def _take_later(
    found: dict[str, str],
    git: Git,
    revisions: str,
    wanted: Collection[str],
    folders: Sequence[str] = RECORD_FOLDERS,
) -> None:
    for told, path in _additions(git, revisions, folders):
        if path in wanted and told > found[path]:
            found[path] = told


def _additions(git: Git, revisions: str, folders: Sequence[str]) -> Iterator[tuple[str, str]]:
    """(time and commit, path) of every addition of a file in one of the folders."""
    out = git.run(
        "-c", "log.showRoot=true", "log", "--full-history", "--diff-filter=A", "--no-renames", "--name-only",
        "--no-show-signature", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", f"--format={_MARK}%cd %H", "-z",
        revisions, "--", *folders, env={"TZ": "UTC"},
    )  # fmt: skip
    told = ""
    for item in out.decode("utf-8", "surrogateescape").split("\0"):
        word = item.lstrip("\n")
        if word.startswith(_MARK):
            head, _, rest = word[1:].partition("\n")
            told, word = head, rest.lstrip("\n")
        if word:
            yield told, word
