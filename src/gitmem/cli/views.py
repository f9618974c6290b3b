"""The JSON shape of each record (docs/commands.md), and the columns and cards that people see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.cli.console import Column, Style, flat

if TYPE_CHECKING:
    from gitmem.core.model import Agent, Comment, Issue, Member, Run, Skill, Task
    from gitmem.core.record import Problem, Record
    from gitmem.store.history import Event

Pairs = list[tuple[str, object]]


def issue(one: Issue) -> dict[str, Any]:
    """What lists hold of an issue; references are typed, as in the file."""
    return {
        "id": one.id,
        "title": one.title,
        "status": str(one.status),
        "priority": str(one.priority),
        "assignee": one.assignee,
        "labels": list(one.labels),
        "parent": f"issue:{one.parent}" if one.parent else None,
        "blocked_by": [f"issue:{ref}" for ref in one.blocked_by],
        "project": one.project,
        "sensitivity": one.sensitivity,
        "repo": list(one.repos),
        "path": one.path,
        "created": one.created,
        "created_by": one.created_by,
        "uncommitted": one.uncommitted,
        "problems": [problem(found) for found in one.problems],
    }


def issue_whole(one: Issue, comments: Sequence[Comment]) -> dict[str, Any]:
    return {
        **issue(one),
        "body": one.body,
        "acceptance_criteria": [
            {"check": criterion.text} if criterion.is_command else criterion.text
            for criterion in one.acceptance_criteria
        ],
        "context_refs": list(one.context_refs),
        "touches": list(one.touches),
        "allowed": list(one.allowed),
        "comments": [comment(item) for item in comments],
    }


def comment(one: Comment) -> dict[str, Any]:
    return {
        "id": one.id,
        "issue": f"issue:{one.issue}",
        "author": one.author,
        "created": one.created,
        "kind": one.kind,
        "reply_to": one.reply_to,
        "body": one.body,
        "path": one.path,
    }


def task(one: Task) -> dict[str, Any]:
    return {
        "id": one.id,
        "issue": f"issue:{one.issue}",
        "agent": one.agent,
        "state": str(one.state),
        "attempt": one.attempt,
        "max_attempts": one.max_attempts,
        "priority": str(one.priority),
        "trigger": str(one.trigger),
        "requested_by": one.requested_by,
        "not_before": one.not_before,
        "session_id": one.session_id,
        "path": one.path,
    }


def run(one: Run, delivered: Mapping[str, str]) -> dict[str, Any]:
    """A run as its record has it; `delivered` tells by path which commit added the record."""
    return {
        **dict(one.fields),
        "id": one.id,
        "task": f"task:{one.task}",
        "issue": f"issue:{one.issue}",
        "agent": one.agent,
        "outcome": str(one.outcome),
        "reason": one.reason,
        "commit": delivered.get(one.path),
        "started": one.started,
        "ended": one.ended,
        "duration_s": duration_s(one),
        "branch": one.branch,
        "produced": list(one.produced),
        "usage": dict(one.usage),
        "session_id": one.session_id,
        "snapshot": one.snapshot,
        "base": one.base,
        "path": one.path,
    }


def duration_s(one: Run) -> int | None:
    from gitmem.core.clock import parse_stamp  # late: 1 ms that issue lists do not need

    started, ended = parse_stamp(one.started), parse_stamp(one.ended)
    return int((ended - started).total_seconds()) if started and ended else None


def skill(one: Skill, attached_to: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    return {
        "name": one.name,
        "description": one.description,
        "status": one.status,
        "path": one.path,
        "attached_to": list(attached_to.get(one.name, ())),
        "metadata": dict(one.metadata),
    }


def agent(one: Agent) -> dict[str, Any]:
    return {
        "name": one.name,
        "adapter": one.adapter,
        "model": one.model,
        "command": list(one.command),
        "skills": list(one.skills),
        "role": one.role,
        "max_concurrent": one.max_concurrent,
        "home": one.home,
        "account": one.account,
        "timeout_s": one.timeout_s,
        "idle_timeout_s": one.idle_timeout_s,
        "budget": dict(one.budget),
        "review": one.review,
        "env": list(one.env),
        "path": one.path,
    }


def member(one: Member) -> dict[str, Any]:
    return {"handle": one.handle, "emails": list(one.emails), "role": one.role, "path": one.path}


def record(one: Record) -> dict[str, Any]:
    """Any other record: its fields as they stand; what `gitmem.yaml` says as `id` is the workspace's."""
    own = one.fields.get("id") if one.kind == "config" else None
    return {**one.fields, "kind": str(one.kind), "id": own or one.id, "path": one.path, "body": one.body}


