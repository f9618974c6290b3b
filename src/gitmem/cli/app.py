"""What every command is given: where to look, who acts, how to print. Built once per process."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gitmem.cli.console import Console
from gitmem.core.clock import Clock
from gitmem.core.errors import UsageError
from gitmem.core.ids import Actor, Entropy

if TYPE_CHECKING:
    from gitmem.ops.desk import Desk
    from gitmem.ops.view import View
    from gitmem.store.git_status import Look
    from gitmem.store.reader import Reader
    from gitmem.store.workspace import Workspace


@dataclass
class App:
    """The options that hold for every command, and what they lead to (opened when first asked for)."""

    console: Console
    now: Clock
    entropy: Entropy
    environ: Mapping[str, str]
    directory: Path = Path()
    actor: str | None = None
    no_input: bool = False
    look: Look | None = None
    _workspace: Workspace | None = None
    _reader: Reader | None = None
    _view: View | None = None
    _trace: str = ""
    _closers: list[Callable[[], None]] = field(default_factory=list)

    def path(self, text: str) -> Path:
        """`text` as seen from the directory given by -C."""
        return self.directory / text

    @property
    def workspace(self) -> Workspace:
        """Raises NotAWorkspaceError, UnsupportedFormatError."""
        if self._workspace is None:
            from gitmem.store.workspace import find  # late: `--help` needs no workspace

            if not self.directory.is_dir():
                raise UsageError(f"there is no directory {self.directory}")
            self._workspace = find(self.directory)
            self._closers.append(self._workspace.git.close)
        return self._workspace

    @property
    def reader(self) -> Reader:
        if self._reader is None:
            from gitmem.store.reader import Reader  # late: `--help` reads no records

            look, self.look = self.look, None
            self._reader = Reader(self.workspace, self.console.progress("reading files"), look=look)
            self._closers.append(self._reader.close)
        return self._reader

    @property
    def viewer(self) -> Actor | None:
        """Who was named: by --as, else by the run that this process is part of.

        Without the latter an agent's own `gitmem issue comment` would be signed by the person
        in whose home it works. Raises UsageError, and NotFoundError for a name that --as misspells.
        """
        from gitmem.core.ids import parse_actor  # late: `--help` acts as nobody

        agent = self.environ.get("GITMEM_AGENT")
        if not self.actor:
            return parse_actor(f"agent:{agent}") if agent else None
        from gitmem.ops.identity import who  # late: the person's own lists name nobody

        return who(self.workspace.git, self.reader, self.actor)

    def actor_text(self, text: str) -> str:
        """An actor as people type it, with `me` as the actor that it stands for."""
        return str(self.desk().actor) if text == "me" else text

    @property
    def view(self) -> View:
        """The reader, behind the access gate where somebody was named."""
        if self._view is None:
            from gitmem.ops.view import View  # late: `--help` reads no records

            gate, viewer = None, self.viewer
            if viewer:
                from gitmem.memory.access import Gate  # late: 5 ms that the person's own lists do not need

                gate = Gate(self.reader, viewer)
            self._view = View(self.reader, gate)
        return self._view

    @property
    def trace(self) -> str:
        """The trace id of this process: the run's, if it is part of one."""
        from gitmem.ops.desk import trace_id  # late: reading verbs write nothing

        if not self._trace:
            self._trace = trace_id(self.environ.get("GITMEM_TRACE"), self.entropy)
        return self._trace

    def desk(self) -> Desk:
        """The desk of the acting person or agent.

        Raises IdentityError where git does not know who that is.
        """
        from gitmem.ops.desk import Desk  # late: reading verbs write nothing
        from gitmem.ops.identity import who

        actor = self.viewer or who(self.workspace.git, self.reader, None)
        return Desk(self.workspace, actor, self.now, self.entropy, self.trace)

    def close(self) -> None:
        if self.look is not None:
            self.look.close()
        while self._closers:
            self._closers.pop()()


def state_dir(environ: Mapping[str, str]) -> Path:
    """The user's own folder for what may be deleted: crash reports, run directories."""
    base = environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "gitmem"


def runs_dir(environ: Mapping[str, str]) -> Path:
    """Where run directories are made."""
    return Path(environ["GITMEM_RUNS"]) if environ.get("GITMEM_RUNS") else state_dir(environ)


pass_app = click.make_pass_decorator(App)
