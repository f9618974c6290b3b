from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gitmem.agents import runbook_text as md
from gitmem.memory import skills
from gitmem.store import document


def scripts(markdown: str) -> list[str]:
    return [block.script for block in md.blocks(markdown)]


@pytest.mark.parametrize("language", ["sh", "bash", "shell", "SH", "sh title=x"])
def test_a_block_in_a_shell_is_run(language: str) -> None:
    assert scripts(f"```{language}\nls\n```\n") == ["ls"]


@pytest.mark.parametrize("language", ["", "console", "python", "zsh", "shellcheck", "sh-session"])
def test_a_block_in_another_language_is_not(language: str) -> None:
    assert scripts(f"```{language}\nls\n```\n") == []


@pytest.mark.parametrize(
    ("markdown", "expected"),
    [
        ("~~~sh\nls\n~~~\n", ["ls"]),
        ("````sh\necho '```'\n````\n", ["echo '```'"]),
        ("````markdown\n```sh\nrm -rf x\n```\n````\n", []),
        ("<!--\n```sh\nrm -rf x\n```\n-->\n```sh\nls\n```\n", ["ls"]),
        ("<!-- note -->\n```sh\nls\n```\n", ["ls"]),
        ("```sh\nnever closed\n", []),
        ("    ```sh\n    indented code\n    ```\n", []),
        ("  ```sh\n  ls\n    deep\n  ```\n", ["ls\n  deep"]),
        ("```sh\n\n   \n```\n", []),
        ("```sh\nls\n```\n```sh\npwd\n```\n", ["ls", "pwd"]),
        ("```sh\r\nls\r\n```\r\n", ["ls"]),
        ("``` sh `x`\nls\n```\n", []),
    ],
)
def test_fences_are_read_as_commonmark_reads_them(markdown: str, expected: list[str]) -> None:
    assert scripts(markdown) == expected


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("---\ntitle: Plain words\n---\nx", "Plain words"),
        ('---\ntitle: "A: \\"quoted\\" one"\n---\nx', 'A: "quoted" one'),
        ("---\ntitle: 'It''s: quoted'\n---\nx", "It's: quoted"),
        ("---\ntitle: Words # a comment\n---\nx", "Words"),
        ("---\r\nid: x\r\ntitle: Words\r\n---\r\nx", "Words"),
        ("\ufeff---\ntitle: Words\n---\n", "Words"),
        ("---\ntitle: null\n---\n# From the heading\n", "From the heading"),
        ("# Only a heading\n\ntext", "Only a heading"),
        ("no title at all", "Runbook"),
        ("", "Runbook"),
    ],
)
def test_the_title_is_found(source: str, title: str) -> None:
    assert md.parse_issue(source).title == title


@given(st.text())
def test_any_text_survives_as_a_quoted_yaml_scalar(value: str) -> None:
    assert yaml.safe_load(f"key: {md.quoted(value)}\n") == {"key": value}


@pytest.mark.parametrize(
    "word", ["null", "true", "yes", "off", "no", "on", "1.10", "0123", "12:30", "- x", "a: b", "x #y"]
)
def test_a_text_that_yaml_would_read_otherwise_stays_a_text(word: str) -> None:
    assert yaml.safe_load(f"key: {md.quoted(word)}\n") == {"key": word}


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=200), st.text(max_size=200))
def test_whatever_the_issue_says_the_skill_is_valid(title: str, why: str) -> None:
    issue = md.Issue("7k3q9d2m", title or "x", why)
    step = md.Step(md.Block("sh", "ls"), 0, "out")
    name = md.skill_name(issue)
    data = md.skill(name, issue, [step]).encode(errors="replace")
    parsed = document.parse(data, f"skills/{name}/SKILL.md")
    assert parsed.problems == ()
    assert parsed.fields["name"] == name
    errors = [p for p in skills.lint(name, {"SKILL.md": data}) if p.severity == "error"]
    assert errors == []


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Rotate the certificate", "rotate-the-certificate"),
        ("證書輪換", "runbook-7k3q9d2m"),
        ("CON", "runbook-7k3q9d2m"),
        ("--- ---", "runbook-7k3q9d2m"),
    ],
)
def test_the_name_of_a_skill_can_be_kept_everywhere(title: str, name: str) -> None:
    assert md.skill_name(md.Issue("7k3q9d2m", title, "")) == name


def test_a_long_description_ends_with_when_to_use_it() -> None:
    issue = md.Issue("x", "Rotate", "word " * 1000)
    fields = document.parse(md.skill("rotate", issue, []).encode(), "SKILL.md").fields
    assert len(fields["description"]) <= 1024
    assert fields["description"].endswith("… Use when asked to: Rotate.")


@pytest.mark.parametrize("content", ["plain", "```", "a ````` b", "~~~"])
def test_nothing_in_a_fenced_text_closes_it(content: str) -> None:
    block = md.fenced(content, "sh")
    assert scripts(block) == [content]


@pytest.mark.parametrize(
    ("output", "shown"),
    [
        ("\x1b[1;31mred\x1b[0m\n", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("1%\r50%\r100%\n", "100%"),
        ("a\r\nb\r\n", "a\nb"),
        ("tab\there", "tab\there"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("bell\x07 null\x00", "bell null"),
        ("ü€語", "ü€語"),
    ],
)
def test_output_is_shown_without_what_steers_a_terminal(output: str, shown: str) -> None:
    assert md.printable(output) == shown
