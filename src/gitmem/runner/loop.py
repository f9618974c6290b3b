"""The runner: reconcile, then dispatch; woken by the bell, a timer, an agent's end, or stop.

Every tick derives the state from git again, so that a runner that is killed at any instruction
and started anew goes on from what is true.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace

from gitmem.agents.adapter import Verdict
from gitmem.core.clock import Clock, parse_stamp
from gitmem.core.dispatch import Board, Ready, decide
from gitmem.core.errors import (
    ConflictError,
    GitError,
    GitmemError,
    IdentityError,
    LockedError,
    StorageError,
)
from gitmem.core.ids import Actor, Entropy
from gitmem.core.states import Reason
from gitmem.runner import board, reconcile
from gitmem.runner.active import Active, Finished, Progress, save_verdict
from gitmem.runner.bell import Bell
from gitmem.runner.ended import Delivered
from gitmem.runner.ending import Ending, end, hand_back, is_cancelled, undeliverable
from gitmem.runner.mailbox import Mailbox
from gitmem.runner.options import Notice, Options, Summary, Tell
from gitmem.runner.pin import runner_name
from gitmem.runner.starting import Starter
from gitmem.runner.trust import Trust
from gitmem.store import claims
from gitmem.store.journal import recover
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

# The timer: what the bell missed is seen at the latest after this.
TIMER_S = 15.0
# After a start or delivery that could not be made (the user is in a merge, the disk is full).
RETRY_S = 2.0

# With `once` somebody waits for us: after so many tries, RETRY_S apart, we end and say so.
ONCE_TRIES_MAX = 15

# What passes by itself or by what a person does elsewhere; anything else fails the same way again.
TRANSIENT = (LockedError, StorageError, ConflictError, GitError, IdentityError)


class Runner:
    """One runner at one workspace. `tell` is called in the thread of `run`."""

    def __init__(
        self,
        workspace: Workspace,
        actor: Actor,
        options: Options,
        *,
        now: Clock,
        entropy: Entropy,
        tell: Tell,
    ) -> None:
        self.workspace, self.actor, self.options = workspace, actor, options
        self.now, self.entropy, self.tell = now, entropy, tell
        self.name = runner_name(workspace, entropy)
        self.summary = Summary()
        self._starter = Starter(workspace, self.name, now, entropy, Trust(workspace))
        self._mail = Mailbox()
        self._active: dict[str, Active] = {}
        self._endings: list[Ending] = []
        self._stopping = threading.Event()
        self._held: dict[str, str] = {}
        self._seen: object = None
        self._troubled = False
        self._wake_s = TIMER_S
        self._adopted = False
        self._invalid: dict[str, str] = {}
        self._refused: dict[str, tuple[str, str]] = {}
        self._failures: Counter[str] = Counter()
        self._deadline = time.monotonic() + (options.max_time_s or float("inf"))

    def stop(self) -> None:
        """Ask the runner to stop: its agents are ended, their tasks go back to the queue. Signal-safe."""
        self._stopping.set()
        self._mail.ring()

    def run(self) -> Summary:
        """Work until stopped, or, with `once`, until nothing is ready and nothing runs."""
        self.tell(Notice("runner", {"runner": self.name, "branch": self.workspace.branch}))
        with Bell(self.workspace, self._mail.ring):
            try:
                while not self._stopping.is_set() and time.monotonic() < self._deadline:
                    idle = self._tick()
                    if self._is_stuck():
                        break
                    if idle and self.options.once and not self._troubled:
                        break
                    self._wait()
            finally:
                self._end_all()
        return self.summary

    def _is_stuck(self) -> bool:
        """With `once`: nothing but a result that cannot be delivered is left; the next runner will try."""
        tries = [self._failures[ending.attempt.run] for ending in self._endings]
        stuck = self.options.once and not self._active and any(n >= ONCE_TRIES_MAX for n in tries)
        self.summary.gave_up |= stuck
        return stuck

    # -- one tick

    def _tick(self) -> bool:
        """Derive the state, end what has ended, start what may start; True where nothing is left to do."""
        self._troubled = False
        self.workspace.refresh()
        recover(self.workspace)
        self._renew_claims()
        with closing(Reader(self.workspace)) as reader:
            if not self.options.dry_run:
                self._end_finished(reader)
                self._reconcile(reader)
            if self.workspace.tip() == reader.commit:
                idle = self._dispatch(reader)
            else:  # by our own commits; what the user has uncommitted is what it was a moment ago
                with closing(Reader(self.workspace, uncommitted=self._left(reader))) as fresh:
                    idle = self._dispatch(fresh)
        self._seen = board.signature(self.workspace)
        return idle and not (self._active or self._endings)

    def _left(self, reader: Reader) -> frozenset[str] | None:
        return None if self._adopted else reader.uncommitted

    def _reconcile(self, reader: Reader) -> None:
        self._adopted = False
        held = claims.read_all(self.workspace.git)
        for lost in reconcile.take_over(self.workspace, reader, held, self.name, self.now, self.entropy):
            self.tell(Notice("taken_over", {"task": lost.attempt.task.id, "run": lost.attempt.run}))
            self._endings.append(Ending(lost.attempt, lost.place, lost.finished))
        self._end_finished(reader)
        try:
            trace = self.entropy(16).hex()
            if reconcile.fill_in(self.workspace, reader, self.actor, self.now, trace):
                self._adopted = True
            self._invalid = reconcile.invalid_tasks(reader)
            for task in reconcile.adopt(self.workspace, reader, self._invalid, self.actor, self.now, trace):
                self._adopted = True
                self.tell(Notice("adopted", {"task": task}))
            for task in reconcile.answer_waiting(self.workspace, reader, self.now, trace):
                self.tell(Notice("answered", {"task": task}))
        except GitmemError as error:
            self._trouble(error)

    def _dispatch(self, reader: Reader) -> bool:
        """Start what may start; True where nothing may."""
        self._stop_cancelled(reader)
        ready, waits = self._decide(reader)
        if self.options.dry_run:
            self._tell_would_start(ready)
            return True
        for item in ready[: self._free_places()]:
            self._start(reader, item)
        self._wake_s = min(waits, RETRY_S if self._troubled else TIMER_S)
        return not ready

    def _decide(self, reader: Reader) -> tuple[list[Ready], float]:
        """(what may start, seconds until something that waits for a time may)."""
        left_out = {**self._invalid, **self._not_startable(reader.commit)}
        state: Board = board.read(self.workspace, reader, self.options.agents, left_out)
        now = self.now()
        ready, held = decide(state, now)
        known = {**left_out, **{item.task.id: item.reason for item in held}}
        for task, reason in known.items():
            if self._held.get(task) != reason:
                self.tell(Notice("held", {"task": task, "reason": reason}))
        self._held = known
        times = [parse_stamp(item.task.not_before) for item in held]
        waits = [(time_ - now).total_seconds() for time_ in times if time_ and time_ > now]
        return ready, min(waits, default=TIMER_S)

    def _not_startable(self, commit: str) -> dict[str, str]:
        """Tasks that could not start from this very commit: they would fail the same way again."""
        return {task: reason for task, (seen, reason) in self._refused.items() if seen == commit}

    def _free_places(self) -> int:
        if self._stopping.is_set():
            return 0
        jobs = self.options.jobs or self.workspace.config.limit("jobs")
        return max(0, jobs - len(self._active))

    def _tell_would_start(self, ready: list[Ready]) -> None:
        for item in ready:
            fields = {"task": item.task.id, "issue": item.issue.id, "agent": item.agent.name}
            self.tell(Notice("would_start", fields))

    def _start(self, reader: Reader, ready: Ready) -> None:
        try:
            active = self._starter.start(reader, ready)
        except GitmemError as error:
            self._trouble(error, task=ready.task.id)
            self._failures[ready.task.id] += 1
            given_up = self.options.once and self._failures[ready.task.id] >= ONCE_TRIES_MAX
            self.summary.gave_up |= given_up
            if given_up or not isinstance(error, TRANSIENT):
                self._refused[ready.task.id] = (reader.commit, error.message)
            return
        if active is None:
            return
        run = active.attempt.run
        self._active[run] = active
        self.tell(
            Notice(
                "started",
                {"run": run, "task": ready.task.id, "issue": ready.issue.id, "agent": ready.agent.name},
            )
        )
        if active.distrust:
            self._mail.post(Finished(run, Verdict(Reason.NOT_TRUSTED, active.distrust), changed=False))
        else:
            active.start(self._mail.post)

    # -- while agents run

    def _stop_cancelled(self, reader: Reader) -> None:
        """A task whose file is gone was cancelled by a person."""
        there = {task.id for task in reader.tasks()} if self._active else set()
        for active in self._active.values():
            if active.attempt.task.id not in there:
                active.cancel.set()

    def _renew_claims(self) -> None:
        now = self.now()
        for active in self._active.values():
            expires = parse_stamp(active.attempt.claim.expires)
            if expires and expires - now > claims.LEASE - claims.RENEW_EVERY:
                continue
            try:
                renewed = claims.renew(self.workspace.git, active.attempt.claim, now, self.entropy)
                active.attempt = replace(active.attempt, claim=renewed)
            except ConflictError as error:
                self._trouble(error, task=active.attempt.task.id)
            except GitmemError as error:
                self._trouble(error)

    def _wait(self) -> None:
        """Until there is reason for a tick: time, an agent's end, or a true change in the workspace."""
        deadline = min(self._deadline, time.monotonic() + self._wake_s)
        while not self._stopping.is_set() and (left := deadline - time.monotonic()) > 0:
            ended = False
            mails = list(self._mail.wait(left))
            for mail in mails:
                if isinstance(mail, Progress):
                    self._tell_event(mail)
                elif isinstance(mail, Finished):
                    self._take_end(mail)
                    ended = True
            if ended or (mails and board.signature(self.workspace) != self._seen):
                return

    def _tell_event(self, mail: Progress) -> None:
        event = mail.event
        fields = {"run": mail.run, "event": str(event.type), "text": event.text[:2000], "tool": event.tool}
        self.tell(Notice("event", fields))

    def _take_end(self, finished: Finished) -> None:
        active = self._active.pop(finished.run)
        active.join()
        save_verdict(active.place, finished)
        self._endings.append(Ending(active.attempt, active.place, finished))

    # -- ends

    def _end_finished(self, reader: Reader) -> None:
        endings, self._endings = self._endings, []
        for ending in endings:
            try:
                self._end_one(reader, ending)
            except TRANSIENT as error:  # it is kept and tried again: a result is never lost
                self._trouble(error, task=ending.attempt.task.id)
                self._endings.append(ending)
                self._failures[ending.attempt.run] += 1
            except GitmemError as error:  # it would fail for ever: say so in the record instead
                self._trouble(error, task=ending.attempt.task.id)
                if ending.finished.verdict.reason is not Reason.INVALID_OUTPUT:
                    self._endings.append(undeliverable(ending, error.message))
                else:
                    self._refused[ending.attempt.task.id] = (reader.commit, error.message)
                    claims.release(self.workspace.git, ending.attempt.claim)

    def _end_one(self, reader: Reader, ending: Ending) -> None:
        if is_cancelled(ending) and self._stopping.is_set():
            hand_back(self.workspace, ending, self.now)
            self.tell(Notice("handed_back", {"run": ending.attempt.run, "task": ending.attempt.task.id}))
            return
        delivered = end(self.workspace, reader, ending, self.now, self.entropy)
        self.summary.outcomes[ending.attempt.run] = str(delivered.outcome)
        self._tell_delivered(ending, delivered)

    def _tell_delivered(self, ending: Ending, delivered: Delivered) -> None:
        self.tell(
            Notice(
                "delivered",
                {
                    "run": ending.attempt.run,
                    "task": ending.attempt.task.id,
                    "issue": ending.attempt.issue.id,
                    "agent": ending.attempt.agent.name,
                    "outcome": str(delivered.outcome),
                    "reason": str(delivered.reason) if delivered.reason else None,
                    "detail": ending.finished.verdict.detail or None,
                    "commit": delivered.commit,
                    "branch": delivered.branch,
                    "produced": list(delivered.produced),
                    "retry_at": delivered.retry_at,
                },
            )
        )
        for warning in delivered.warnings:
            self.tell(Notice("warning", {"message": warning}))

    def _end_all(self) -> None:
        """Stop the agents, wait for them, and give their tasks back; what was finished is delivered."""
        if self._active:
            self._stopping.set()
        for active in self._active.values():
            active.cancel.set()
        while self._active:
            for mail in self._mail.wait(TIMER_S):
                if isinstance(mail, Finished):
                    self._take_end(mail)
        if self._endings:
            with closing(Reader(self.workspace)) as reader:
                self._end_finished(reader)
        for ending in self._endings:
            self.tell(
                Notice("warning", {"message": f"run {ending.attempt.run} is kept in {ending.place.path}"})
            )

    def _trouble(self, error: GitmemError, task: str | None = None) -> None:
        self._troubled = self._troubled or isinstance(error, TRANSIENT)
        fields = {"message": error.message, "hint": error.hint, "kind": error.kind, "task": task}
        self.tell(Notice("warning", {k: v for k, v in fields.items() if v}))
