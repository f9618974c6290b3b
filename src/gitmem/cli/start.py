"""The entry point: begins what takes longest, then imports the rest.

A reading command spends half of its time on `git status` and half on imports. Git is
started before click is imported, so that both happen at once, on two cores.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from gitmem.core.places import CONFIG_FILE, WATCHED
from gitmem.store.git_status import Look

_READING_VERBS = frozenset({"list", "ls", "view", "show"})
_NOUNS = frozenset({"issue", "queue", "skill", "runs", "agent", "member"})
_READING_COMMANDS = frozenset({"status", "show", "context"})


def main() -> int:
    """Run the command in `sys.argv`; returns the exit code."""
    open_streams()
    look = early_look(sys.argv[1:])
    from gitmem.cli.main import main as run  # late: git works meanwhile

    return run(look=look)


def open_streams() -> None:
    """Give a process that was started with closed streams, as by `>&-`, streams that lead nowhere.

    Else the next file that we open would get the number of stdout, and git write into it. Reading
    such a stdin fails, as reading a closed one does.
    """
    for number, mode in enumerate((os.O_WRONLY, os.O_RDWR, os.O_RDWR)):
        try:
            os.fstat(number)
        except OSError:  # it is the lowest free number, so `open` gives just this
            os.set_inheritable(os.open(os.devnull, mode), True)
    sys.stdin = sys.stdin or open(0, closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stdout = sys.stdout or open(1, "w", closefd=False, encoding="utf-8")  # noqa: SIM115
    sys.stderr = sys.stderr or open(2, "w", closefd=False, encoding="utf-8")  # noqa: SIM115


def early_look(argv: Sequence[str]) -> Look | None:
    """A look at the uncommitted files for a command that will surely want it, else None.

    This only guesses: what is not needed after all is ended unread.
    """
    words, folder = _words(argv)
    if not _reads(words):
        return None
    root = _root(os.path.realpath(folder))
    try:
        return Look(root, WATCHED) if root else None
    except OSError:
        return None  # whoever needs git will say that it is not there


def _words(argv: Sequence[str]) -> tuple[list[str], str]:
    """(the first two words that are no options, the folder named by -C)."""
    words: list[str] = []
    folder = os.environ.get("GITMEM_DIR", "")
    waiting = iter(argv)
    for word in waiting:
        if word == "-C":
            folder = os.path.join(folder, next(waiting, ""))  # noqa: PTH118 -- pathlib costs 3 ms
        elif word == "--as":
            next(waiting, "")
        elif not word.startswith("-") and len(words) < 2:
            words.append(word)
    return words, folder or "."


def _reads(words: Sequence[str]) -> bool:
    if not words:
        return False
    if words[0] in _NOUNS:
        return len(words) > 1 and words[1] in _READING_VERBS
    return words[0] in _READING_COMMANDS


def _root(folder: str) -> str | None:
    """The folder with gitmem.yaml and .git, `folder` itself or one above."""
    while True:
        if os.path.exists(f"{folder}/{CONFIG_FILE}") and os.path.exists(f"{folder}/.git"):  # noqa: PTH110
            return folder
        above = os.path.dirname(folder)  # noqa: PTH120
        if above == folder:
            return None
        folder = above


if __name__ == "__main__":
    sys.exit(main())
