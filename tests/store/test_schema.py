"""The schemas agree with the code, and what breaks them is said with a place and what to type."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from gitmem.core.config import DEFAULT_LIMITS, FORMAT_VERSION
from gitmem.core.layout import kind_of
from gitmem.core.policy import Level, Right
from gitmem.core.record import Kind, Problem, Severity
from gitmem.core.states import IssueStatus, Outcome, Priority, Reason, TaskState, Trigger
from gitmem.store import schema
from gitmem.store.document import edit, parse
from gitmem.store.schemafiles import EDITOR_KINDS, KINDS_WITH_SCHEMA, editor_files, key_order

ROOT = Path(__file__).resolve().parents[2]
ISSUE = "issues/2026-11/7k3q9d2m-login.md"


def problems_of(text: str, kind: Kind = Kind.ISSUE, path: str = ISSUE) -> list[Problem]:
    return schema.problems(kind, parse(text.encode(), path), path)


def issue(front: str) -> list[Problem]:
    return problems_of(f"---\n{front}\n---\n# A heading\n")


def properties(part: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every named property of a schema, at any depth."""
    for key, value in part.get("properties", {}).items():
        yield f"{at}.{key}", value
        yield from properties(value, f"{at}.{key}")
    for inner in ("items", "additionalProperties"):
        if isinstance(part.get(inner), dict):
            yield from properties(part[inner], f"{at}[]")


@pytest.mark.parametrize("kind", KINDS_WITH_SCHEMA)
def test_each_schema_is_a_schema_and_carries_the_format_version(kind: Kind) -> None:
    found = schema.schema(kind)
    Draft202012Validator.check_schema(found)
    assert found["$id"] == f"https://gitmem.invalid/schemas/{FORMAT_VERSION}/{kind}.json"


@pytest.mark.parametrize("kind", KINDS_WITH_SCHEMA)
def test_each_key_has_a_title_and_a_sentence_for_the_editor(kind: Kind) -> None:
    for name, value in properties(schema.schema(kind)):
        assert value.get("title"), name
        assert value.get("description", "").endswith((".", "`")), name


@pytest.mark.parametrize("kind", KINDS_WITH_SCHEMA)
def test_each_example_in_a_schema_is_valid(kind: Kind) -> None:
    for name, value in properties(schema.schema(kind)):
        for example in value.get("examples", ()):
            assert Draft202012Validator(value).is_valid(example), (name, example)


def test_no_schema_file_is_left_over() -> None:
    names = {path.stem for path in schema.schemas_dir().iterdir()}
    assert names == set(KINDS_WITH_SCHEMA)


@pytest.mark.parametrize(
    ("kind", "key", "states"),
    [
        (Kind.ISSUE, "status", set(IssueStatus)),
        (Kind.ISSUE, "priority", set(Priority)),
        (Kind.TASK, "priority", set(Priority)),
        (Kind.TASK, "state", set(TaskState) - {TaskState.RUNNING}),
        (Kind.TASK, "trigger", set(Trigger)),
        (Kind.RUN, "outcome", set(Outcome)),
        (Kind.RUN, "reason", set(Reason)),
        (Kind.ISSUE, "sensitivity", set(Level)),
        (Kind.KNOWLEDGE, "sensitivity", set(Level)),
        (Kind.POLICY, "require_sandbox", set(Level)),
    ],
)
def test_the_schemas_and_the_code_know_the_same_states(kind: Kind, key: str, states: set[str]) -> None:
    assert set(schema.schema(kind)["properties"][key]["enum"]) - {None} == states


def test_the_schemas_know_every_right_and_limit() -> None:
    role = schema.schema(Kind.POLICY)["properties"]["roles"]["additionalProperties"]
    assert set(role["properties"]["may"]["items"]["enum"]) == set(Right)
    assert set(schema.schema(Kind.CONFIG)["properties"]["limits"]["properties"]) == set(DEFAULT_LIMITS)


def test_an_issue_needs_only_a_title_or_a_heading() -> None:
    assert problems_of("---\ntitle: x\n---\n") == []
    assert problems_of("# x\n") == []
    assert issue("status: todo") == []
    [missing] = problems_of("---\nstatus: todo\n---\ntext\n")
    assert (missing.code, missing.severity) == ("missing-key", Severity.ERROR)
    assert missing.hint == "add a line  title: …"


def test_a_task_needs_only_its_issue() -> None:
    assert problems_of("issue: 7k3q9d2m\n", Kind.TASK, "queue/x.yaml") == []
    [missing] = problems_of("# nothing\n", Kind.TASK, "queue/x.yaml")
    assert (missing.code, missing.hint) == ("missing-key", "add a line  issue: issue:7k3q9d2m")


def test_every_common_key_may_be_null() -> None:
    keys = [key for key in key_order(Kind.ISSUE) if key not in {"id", "title"}]
    assert issue("title: x\n" + "".join(f"{key}: null\n" for key in keys)) == []


