from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from gitmem.core.clock import stamp
from gitmem.core.dispatch import Board, Held, Ready, decide
from gitmem.core.model import Agent, Issue, Task, issue_of
from gitmem.core.record import Kind, Record
from gitmem.core.states import IssueStatus, Priority, TaskState
from tests.conftest import NOW


def issue(issue_id: str, **fields: object) -> Issue:
    return issue_of(Record(Kind.ISSUE, issue_id, f"issues/{issue_id}.md", "", {"title": "x", **fields}))


def task(task_id: str, issue_id: str = "i1", agent: str | None = "a", **fields: object) -> Task:
    return Task(task_id, issue_id, agent, f"queue/{task_id}.yaml", "")._replace(**fields)  # type: ignore[arg-type]


def board(*tasks: Task, issues: tuple[Issue, ...] = (issue("i1"), issue("i2")), **fields: object) -> Board:
    agents = {name: Agent(name, "command", "", max_concurrent=2) for name in ("a", "b")}
    base = Board(tasks, {i.id: i for i in issues}, agents, running=())
    return replace(base, **fields)  # type: ignore[arg-type]


def ready(state: Board) -> list[str]:
    return [item.task.id for item in decide(state, NOW)[0]]


def reasons(state: Board) -> dict[str, str]:
    held: list[Held] = decide(state, NOW)[1]
    return {item.task.id: item.reason for item in held}


def test_the_most_urgent_goes_first_then_the_oldest_then_by_id() -> None:
    issues = tuple(issue(f"i{n}", priority="low") for n in range(4))
    state = board(
        task("t0", "i0", "a", created="2026-01-02T00:00:00Z"),
        task("t1", "i1", "a", created="2026-01-01T00:00:00Z"),
        task("t2", "i2", "b", priority=Priority.URGENT, created="2026-01-03T00:00:00Z"),
        task("t3", "i3", "b", created="2026-01-01T00:00:00Z"),
        issues=issues,
    )
    assert ready(state) == ["t2", "t1", "t3", "t0"]


def test_the_agent_is_the_tasks_own_else_the_assignee_else_the_default() -> None:
    issues = (issue("i1", assignee="agent:b"), issue("i2", assignee="member:ana"))
    state = board(task("t1", "i1", "a"), task("t2", "i1", None), task("t3", "i2", None), issues=issues)
    names = {item.task.id: item.agent.name for item in decide(replace(state, default_agent="a"), NOW)[0]}
    assert names == {"t1": "a", "t2": "b", "t3": "a"}
    assert "no agent" in reasons(state)["t3"]


def test_one_task_at_a_time_per_issue_and_agent() -> None:
    state = board(task("t1"), task("t2"), task("t3", "i1", "b"))
    assert ready(state) == ["t1", "t3"]
    assert "already at work" in reasons(state)["t2"]
    running = replace(state, running=[("t1", "i1", "a")])
    assert ready(running) == ["t3"]


def test_an_agent_takes_no_more_than_its_limit() -> None:
    issues = tuple(issue(f"i{n}") for n in range(4))
    state = board(*(task(f"t{n}", f"i{n}") for n in range(4)), issues=issues, running=[("t0", "i0", "a")])
    assert ready(state) == ["t1"]
    assert "limit of 2" in reasons(state)["t2"]


def test_what_holds_a_task_is_said() -> None:
    later = stamp(NOW + timedelta(minutes=1))
    issues = (issue("i1", blocked_by=["issue:i2"]), issue("i2"), issue("i3", status="done"))
    state = board(
        task("t1", "i1"),
        task("t2", "i2", not_before=later),
        task("t3", "i3"),
        task("t4", "gone"),
        task("t5", "i2", "nobody"),
        task("t6", "i2", "b", state=TaskState.WAITING),
        issues=issues,
    )
    assert reasons(state) == {
        "t1": "blocked by issue i2",
        "t2": f"not before {later}",
        "t3": "issue i3 is done",
        "t4": "there is no issue 'gone'",
        "t5": "there is no agent 'nobody'",
        "t6": "waits for a person",
    }
    assert set(reasons(replace(state, paused=True)).values()) == {"the queue is paused"}


def test_a_closed_blocker_holds_nothing() -> None:
    issues = (issue("i1", blocked_by=["i2", "i9"]), issue("i2")._replace(status=IssueStatus.CANCELLED))
    assert ready(board(task("t1"), issues=issues)) == ["t1"]


def test_a_time_that_has_come_holds_nothing() -> None:
    found = decide(board(task("t1", not_before=stamp(NOW))), NOW)[0]
    assert [type(item) for item in found] == [Ready]
