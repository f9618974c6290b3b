"""The table of docs/agents.md, without any program."""

from __future__ import annotations

import json
import re
from pathlib import Path

from tests.conformance.programs import PROGRAMS
from tests.conformance.table import CELLS, PAGE, Note, latest, missing, render

VERSION = PROGRAMS["codex"].version
USAGE = CELLS["usage"][0]


def cells(page: str, name: str) -> dict[str, str]:
    """One row of the table, by program."""
    lines = page.splitlines()
    head, row = (next(x for x in lines if x.startswith(f"| {start} |")) for start in ("cell", name))
    programs = [re.sub(r"`(\w+)`.*", r"\1", cell.strip()) for cell in head.strip("|").split("|")]
    return dict(zip(programs, (cell.strip() for cell in row.strip("|").split("|")), strict=True))


def found(*notes: Note) -> dict[tuple[str, str], Note]:
    return {(note.adapter, note.test): note for note in notes}


def test_the_committed_page_has_every_adapter_and_every_cell() -> None:
    assert missing(PAGE.read_text(encoding="utf-8")) == []


def test_every_test_that_a_cell_names_exists() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    tests = {test.partition("[")[0] for named in CELLS.values() for test in named}
    assert [test for test in tests if f"def {test}(" not in source] == []


def test_a_cell_is_ok_only_when_all_its_tests_have_passed() -> None:
    first, second = CELLS["final text"]
    passed = Note(first, "codex", VERSION, "passed")
    assert cells(render(found(passed)), "final text")["codex"] == "-"
    also = Note(second, "codex", VERSION, "passed")
    assert cells(render(found(passed, also)), "final text")["codex"] == "ok"
    failed = Note(second, "codex", VERSION, "failed")
    assert cells(render(found(passed, failed)), "final text")["codex"] == "fails"


def test_a_cell_that_does_not_apply_says_why_below() -> None:
    page = render(found(Note(USAGE, "codex", VERSION, "skipped", "codex counts nothing")))
    assert cells(page, "usage")["codex"] == "1"
    assert "\n1. codex counts nothing\n" in page


def test_the_latest_note_of_the_version_under_test_counts() -> None:
    notes = [
        Note("t", "codex", VERSION, "failed"),
        Note("t", "codex", VERSION, "passed"),
        Note("t", "codex", "0.0.1", "failed"),
    ]
    lines = [json.dumps(vars(note)) for note in notes]
    assert latest(lines) == {("codex", "t"): Note("t", "codex", VERSION, "passed")}
