from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.record import Severity
from gitmem.memory.skills import lint

GOOD = """---
name: retry-with-fake-clock

description: Retry a flaky test with a fake clock. Use when a test waits for real time.
---
# Steps

1. Run [the script](scripts/run.sh) and read [the notes](notes.md#clock).
"""
FILES = {"scripts/run.sh": b"#!/bin/sh\nexit 0\n", "notes.md": b"See [the skill](SKILL.md).\n"}


def codes(text: str = GOOD, name: str = "retry-with-fake-clock", **files: bytes) -> list[str]:
    return [problem.code for problem in lint(name, {"SKILL.md": text.encode(), **FILES, **files})]


def front(**fields: str) -> str:
    lines = {
        "name": "x-y",
        "description": "Retry a flaky test. Use when a test waits for real time.",
        **fields,
    }
    return "---\n" + "\n".join(f"{key}: {value}" for key, value in lines.items()) + "\n---\nDo it.\n"


def test_a_good_skill_has_no_problems() -> None:
    assert codes() == []


def test_a_folder_without_its_main_file_is_told() -> None:
    assert [problem.code for problem in lint("x", {"README.md": b""})] == ["no-skill-file"]


@pytest.mark.parametrize("name", ["X-y", "x--y", "-x", "x-", "x_y", "a" * 65, "x.y"])
def test_a_name_outside_the_specification_is_an_error(name: str) -> None:
    found = lint(name, {"SKILL.md": front(name=name).encode()})
    assert any(problem.severity is Severity.ERROR for problem in found)


def test_the_name_must_be_that_of_the_folder() -> None:
    problem = lint("other", {"SKILL.md": front().encode()})[0]
    assert (problem.code, problem.line, problem.column) == ("name-not-folder", 2, 7)
    assert problem.hint == "write: name: other"


@pytest.mark.parametrize(
    "text",
    [
        front(description='""'),
        front(description="x" * 1025),
        front(compatibility="x" * 501),
        front(version="2"),
        front(metadata="{a: {b: c}}"),
        "---\nname: x-y\n---\nbody\n",
        "no front matter at all\n",
    ],
)
def test_what_the_specification_forbids_is_an_error(text: str) -> None:
    found = lint("x-y", {"SKILL.md": text.encode()})
    assert any(problem.severity is Severity.ERROR for problem in found)


def test_broken_front_matter_is_told_with_its_line() -> None:
    found = lint("x-y", {"SKILL.md": b"---\nname: x-y\ndescription: a: b\n---\nbody\n"})
    assert [(problem.line, problem.severity) for problem in found] == [(3, Severity.ERROR)]


@pytest.mark.parametrize("description", ["Helper", "A useful skill", "Helps with stuff", "Testing"])
def test_a_description_that_says_nothing_is_a_warning(description: str) -> None:
    found = lint("x-y", {"SKILL.md": front(description=description).encode()})
    assert [(problem.code, problem.severity) for problem in found] == [
        ("vague-description", Severity.WARNING)
    ]


def test_a_long_body_is_a_warning() -> None:
    assert codes(GOOD + "line\n" * 600) == ["long-body"]
    assert codes(GOOD + "word " * 6000) == ["long-body"]


def test_an_empty_body_is_an_error() -> None:
    assert codes(GOOD.split("# Steps")[0]) == ["empty-body"]


@pytest.mark.parametrize(
    ("link", "says"),
    [
        ("[x](gone.md)", "leads to no file"),
        ("![x](img/gone.png)", "leads to no file"),
        ("[x]: gone.md", "leads to no file"),
        ("[x](<with space.md>)", "leads to no file"),
        ("[x](../other/SKILL.md)", "leads out of the skill"),
        ("[x](/etc/passwd)", "is absolute"),
    ],
)
def test_a_dead_link_is_told_with_its_line(link: str, says: str) -> None:
    text = GOOD + f"\nSee {link}\n" if not link.startswith("[x]:") else GOOD + f"\n{link}\n"
    problem = lint("retry-with-fake-clock", {"SKILL.md": text.encode(), **FILES})[0]
    assert problem.code == "dead-link"
    assert says in problem.message
    assert text.splitlines()[problem.line - 1].find(link[:3]) >= 0


@pytest.mark.parametrize(
    "text",
    [
        "[x](https://example.org/a.md)",
        "[x](mailto:ana@example.org)",
        "[x](#steps)",
        "[x](scripts/)",
        "[x](notes.md 'title')",
        "`[x](gone.md)`",
        "```\n[x](gone.md)\n```",
        "a[0](call)\\](gone.md)",
        "[x](a%2Fb(1).md)",
    ],
)
def test_what_is_no_dead_link_is_left_alone(text: str) -> None:
    assert codes(GOOD + text + "\n", **{"a/b(1).md": b"", "call": b""}) == []


def test_links_are_read_relative_to_their_own_file() -> None:
    assert codes(**{"docs/a.md": b"[up](../notes.md) [beside](b.md)\n", "docs/b.md": b""}) == []
    assert codes(**{"docs/a.md": b"[wrong](notes.md)\n"}) == ["dead-link"]


@pytest.mark.parametrize("char", ["\u200b", "\u202e", "\u2066", "\U000e0041", "\u2060", "\u3164", "\ufeff"])
def test_an_invisible_character_is_told_with_its_place(char: str) -> None:
    text = GOOD.replace("1. Run", f"1. R{char}un")
    problem = lint("retry-with-fake-clock", {"SKILL.md": text.encode(), **FILES})[0]
    assert (problem.code, problem.line, problem.column) == ("hidden-character", 8, 5)
    assert codes(**{"scripts/x.py": f"print('{char}')\n".encode()}) == ["hidden-character"]


@pytest.mark.parametrize("text", ["👩\u200d💻", "می\u200cخواهم", "क्\u200dष"])
def test_joiners_that_a_script_needs_are_left_alone(text: str) -> None:
    assert codes(GOOD + text + "\n") == []


def test_a_byte_order_mark_at_the_start_of_a_file_is_left_alone() -> None:
    assert codes(**{"other.md": b"\xef\xbb\xbfhello\n"}) == []


def test_a_script_that_does_not_say_what_runs_it_is_a_warning() -> None:
    found = lint(
        "retry-with-fake-clock",
        {
            "SKILL.md": GOOD.encode(),
            **FILES,
            "scripts/a.sh": b"echo\n",
            "tools/b": b"echo\n",
            "tools/c": b"x",
        },
        executable={"tools/b"},
    )
    assert [(p.path.split("/", 2)[2], p.code) for p in found] == [
        ("scripts/a.sh", "no-shebang"),
        ("tools/b", "no-shebang"),
    ]


def test_a_file_name_that_some_system_cannot_hold_is_an_error() -> None:
    assert codes(**{"docs/aux.md": b""}) == ["bad-name"]


@given(st.binary(max_size=200), st.text(max_size=20))
def test_any_bytes_are_judged_without_raising(data: bytes, name: str) -> None:
    for problem in lint("x-y", {"SKILL.md": front().encode() + data, name: data}):
        assert problem.path.startswith("skills/x-y/")


@given(st.text(alphabet="[]()<>`~#\\ab./ \n", max_size=80))
def test_any_links_are_judged_without_raising(text: str) -> None:
    lint("x-y", {"SKILL.md": (front() + text).encode()})
