"""Delivery: what a run hands back becomes one commit, or nothing.

The fence: a delivery takes the task's file off the branch and is valid only if that file, with
the same attempt, is still there; the branch's own compare-and-swap admits exactly one. A
result that comes too late is kept on `refs/gitmem/late/<run>`, beside and never over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from gitmem.core.clock import parse_stamp, stamp
from gitmem.core.ids import Entropy, Ref
from gitmem.core.judge import Judgement, judge, will_retry
from gitmem.core.layout import run_path
from gitmem.core.policy import Policy
from gitmem.core.record import Record
from gitmem.core.states import (
    ISSUE_MOVES,
    IssueStatus,
    Outcome,
    backoff_s,
    issue_status_after,
)
from gitmem.runner import late
from gitmem.runner.claimfence import TaskGoneError, fence
from gitmem.runner.ended import Delivered, Ended
from gitmem.runner.produce import SYSTEM, Product, comment, products
from gitmem.store import document
from gitmem.store.change import Change, Committed
from gitmem.store.workspace import Workspace


def deliver(
    workspace: Workspace,
    ended: Ended,
    policy: Policy,
    existing: Mapping[str, Record],
    issue_path: str | None,
    entropy: Entropy,
) -> Delivered:
    """Deliver a run. `issue_path` is where its issue lies now, None where it was removed.

    Raises LockedError or StorageError; then nothing has changed and it may be tried again.
    """
    made = list(products(ended, policy, existing, entropy))
    waiting = [product for product in made if product.waits]
    why = _held_back(ended)
    verdict = judge(ended.facts(must_wait=bool(waiting or why)))
    parts = _split(verdict, made, why)
    plan = _Plan(workspace, ended, verdict, parts, issue_path, entropy)
    try:
        return plan.commit()
    except TaskGoneError:
        if verdict.outcome is Outcome.CANCELLED:
            return plan.commit_cancelled()
        return late.keep(workspace, ended, [*plan.landing, *plan.waiting], plan.record(None))


def _held_back(ended: Ended) -> str | None:
    """Why everything but the words of this run waits for a person, or None."""
    if ended.handback.redacted:
        return "a credential was found and redacted"
    if f"issue:{ended.attempt.issue.id}" in ended.changed_meanwhile:
        return "the issue was changed while the agent worked"
    if ended.attempt.agent.review == "required":
        return f"every result of {ended.attempt.agent.name} is reviewed"
    return None


def _split(
    verdict: Judgement, made: Sequence[Product], why: str | None
) -> tuple[list[Product], list[Product]]:
    """(what lands, what waits on a branch); comments always land, so that people see why."""
    if not verdict.delivers:
        return [], []
    judged = [replace(p, waits=why) if why and not p.waits and p.kind != "comment" else p for p in made]
    return [p for p in judged if not p.waits], [p for p in judged if p.waits]


class _Plan:
    """One delivery in the making."""

    def __init__(
        self,
        workspace: Workspace,
        ended: Ended,
        verdict: Judgement,
        parts: tuple[list[Product], list[Product]],
        issue_path: str | None,
        entropy: Entropy,
    ) -> None:
        self.workspace, self.ended, self.verdict = workspace, ended, verdict
        self.landing, self.waiting = parts
        self.issue_path = issue_path
        self.retries = will_retry(verdict, ended.attempt.task.attempt, ended.attempt.task.max_attempts)
        self.entropy = entropy
        self.branch = f"gitmem/run/{ended.attempt.run}" if self.waiting else None
        if verdict.outcome is Outcome.FAILED and not self.retries:
            self.landing.append(comment(ended, self._failure_text(), entropy, author=SYSTEM, kind="system"))

    def _failure_text(self) -> str:
        attempt = self.ended.attempt
        detail = self.ended.detail
        said = f"Run {attempt.run} by {attempt.agent.name} failed: {self.verdict.reason}."
        fence = "````text\n{}\n````"
        return f"{said}\n\n{fence.format(detail.replace('````', '` ` ` `'))}" if detail else said

    def commit(self) -> Delivered:
        attempt = self.ended.attempt
        change = self._change("run.deliver")
        change.guard(fence(self.workspace.git, attempt.task))
        change.also_move(attempt.claim.deletion)
        retry_at = self._end_task(change)
        self._move_issue(change)
        produced = [product.path for product in (*self.landing, *self.waiting)]
        change.create(run_path(attempt.run, attempt.started), self.record(retry_at))
        for product in self.landing:
            change.create(product.path, product.data, executable=product.executable)
        if self.branch:
            files = {p.path: (p.data, p.executable) for p in self.waiting}
            change.also_branch(f"refs/heads/{self.branch}", files, f"run {attempt.run}: waits for review")
        done = self._finish(change)
        return self._delivered(done, tuple(produced), retry_at)

    def commit_cancelled(self) -> Delivered:
        """A person took the task away while it ran: the record says so, the task is gone already."""
        change = self._change("run.cancel")
        change.also_move(self.ended.attempt.claim.deletion)
        self._move_issue(change)
        attempt = self.ended.attempt
        change.create(run_path(attempt.run, attempt.started), self.record(None))
        return self._delivered(self._finish(change), (), None)

    def _delivered(self, done: Committed, produced: tuple[str, ...], retry_at: str | None) -> Delivered:
        return Delivered(
            self.verdict.outcome,
            self.verdict.reason,
            done.oid,
            self.branch,
            produced,
            retry_at,
            False,
            done.warnings,
        )

    def _change(self, action: str) -> Change:
        attempt = self.ended.attempt
        now = parse_stamp(self.ended.at)
        assert now is not None
        return Change(self.workspace, actor=attempt.actor, action=action, now=now, trace=attempt.trace)

    def _finish(self, change: Change) -> Committed:
        attempt = self.ended.attempt
        refs = [Ref("issue", attempt.issue.id), Ref("task", attempt.task.id), Ref("run", attempt.run)]
        subject = f"run {attempt.run}: {self.verdict.outcome}"
        if self.verdict.reason:
            subject += f" ({self.verdict.reason})"
        return change.commit(
            f"{subject}, issue {attempt.issue.id} by {attempt.agent.name}", self._body(), refs=refs
        )

    def _body(self) -> str:
        lines = [f"{product.kind}: {product.path}" for product in self.landing]
        lines += [f"waits for review: {product.path} ({product.waits})" for product in self.waiting]
        lines += [f"refused: {refusal.path} ({refusal.reason})" for refusal in self.ended.handback.refused]
        return "\n".join(lines)

    def _end_task(self, change: Change) -> str | None:
        """Take the task off the queue, or put it back; returns when it is to be tried again."""
        task = self.ended.attempt.task
        session = self.ended.verdict.session_id
        if self.retries:
            retry_at = self._retry_at()
            session = None if self.ended.verdict.resume_rejected else session
            fields = {"attempt": task.attempt + 1, "not_before": retry_at, "session_id": session}
            change.edit(task.path, _setting(task.path, fields))
            return retry_at
        if self.verdict.outcome is Outcome.BLOCKED:
            fields = {"state": "waiting", "session_id": session, "delivered": self._told_comments()}
            change.edit(task.path, _setting(task.path, fields))
        else:
            change.delete(task.path)
        return None

    def _told_comments(self) -> list[str]:
        """The comments that this run was given or earlier ones were: they are not news any more."""
        items = self.ended.attempt.manifest.get("items")
        refs = [str(item.get("ref")) for item in items] if isinstance(items, list) else []
        told = {ref.removeprefix("comment:") for ref in refs if ref.startswith("comment:")}
        return sorted(told | set(self.ended.attempt.task.delivered))

    def _retry_at(self) -> str:
        told = parse_stamp(self.ended.verdict.retry_at)
        jitter = self.entropy(1)[0] / 256
        now = parse_stamp(self.ended.at) or datetime.min
        backed_off = now + timedelta(seconds=backoff_s(self.ended.attempt.task.attempt, jitter))
        return stamp(max(backed_off, told) if told else backed_off)

    def _move_issue(self, change: Change) -> None:
        """Set the issue's status, unless a person has moved it meanwhile."""
        if self.issue_path is None:
            return
        # An issue with a command as its criterion is not done before somebody has run it.
        unproven = any(criterion.is_command for criterion in self.ended.attempt.issue.acceptance_criteria)
        wanted = issue_status_after(self.verdict.outcome, has_code=unproven, will_retry=self.retries)
        change.edit(self.issue_path, _moving(self.issue_path, IssueStatus.IN_PROGRESS, wanted))

    def record(self, retry_at: str | None) -> bytes:
        ended, attempt = self.ended, self.ended.attempt
        fields: dict[str, Any] = {
            "task": f"task:{attempt.task.id}",
            "issue": f"issue:{attempt.issue.id}",
            "agent": attempt.agent.name,
            "adapter": attempt.agent.adapter,
            "adapter_version": attempt.adapter_version,
            "attempt": attempt.task.attempt,
            "outcome": str(self.verdict.outcome),
            "reason": str(self.verdict.reason) if self.verdict.reason else None,
            "detail": _line(ended.detail) or None,
            "started": attempt.started,
            "ended": ended.at,
            "runner": attempt.runner,
            "snapshot": attempt.snapshot,
            "base": attempt.base,
            "session_id": ended.verdict.session_id,
            "exit": ended.verdict.exit,
            "usage": {k: v for k, v in ended.verdict.usage.as_dict().items() if k != "cost_usd"},
            "cost_usd": None
            if ended.verdict.usage.cost_usd is None
            else f"{ended.verdict.usage.cost_usd:.6f}",
            "produced": sorted(product.path for product in (*self.landing, *self.waiting)),
            "used": sorted(ended.handback.result.used) if ended.handback.result else [],
            "refused": [f"{refusal.path}: {refusal.reason}" for refusal in ended.handback.refused],
            "redacted": list(ended.handback.redacted),
            "changed_meanwhile": sorted(ended.changed_meanwhile),
            "retry_at": retry_at,
            "branch": self.branch,
        }
        words = ended.answer if self.verdict.delivers else ""
        return document.render(fields, words + "\n" if words else "")


def _line(text: str) -> str:
    return " ".join(text.split())[:500]


def _setting(path: str, fields: Mapping[str, Any]) -> Callable[[bytes], bytes]:
    return lambda data: document.edit(data, path, fields)


def _moving(path: str, only_from: IssueStatus, to: IssueStatus) -> Callable[[bytes], bytes]:
    def transform(data: bytes) -> bytes:
        status = document.parse(data, path).fields.get("status")
        if status != only_from or (to not in ISSUE_MOVES[only_from] and to != only_from):
            return data
        return document.edit(data, path, {"status": str(to)}) if to != only_from else data

    return transform
