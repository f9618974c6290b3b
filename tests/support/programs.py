"""Small programs of the crash tests: each is a whole process that does one thing to a workspace."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from gitmem.core.ids import parse_actor
from gitmem.runner.loop import Runner
from gitmem.runner.options import Notice, Options
from gitmem.store.change import Change
from gitmem.store.workspace import find
from tests.conftest import NOW


def change_three_files() -> None:
    """Edit one file, add one, remove one, in the workspace named by the first argument."""
    with find(Path(sys.argv[1])) as ws:
        change = Change(ws, actor=parse_actor("agent:claude"), action="x", now=NOW, trace="0" * 32)
        change.edit("notes/edited.txt", lambda data: data.replace(b"old", b"new"))
        change.create("notes/fresh/added.txt", b"new\n")
        change.delete("notes/removed.txt")
        change.commit("change three files")


def run_once() -> None:
    """A runner that works on the workspace named by the first argument until nothing is ready."""
    with find(Path(sys.argv[1])) as ws:
        Runner(
            ws,
            parse_actor("member:ana"),
            Options(once=True),
            now=lambda: NOW,
            entropy=os.urandom,
            tell=_say,
        ).run()


def _say(notice: Notice) -> None:
    sys.stderr.write(f"{notice}\n")
