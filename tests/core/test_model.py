from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import config, model
from gitmem.core.config import DEFAULT_LIMITS, config_of
from gitmem.core.record import Kind, Record, enum_or, integer, mapping, text, texts
from gitmem.core.states import IssueStatus, Outcome, Priority, TaskState, Trigger


def record(kind: Kind, fields: dict[str, Any], body: str = "", name: str = "7k3q9d2m") -> Record:
    return Record(kind, name, f"somewhere/{name}.md", "b1", fields, body)


# What a broken file can hold: any YAML value under any key that we read.
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
KEYS = sorted(
    set(re.findall(r'fields\.get\("(\w+)"\)', inspect.getsource(model) + inspect.getsource(config)))
)
READERS: list[tuple[Kind, Callable[[Record], Any]]] = [
    (Kind.ISSUE, model.issue_of),
    (Kind.COMMENT, model.comment_of),
    (Kind.SKILL, model.skill_of),
    (Kind.AGENT, model.agent_of),
    (Kind.MEMBER, model.member_of),
    (Kind.TASK, model.task_of),
    (Kind.RUN, model.run_of),
    (Kind.KNOWLEDGE, model.knowledge_of),
]


@pytest.mark.parametrize(("kind", "read"), READERS)
@given(fields=st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=12), body=st.text(max_size=40))
def test_any_front_matter_is_read_without_raising(
    kind: Kind, read: Callable[[Record], Any], fields: dict[str, Any], body: str
) -> None:
    value = read(record(kind, fields, body))
    assert value.path == "somewhere/7k3q9d2m.md"
    hash(tuple(getattr(value, "labels", ())))


@given(st.dictionaries(st.sampled_from(KEYS), VALUES, max_size=12))
def test_any_configuration_is_read_without_raising(fields: dict[str, Any]) -> None:
    read = config_of(fields)
    assert read.branch
    assert all(isinstance(read.limit(name), int) for name in DEFAULT_LIMITS)


def test_an_issue_reads_its_front_matter() -> None:
    issue = model.issue_of(
        record(
            Kind.ISSUE,
            {
                "title": "Fix the flaky login test",
                "status": "in_review",
                "priority": "high",
                "parent": "issue:4h2m8xq0",
                "blocked_by": ["issue:9d0k3v7p", "2w8r5t1c"],
                "context_refs": ["skill:retry"],
                "acceptance_criteria": ["passes", {"check": "pytest -q"}, 7],
                "repo": "web",
                "created_by": "member:ana",
            },
            "Body",
        )
    )
    assert (issue.status, issue.priority) == (IssueStatus.IN_REVIEW, Priority.HIGH)
    assert issue.parent == "4h2m8xq0"
    assert issue.blocked_by == ("9d0k3v7p", "2w8r5t1c")
    assert issue.acceptance_criteria == (
        model.Criterion("passes"),
        model.Criterion("pytest -q", is_command=True),
    )
    assert issue.repos == ("web",)
    assert issue.sensitivity == "internal"


def test_a_hand_written_issue_takes_its_title_from_the_first_heading() -> None:
    assert model.issue_of(record(Kind.ISSUE, {}, "```\n# code\n```\n\n## Real title\n")).title == "Real title"
    assert model.issue_of(record(Kind.ISSUE, {}, "no heading")).title == "7k3q9d2m"


def test_an_unknown_status_is_todo_and_an_unknown_task_state_queued() -> None:
    assert model.issue_of(record(Kind.ISSUE, {"status": "wontfix"})).status is IssueStatus.TODO
    task = model.task_of(
        record(Kind.TASK, {"state": "running!", "trigger": 1, "attempt": -3, "max_attempts": 0})
    )
    assert (task.state, task.trigger, task.attempt, task.max_attempts) == (
        TaskState.QUEUED,
        Trigger.MANUAL,
        0,
        1,
    )


def test_a_dropped_task_needs_only_its_issue() -> None:
    task = model.task_of(record(Kind.TASK, {"issue": "issue:7k3q9d2m"}, name="anything"))
    assert (task.id, task.issue, task.agent) == ("anything", "7k3q9d2m", None)


def test_a_skill_that_people_wrote_is_active() -> None:
    assert model.skill_of(record(Kind.SKILL, {"description": "d"}, name="retry")).status == "active"
    metadata = {"gitmem-status": "candidate", "gitmem-asks": None}
    skill = model.skill_of(record(Kind.SKILL, {"metadata": metadata}, name="retry"))
    assert skill.status == "candidate"
    assert skill.metadata == {"gitmem-status": "candidate"}


def test_an_agent_without_an_adapter_is_driven_by_the_one_of_its_name() -> None:
    agent = model.agent_of(
        record(Kind.AGENT, {"max_concurrent": 0, "command": "my-cli"}, "Be kind.", "claude")
    )
    assert (agent.adapter, agent.max_concurrent, agent.command) == ("claude", 1, ("my-cli",))
    assert agent.instructions == "Be kind."


def test_a_run_without_an_outcome_has_failed() -> None:
    run = model.run_of(record(Kind.RUN, {"issue": "issue:7k3q9d2m", "agent": "agent:claude"}, name="r1"))
    assert (run.outcome, run.issue, run.agent) == (Outcome.FAILED, "7k3q9d2m", "claude")


def test_limits_of_the_workspace_go_over_the_defaults() -> None:
    read = config_of({"limits": {"context_tokens": 2000, "jobs": "many"}})
    assert read.limit("context_tokens") == 2000
    assert read.limit("jobs") == DEFAULT_LIMITS["jobs"]


def test_values_of_the_wrong_type_become_their_defaults() -> None:
    assert (text(""), text(3), text("x")) == (None, None, "x")
    assert (texts("x"), texts(["a", 1, "", "b"]), texts({"a": 1})) == (("x",), ("a", "b"), ())
    assert (integer(True, 5), integer("3", 5), integer(0, 5)) == (5, 5, 0)
    assert (mapping([1]), mapping({"a": 1})) == ({}, {"a": 1})
    assert enum_or(Priority, ["high"], Priority.NONE) is Priority.NONE
