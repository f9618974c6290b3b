"""Real agent programs in a home of their own, driven against a model server on loopback."""

from __future__ import annotations

import os
import shutil
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from gitmem.agents.adapter import Adapter, Event, Job, Verdict
from gitmem.agents.drive import Pace, drive
from gitmem.agents.registry import adapter_named
from tests.conformance.differs import DIFFERS
from tests.conformance.programs import (
    NODE,
    PROGRAMS,
    SYSTEM_PATH,
    Program,
    cache,
    installed,
    installed_from_pypi,
    locked,
)
from tests.conformance.table import Note, note

# Driven in every run of the tests; the others take an hour and more, and gigabytes to install.
EVERY_RUN = frozenset({"claude", "codex"})


def pytest_itemcollected(item: pytest.Item) -> None:
    params = getattr(getattr(item, "callspec", None), "params", {})
    named = {value for value in params.values() if isinstance(value, str)} & set(PROGRAMS)
    if named - EVERY_RUN:
        item.add_marker(pytest.mark.extended)


@pytest.fixture(scope="session")
def install() -> Callable[[Program], str]:
    """Gives the PATH on which a program is found, the right node before it."""
    if shutil.which("npm") is None:
        pytest.skip("npm is needed to install the agent programs")
    folder = cache()
    outer = os.environ["PATH"]

    def path_of(program: Program) -> str:
        if program.index == "pypi":
            return f"{installed_from_pypi(folder, program.package, program.version)}:{SYSTEM_PATH}"
        node = installed(folder, *NODE, path=outer)
        own = installed(folder, program.package, program.version, path=f"{node}:{outer}")
        return f"{node}:{own}:{SYSTEM_PATH}"

    return path_of


@dataclass
class Bench:
    """One program, one run directory; `events` are those of the last turn."""

    program: Program
    path: str
    folder: Path
    events: list[Event] = field(default_factory=list)

    @property
    def adapter(self) -> Adapter:
        return adapter_named(self.program.adapter)

    @property
    def work(self) -> Path:
        return self.folder / "work"

    @property
    def outbox(self) -> Path:
        return self.work / ".gitmem" / "outbox"

    def job(self, url: str, prompt: str = "Do the task.", **changes: object) -> Job:
        home = self.folder / "home"
        job = Job(
            self.work,
            self.folder,
            prompt,
            env=self.program.settings(home, url),
            home=home,
            timeout_s=max(90, self.program.quiet_s + 30),
            idle_timeout_s=self.program.quiet_s,
            start_timeout_s=60,
        )
        job = replace(job, **changes)  # type: ignore[arg-type]
        return replace(job, idle_timeout_s=max(job.idle_timeout_s, self.program.start_s))

    def turn(
        self,
        job: Job,
        cancel: threading.Event | None = None,
        on_event: Callable[[Event], None] = lambda _event: None,
    ) -> Verdict:
        self.events = []

        def note(event: Event) -> None:
            self.events.append(event)
            on_event(event)

        outer = {"PATH": self.path, "HOME": str(self.folder / "no-home"), "LANG": "C.UTF-8"}
        flag = cancel or threading.Event()
        return drive(self.adapter, job, cancel=flag, on_event=note, outer=outer, pace=Pace(linger_s=10))


@pytest.fixture(params=sorted(PROGRAMS))
def bench(
    request: pytest.FixtureRequest, install: Callable[[Program], str], tmp_path: Path
) -> Iterator[Bench]:
    program = PROGRAMS[request.param]
    skip_where_it_differs(request, program)
    bench = Bench(program, install(program), tmp_path)
    bench.outbox.mkdir(parents=True)
    with turn_of(program):
        yield bench


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Note for the table how a test of a program ended."""
    report = yield
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    program = PROGRAMS.get(parameters.get("bench") or parameters.get("workspace") or "")
    if program and (report.when == "call" or not report.passed):
        why = str(report.longrepr[2]).removeprefix("Skipped: n/a: ") if report.skipped else ""
        note(Note(case_of(item.name, program), program.adapter, program.version, report.outcome, why))
    return report


def case_of(node: str, program: Program) -> str:
    """`name` or `name[case]`: the name of a test without the program."""
    name, _, cases = node.partition("[")
    case = cases.rstrip("]").replace(program.adapter, "", 1).strip("-")
    return f"{name}[{case}]" if case else name


def skip_where_it_differs(request: pytest.FixtureRequest, program: Program) -> None:
    """A cell that does not apply is skipped with what was seen."""
    name = case_of(request.node.name, program)
    differs = DIFFERS.get(program.adapter, {})
    seen = differs.get(name) or differs.get(name.partition("[")[0])
    if seen:
        pytest.skip(f"n/a: {program.adapter} {program.version}: {seen}")


def turn_of(program: Program) -> AbstractContextManager[None]:
    """Holds back all but one of the tests of a heavy program."""
    return locked(cache(), f"{program.adapter}.turn") if program.heavy else nullcontext()


@pytest.fixture
def closed_port() -> str:
    """A URL where nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{sock.getsockname()[1]}"
