"""Attempts that are under way: one thread each, which only drives the agent's program.

Everything that touches the workspace happens in the runner's own thread; the threads here
post what they see into its mailbox.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from gitmem.agents.adapter import Adapter, Event, Job, Usage, Verdict
from gitmem.agents.drive import drive
from gitmem.core.states import Reason
from gitmem.runner.ended import Attempt
from gitmem.runner.rundir import RunDir, fingerprint, write_unlinked

VERDICT_FILE = "verdict.json"


@dataclass(frozen=True, slots=True)
class Progress:
    """An event of a running agent, for people to watch."""

    run: str
    event: Event


@dataclass(frozen=True, slots=True)
class Finished:
    run: str
    verdict: Verdict
    changed: bool


Post = Callable[[Progress | Finished], None]


@dataclass
class Active:
    """An attempt that is ready to run or runs. `distrust`: why its commands must not be run."""

    attempt: Attempt
    adapter: Adapter
    job: Job
    place: RunDir
    cancel: threading.Event = field(default_factory=threading.Event)
    distrust: str | None = None
    _thread: threading.Thread | None = None

    def start(self, post: Post) -> None:
        name = f"run-{self.attempt.run}"
        self._thread = threading.Thread(target=self._follow, args=(post,), name=name)
        self._thread.start()

    def join(self) -> None:
        """Wait for the thread, which has posted its end."""
        if self._thread is not None:
            self._thread.join()

    def _follow(self, post: Post) -> None:
        run = self.attempt.run
        before = fingerprint(self.place.work)
        try:
            verdict = drive(
                self.adapter, self.job, cancel=self.cancel, on_event=lambda event: post(Progress(run, event))
            )
        except Exception as error:  # a fault of ours must end the run, not the runner
            verdict = Verdict(Reason.INTERNAL, f"{type(error).__name__}: {error}")
        after = fingerprint(self.place.work)
        changed = bool(after) and after != before
        post(Finished(run, verdict, changed))


def save_verdict(place: RunDir, finished: Finished) -> None:
    """Keep how the turn ended, so that a crash before the delivery loses nothing."""
    said = {"run": finished.run, "changed": finished.changed, **asdict(finished.verdict)}
    try:
        write_unlinked(place.path / VERDICT_FILE, json.dumps(said).encode())
    except OSError:
        return  # the delivery itself will say that the disk is full


def load_verdict(place: RunDir, run: str) -> Finished | None:
    """The kept end of `run`, or None where it had not ended."""
    try:
        said: dict[str, Any] = json.loads((place.path / VERDICT_FILE).read_bytes())
        if said.pop("run") != run:
            return None
        changed = bool(said.pop("changed"))
        reason = Reason(said.pop("reason")) if said["reason"] else said.pop("reason")
        return Finished(run, Verdict(reason=reason, usage=Usage(**said.pop("usage")), **said), changed)
    except (OSError, ValueError, KeyError, TypeError):
        return None