def problem(one: Problem) -> dict[str, Any]:
    return {
        "path": one.path,
        "line": one.line,
        "column": one.column,
        "severity": str(one.severity),
        "code": one.code,
        "message": one.message,
        "hint": one.hint,
    }


def event(one: Event) -> dict[str, Any]:
    return {
        "commit": one.commit,
        "time": one.time,
        "actor": one.actor,
        "action": one.action,
        "trace": one.trace,
        "refs": [str(ref) for ref in one.refs],
        "subject": one.subject,
    }


_STATUS_STYLES = {
    "in_progress": Style.WARN,
    "running": Style.WARN,
    "waiting": Style.WARN,
    "in_review": Style.WARN,
    "review": Style.WARN,
    "warning": Style.WARN,
    "warn": Style.WARN,
    "blocked": Style.BAD,
    "failed": Style.BAD,
    "error": Style.BAD,
    "done": Style.GOOD,
    "succeeded": Style.GOOD,
    "ok": Style.GOOD,
    "cancelled": Style.FAINT,
    "backlog": Style.FAINT,
}


def style_of(word: object) -> Style:
    return _STATUS_STYLES.get(str(word), Style.PLAIN)


ISSUES = (
    Column("id", lambda i: i.id),
    Column("status", lambda i: i.status, lambda i: style_of(i.status)),
    Column("priority", lambda i: i.priority),
    Column("assignee", lambda i: i.assignee),
    Column("title", lambda i: i.title, wide=True),
    Column("labels", lambda i: i.labels),
)
TASKS = (
    Column("id", lambda t: t.id),
    Column("state", lambda t: t.state, lambda t: style_of(t.state)),
    Column("priority", lambda t: t.priority),
    Column("agent", lambda t: t.agent),
    Column("issue", lambda t: t.issue),
    Column("trigger", lambda t: t.trigger),
    Column("attempt", lambda t: t.attempt),
    Column("not before", lambda t: t.not_before),
)
RUNS = (
    Column("id", lambda r: r.id),
    Column("outcome", lambda r: r.outcome, lambda r: style_of(r.outcome)),
    Column("reason", lambda r: r.reason),
    Column("agent", lambda r: r.agent),
    Column("issue", lambda r: r.issue),
    Column("ended", lambda r: r.ended),
    Column("seconds", duration_s),
)
SKILLS = (
    Column("name", lambda s: s.name),
    Column("status", lambda s: s.status),
    Column("description", lambda s: s.description, wide=True),
)
AGENTS = (
    Column("name", lambda a: a.name),
    Column("adapter", lambda a: a.adapter),
    Column("model", lambda a: a.model),
    Column("skills", lambda a: a.skills, wide=True),
)
MEMBERS = (
    Column("handle", lambda m: m.handle),
    Column("role", lambda m: m.role),
    Column("emails", lambda m: m.emails, wide=True),
)
PROBLEMS = (
    Column("path", lambda p: f"{p.path}:{p.line}:{p.column}" if p.line else p.path),
    Column("severity", lambda p: p.severity, lambda p: style_of(p.severity)),
    Column("code", lambda p: p.code),
    Column("message", lambda p: p.message, wide=True),
    Column("hint", lambda p: p.hint),
)
EVENTS = (
    Column("time", lambda e: e.time),
    Column("commit", lambda e: e.commit[:10]),
    Column("actor", lambda e: e.actor),
    Column("action", lambda e: e.action),
    Column("subject", lambda e: e.subject, wide=True),
)
CHECKS = (
    Column("status", lambda c: c.status, lambda c: style_of(c.status)),
    Column("name", lambda c: c.name),
    Column("message", lambda c: c.message, wide=True),
    Column("cure", lambda c: c.cure),
)


def pairs(shape: Mapping[str, Any], *, without: Sequence[str] = ()) -> Pairs:
    """A JSON shape as lines of a card: lists of criteria and mappings in words."""
    return [(key, words(value)) for key, value in shape.items() if key not in without]


def words(value: Any) -> object:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_inside(item)}" for key, item in value.items() if item is not None)
    if isinstance(value, list) and any(isinstance(item, Mapping) for item in value):
        return "; ".join(str(words(item)) for item in value)
    return value


def _inside(value: Any) -> str:
    """A value within a line of words: what has parts is bracketed."""
    if isinstance(value, list):
        return f"[{', '.join(map(_inside, value))}]"
    return f"({words(value)})" if isinstance(value, Mapping) else flat(value)
