"""The pages in docs/ say what is so: examples are valid, links lead somewhere, named files exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.core import errors
from gitmem.core.layout import kind_of, path_problem
from gitmem.core.record import Kind
from gitmem.core.states import ISSUE_MOVES, RETRYABLE, Outcome, Reason
from gitmem.store import document, schema

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "benchmarks" / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_FENCE = re.compile(r"^```(\w+) (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_NAMED = re.compile(r"`((?:src|tests|docs|schemas|benchmarks|template-workspace)/[\w./-]+)`")


def examples() -> Iterator[tuple[str, str]]:
    """(path, text) of each example of docs/format.md: the fence names the file that it could be."""
    page = (ROOT / "docs" / "format.md").read_text(encoding="utf-8")
    return ((path, text) for _, path, text in _FENCE.findall(page))


@pytest.mark.parametrize(("path", "text"), [pytest.param(*example, id=example[0]) for example in examples()])
def test_an_example_of_the_format_is_valid(path: str, text: str) -> None:
    kind = kind_of(path)
    assert kind is not None
    assert path_problem(path) is None
    parsed = document.parse(text.encode(), path)
    assert [*parsed.problems, *schema.problems(kind, parsed, path)] == []


def test_every_kind_of_record_has_an_example() -> None:
    shown = {kind_of(path) for path, _ in examples()}
    assert set(Kind) - shown == {Kind.CONTEXT, Kind.LIBRARIES}


def prose(page: Path) -> str:
    """A page without its fenced blocks."""
    return re.sub(r"^(`{3,}).*?^\1$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The fragments that a host makes of a page's headings."""
    titles = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in _LINK.findall(prose(page)):
        if "://" in link:
            continue
        place, _, fragment = link.partition("#")
        target = (page.parent / place).resolve() if place else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_files_that_are_named_exist(page: Path) -> None:
    assert [name for name in _NAMED.findall(prose(page)) if not (ROOT / name).exists()] == []


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its first two lines."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8").split(f"## {heading}\n", 1)[1]
    lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert lines is not None
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[0].splitlines()[2:]]


def test_the_moves_of_an_issue_are_those_of_the_code() -> None:
    table = {
        row[0].strip("`"): set(row[1].replace("`", "").split())
        for row in rows("format.md", "Moves of an issue")
    }
    assert table == {str(old): set(map(str, new)) for old, new in ISSUE_MOVES.items()}


def test_every_reason_of_a_failure_is_explained() -> None:
    table = {row[0].strip("`"): row[2].startswith("yes") for row in rows("running.md", "Why a run fails")}
    assert table == {str(reason): reason in RETRYABLE for reason in Reason}


def test_every_outcome_of_a_run_is_explained() -> None:
    assert {row[0].strip("`") for row in rows("running.md", "What a run comes to")} == set(map(str, Outcome))


def test_every_exit_code_of_an_error_is_listed() -> None:
    listed = {int(row[0]) for row in rows("running.md", "Exit codes")}
    kinds = [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.GitmemError)
    ]
    assert {kind.exit_code for kind in kinds} <= listed
