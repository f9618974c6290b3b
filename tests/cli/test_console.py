from __future__ import annotations

import json
from io import StringIO
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.cli.console import Column, Console, Style, dump, fitted, flat, visible


class Screen(StringIO):
    def isatty(self) -> bool:
        return True


def console(*, terminal: bool, environ: dict[str, str] | None = None) -> Console:
    return Console(Screen() if terminal else StringIO(), StringIO(), environ or {})


COLUMNS = (Column("id", lambda row: row[0]), Column("title", lambda row: row[1], wide=True))
EVIL = "\x1b]0;owned\x07\x1b[2J\u202egnp.exe\x9b31m\r"


def printed(one: Console) -> str:
    return cast("StringIO", one.out).getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_a_text_from_a_file_cannot_steer_the_terminal(terminal: bool) -> None:
    one = console(terminal=terminal, environ={"NO_COLOR": "1"})
    one.text(EVIL)
    one.line("id", EVIL)
    one.card([("title", EVIL)], EVIL)
    one.many([("id", EVIL)], COLUMNS, dict)
    one.say(EVIL)
    one.warn(EVIL)
    one.error(EVIL, EVIL)
    for char in "\x1b\x07\x9b\u202e\r":
        assert char not in printed(one)
        assert char not in cast("StringIO", one.err).getvalue()
    assert "\\x1b" in printed(one)


@given(st.text())
def test_what_is_printed_holds_no_control_character(text: str) -> None:
    shown = visible(text)
    assert not [c for c in shown if ord(c) < 32 and c not in "\n\t"]
    assert "\t" not in flat(text)
    assert "\n" not in flat(text)


@given(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner), max_leaves=8))
def test_json_is_one_printable_line_that_says_the_same(value: object) -> None:
    line = dump(value)
    assert json.loads(line) == value
    assert not [c for c in line if ord(c) < 32 or 127 <= ord(c) < 160]


def test_off_the_terminal_a_list_has_one_line_per_record_and_no_header() -> None:
    one = console(terminal=False)
    one.many([("a", "x\ty\nz"), ("b", None)], COLUMNS, dict)
    assert printed(one) == "a\tx y z\nb\t\n"


def test_on_a_terminal_a_list_is_a_table_with_a_header() -> None:
    one = console(terminal=True, environ={"NO_COLOR": "1"})
    one.many([("a", "[bold]not markup[/bold]")], COLUMNS, dict)
    assert printed(one).split("\n")[0].split() == ["id", "title"]
    assert "[bold]not markup[/bold]" in printed(one)


def test_only_wide_columns_are_cut_to_the_screen() -> None:
    assert fitted([8, 11, 200, 6], [False, False, True, False], 80) == [8, 11, 49, 6]
    assert fitted([8, 30], [False, True], 80) == [8, 30]
    assert fitted([100, 200], [False, True], 80) == [100, 12]


def test_an_id_is_never_cut_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "20")
    one = console(terminal=True, environ={"NO_COLOR": "1"})
    one.many([("7k3q9d2m", "A long title " * 9)], COLUMNS, dict)
    assert "7k3q9d2m" in printed(one)
    assert "…" in printed(one)


@pytest.mark.parametrize("environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colour_is_switched_off(environ: dict[str, str]) -> None:
    assert "\x1b" in console(terminal=True).paint("x", Style.BAD)
    assert "\x1b" not in console(terminal=True, environ=environ).paint("x", Style.BAD)
    assert "\x1b" not in console(terminal=False).paint("x", Style.BAD)


def test_progress_is_one_line_that_goes_and_only_on_a_terminal() -> None:
    assert console(terminal=True).progress("reading") is None  # stderr is no terminal
    screen = Screen()
    tell = Console(StringIO(), screen, {}).progress("reading")
    assert tell is not None
    tell(1, 2)
    tell(2, 2)
    assert screen.getvalue() == "\rreading 1/2\r           \r"


def test_words_are_silent_under_quiet_and_json() -> None:
    for switch in ("quiet", "json"):
        one = console(terminal=True)
        setattr(one, switch, True)
        one.say("done")
        assert cast("StringIO", one.err).getvalue() == ""
