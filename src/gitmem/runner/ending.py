"""From an agent's end to its delivery, or the task's way back to the queue."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitmem.agents.adapter import Verdict
from gitmem.core.clock import Clock, stamp
from gitmem.core.errors import GitmemError
from gitmem.core.ids import Entropy, Ref
from gitmem.core.model import Issue
from gitmem.core.record import Kind, Record
from gitmem.core.states import IssueStatus, Reason
from gitmem.memory.access import read_policy
from gitmem.memory.snapshot import changed_since
from gitmem.runner import outbox, rundir
from gitmem.runner.active import Finished
from gitmem.runner.claimfence import TaskGoneError, fence
from gitmem.runner.delivery import deliver
from gitmem.runner.ended import Attempt, Delivered, Ended
from gitmem.runner.handback import Handback, understand
from gitmem.runner.outbox import Refusal
from gitmem.runner.rundir import RunDir
from gitmem.runner.secrets import scrub
from gitmem.store import claims, document
from gitmem.store.change import Change
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Ending:
    """An attempt whose agent has ended and whose delivery has not been made yet."""

    attempt: Attempt
    place: RunDir
    finished: Finished


def end(workspace: Workspace, reader: Reader, ending: Ending, now: Clock, entropy: Entropy) -> Delivered:
    """Deliver what the agent handed back. Raises GitmemError where it must be tried again later."""
    attempt = ending.attempt
    verdict, leaked = _scrubbed(ending.finished.verdict)
    handback = read_outbox(workspace, ending)
    ended = Ended(
        attempt=attempt,
        verdict=verdict,
        handback=replace(handback, redacted=(*handback.redacted, *leaked)),
        changed=ending.finished.changed,
        at=stamp(now()),
        changed_meanwhile=_changed(reader, attempt),
    )
    issue = _issue_now(reader, attempt)
    path = issue.path if issue else None
    return deliver(workspace, ended, read_policy(reader), _existing(reader), path, entropy)


def _scrubbed(verdict: Verdict) -> tuple[Verdict, list[str]]:
    """The verdict without credentials in its words, and which kinds were in them."""
    text, detail = scrub(verdict.text), scrub(verdict.detail)
    kinds = dict.fromkeys((*text.kinds, *detail.kinds))
    return replace(verdict, text=text.text, detail=detail.text), [f"output: {kind}" for kind in kinds]


def read_outbox(workspace: Workspace, ending: Ending) -> Handback:
    """The outbox of a turn that ended by the agent's own word; of any other nothing is delivered."""
    if ending.finished.verdict.reason not in {None, Reason.AGENT_FAILED}:
        return Handback()
    if rundir.leads_out(ending.place):
        return Handback(refused=(Refusal(".", "a symbolic link stands in the place of the outbox"),))
    return understand(outbox.read(ending.place.outbox, workspace.config.limit("file_bytes")))


def _changed(reader: Reader, attempt: Attempt) -> tuple[str, ...]:
    """The refs of the snapshot that are other now. The issue's own move to in_progress is ours."""
    return tuple(changed_since(reader, attempt.manifest)) if attempt.manifest else ()


def _issue_now(reader: Reader, attempt: Attempt) -> Issue | None:
    try:
        return reader.issue(attempt.issue.id)
    except GitmemError:
        return None


def _existing(reader: Reader) -> dict[str, Record]:
    return {record.path: record for kind in (Kind.SKILL, Kind.KNOWLEDGE) for record in reader.records(kind)}


def hand_back(workspace: Workspace, ending: Ending, now: Clock) -> None:
    """The runner stops: the task goes back to the queue at once, with the session to resume.

    An attempt is not used up: the task did nothing wrong.
    """
    attempt, session = ending.attempt, ending.finished.verdict.session_id
    change = Change(workspace, actor=attempt.actor, action="run.hand_back", now=now(), trace=attempt.trace)
    change.guard(fence(workspace.git, attempt.task))
    change.also_move(attempt.claim.deletion)
    if session:
        path = attempt.task.path
        change.edit(path, lambda data: document.edit(data, path, {"session_id": session}))
    change.edit(attempt.issue.path, lambda data: _back_to_todo(data, attempt.issue.path))
    try:
        change.commit(
            f"run {attempt.run}: handed back, the runner stops",
            refs=[Ref("issue", attempt.issue.id), Ref("task", attempt.task.id), Ref("run", attempt.run)],
        )
    except TaskGoneError:
        claims.release(workspace.git, attempt.claim)


def _back_to_todo(data: bytes, path: str) -> bytes:
    status = document.parse(data, path).fields.get("status")
    if status != IssueStatus.IN_PROGRESS:
        return data
    return document.edit(data, path, {"status": str(IssueStatus.TODO)})


def undeliverable(ending: Ending, why: str) -> Ending:
    """The same run as one that failed: what it handed back cannot be delivered and stays in its directory."""
    verdict = replace(ending.finished.verdict, reason=Reason.INVALID_OUTPUT, detail=why, text="")
    return replace(ending, finished=replace(ending.finished, verdict=verdict))


def is_cancelled(ending: Ending) -> bool:
    return ending.finished.verdict.reason is Reason.CANCELLED