@pytest.mark.parametrize(
    ("line", "code", "column", "hint"),
    [
        ("status: In Progress", "unknown-value", 9, "write: status: in_progress"),
        ("status: doen", "unknown-value", 9, "write: status: done"),
        ("priority: 1", "unknown-value", 11, None),
        ("title: 2024", "wrong-type", 8, 'write: title: "2024"'),
        ("title: true", "wrong-type", 8, 'write: title: "true"'),
        ("id: 42", "wrong-type", 5, "remove the line; gitmem check --fix fills in an id"),
        ("id: ISSUE-1", "bad-format", 5, "remove the line; gitmem check --fix fills in an id"),
        ("assignee: claude", "bad-format", 11, "for example: assignee: agent:claude"),
        ("created: yesterday", "bad-format", 10, 'for example: created: "2026-11-30T22:19:00Z"'),
        ("labels: [1]", "wrong-type", 10, 'write: - "1"'),
        ("labels: {a: b}", "wrong-type", 9, "for example: labels:\n  - auth\n  - flaky"),
        ("acceptance_criteria: [{chek: x}]", "missing-key", 23, "add a line  check: pytest -q tests/login"),
        ('labels: [""]', "too-short", 10, None),
        (f"title: {'x' * 501}", "too-long", 8, "say the rest in the body"),
    ],
)
def test_each_error_has_a_place_and_what_to_type(line: str, code: str, column: int, hint: str | None) -> None:
    [problem] = issue(f"# first\n{line}")
    assert (problem.code, problem.severity, problem.path) == (code, Severity.ERROR, ISSUE)
    assert (problem.line, problem.column) == (3, column)
    assert problem.hint == hint


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("max_concurrent: '2'", "write: max_concurrent: 2"),
        ("max_concurrent: 0", None),
        ("max_concurrent: 1.5", None),
    ],
)
def test_numbers_are_whole_and_large_enough(text: str, hint: str | None) -> None:
    [problem] = problems_of(f"---\n{text}\n---\n", Kind.AGENT, "agents/a.md")
    assert problem.hint == hint


def test_a_word_for_a_switch_is_told_apart() -> None:
    [problem] = problems_of("format: 1\nid: k3v9x2m7\npaused: yes\n", Kind.CONFIG, "gitmem.yaml")
    assert (problem.code, problem.hint) == ("wrong-type", "write: paused: true")


def test_an_unknown_key_is_a_warning_with_the_nearest_known_one() -> None:
    near, far = issue("title: x\n\nasignee: agent:claude\n\nmine: 1")
    assert (near.code, near.severity, near.line, near.column) == ("unknown-key", Severity.WARNING, 4, 1)
    assert near.hint == "did you mean assignee?"
    assert (far.line, far.hint) == (6, None)


def test_a_mistake_repeated_ten_thousand_times_is_told_fifty_times() -> None:
    assert len(issue(f"labels: [{'1, ' * 10_000}]")) == schema.PROBLEMS_MAX


def test_a_file_that_cannot_be_read_has_no_schema_problems() -> None:
    assert issue("title: a: b") == []
    assert problems_of("", Kind.ISSUE) == []


def test_context_is_free_text() -> None:
    assert problems_of("anything\n", Kind.CONTEXT, "context.md") == []
    assert schema.schema(Kind.CONTEXT) == {}


def test_libraries_are_a_list() -> None:
    assert problems_of("# none yet\n", Kind.LIBRARIES, "libraries.yaml") == []
    assert (
        problems_of("- {name: a, url: x, commit: " + "a" * 40 + "}\n", Kind.LIBRARIES, "libraries.yaml") == []
    )
    [problem] = problems_of("- {name: a}\n", Kind.LIBRARIES, "libraries.yaml")
    assert problem.code == "missing-key"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("comments/2026-11/7k3q9d2m/x.md", "---\nissue: issue:7k3q9d2m\nauthor: member:ana\n---\nHello\n"),
        (
            "skills/retry/SKILL.md",
            "---\nname: retry\ndescription: Retry.\nmetadata:\n  gitmem-status: trial\n---\n",
        ),
        (
            "agents/claude.md",
            "---\nname: claude\nadapter: claude\nbudget:\n  tokens_per_day: 5\n---\nBe brief.\n",
        ),
        ("members/ana.md", "---\nemails:\n  - ana@example.org\nrole: owner\n---\n"),
        ("runs/2026-11/r1.md", "---\nissue: a\nagent: claude\noutcome: failed\nusage: {input: null}\n---\n"),
        ("knowledge/workspace/auth.md", "---\nkind: decision\nabout: issue:7k3q9d2m\n---\nWe use tokens.\n"),
        (
            "policy.yaml",
            "roles: {coder: {may: [read]}}\nactors: {agent:a: {role: coder}}\ntrusted: [member:ana]\n",
        ),
    ],
)
def test_a_plain_record_of_each_kind_is_in_order(path: str, text: str) -> None:
    kind = kind_of(path)
    assert kind is not None
    assert problems_of(text, kind, path) == []


def test_the_editor_is_given_every_schema_that_the_templates_settings_name() -> None:
    settings = ROOT / "template-workspace" / ".vscode" / "settings.json"
    wired = json.loads(settings.read_text())["yaml.schemas"]
    assert {name.removeprefix("./") for name in wired} == set(editor_files())
    assert {kind_of(path.removeprefix("/").replace("*", "x")) for path in wired.values()} == set(EDITOR_KINDS)


TEMPLATE = ROOT / "template-workspace"


@pytest.mark.parametrize(
    "file", [f for f in sorted(TEMPLATE.rglob("*")) if kind_of(f.relative_to(TEMPLATE).as_posix())]
)
def test_the_files_of_a_new_workspace_are_in_order(file: Path) -> None:
    path = file.relative_to(TEMPLATE).as_posix()
    kind = kind_of(path)
    assert kind is not None
    document = parse(file.read_bytes(), path)
    found = [*document.problems, *schema.problems(kind, document, path)]
    # `init` writes the id.
    assert [p for p in found if (path, p.code, p.line) != ("gitmem.yaml", "wrong-type", 5)] == []


def test_an_edited_record_of_every_key_reads_as_it_was_asked() -> None:
    fields = dict.fromkeys(key_order(Kind.ISSUE))
    data = edit(b"text\n", ISSUE, fields)
    assert list(parse(data, ISSUE).fields) == list(key_order(Kind.ISSUE))
    assert json.loads(json.dumps(parse(data, ISSUE).fields)) == fields
