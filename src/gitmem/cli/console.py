"""The one way to the screen: data on stdout, words on stderr.

On a terminal data is a table or a card; elsewhere it is tab-separated, untruncated, without a
header; under --json it is JSON. Texts come from files that anybody may have written, so
control characters never reach a terminal: an escape sequence could retitle the window,
rewrite what was printed, or answer on the user's keyboard.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, TextIO, TypeVar, cast

from gitmem.cli.output import Output, OutputError

T = TypeVar("T")

# C0 without newline and tab, DEL, C1, bidirectional overrides, lone surrogates.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Style(StrEnum):
    PLAIN = ""
    STRONG = "bold"
    FAINT = "dim"
    GOOD = "green"
    WARN = "yellow"
    BAD = "red"


class Column(NamedTuple):
    """One column of a table: its title on a terminal, and a cell's value."""

    title: str
    value: Callable[[Any], object]
    style: Callable[[Any], Style] = lambda _: Style.PLAIN
    wide: bool = False  # takes the room that is left, and is cut first


class Painted(str):
    """A safe text with our own colour codes around it."""

    __slots__ = ()


def visible(text: str) -> str:
    """`text` with every character that could steer a terminal written out as `\\x1b` or `\\u202e`."""
    return _UNSAFE.sub(lambda m: _escape(m[0]), text)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"


def flat(value: object) -> str:
    """A value as one cell: lists joined by commas, no tab and no line end inside, nothing cut."""
    if isinstance(value, Painted):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ",".join(flat(item) for item in value)
    return visible(re.sub(r"[\t\r\n]+", " ", str(value)))


def dump(value: object) -> str:
    """One line of JSON, readable, and safe to print on a terminal."""
    text = json.dumps(value, ensure_ascii=False, separators=(", ", ": "))
    return _UNSAFE.sub(lambda m: f"\\u{ord(m[0]):04x}", text)


_GAP = 2  # blanks between two columns
_WIDE_MIN = 12


def fitted(natural: Sequence[int], wide: Sequence[bool], screen: int) -> list[int]:
    """The widths of columns on a screen: only wide ones are cut, so that an id can always be copied."""
    fixed = sum(width for width, is_wide in zip(natural, wide, strict=True) if not is_wide)
    room = screen - fixed - _GAP * (len(natural) - 1)
    share = max(_WIDE_MIN, room // max(1, sum(wide)))
    return [min(width, share) if is_wide else width for width, is_wide in zip(natural, wide, strict=True)]


class Console:
    """Prints for one process. `json`, `quiet`, `verbose` and `plain` are set by the options.

    `committed` is the commit of a change that was made, for what to say when printing fails.
    """

    def __init__(self, out: TextIO, err: TextIO, environ: Mapping[str, str]) -> None:
        self.out = cast("TextIO", Output(out, self._unwritten))
        self.err = cast("TextIO", Output(err, self._unwritten))
        self.committed: str | None = None
        self.json = False
        self.quiet = False
        self.verbose = False
        # https://no-color.org: any non-empty value switches colour off.
        self.plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"

    @property
    def terminal(self) -> bool:
        return self.out.isatty()

    # data

    def emit(self, value: object) -> None:
        """One JSON value on one line."""
        self.out.write(dump(value) + "\n")

    def line(self, *cells: object) -> None:
        """One tab-separated line; on a terminal two spaces stand between the cells."""
        self.out.write(("  " if self.terminal else "\t").join(flat(cell) for cell in cells) + "\n")

    def text(self, body: str) -> None:
        """A text of many lines, ending in one line end."""
        self.out.write(visible(body).rstrip("\n") + "\n")

    def many(self, items: Sequence[T], columns: Sequence[Column], shape: Callable[[T], object]) -> None:
        """A list: a JSON array of `shape(item)`, a table, or one tab-separated line each."""
        if self.json:
            self.emit([shape(item) for item in items])
        elif self.terminal and items:
            self._table(items, columns)
        else:
            for item in items:
                self.line(*(column.value(item) for column in columns))

    def card(self, pairs: Iterable[tuple[str, object]], body: str = "") -> None:
        """One record: a line per key that has a value, then its text."""
        shown = [(key, value) for key, value in pairs if value not in (None, "", (), [])]
        width = max((len(key) for key, _ in shown), default=0)
        for key, value in shown:
            if self.terminal:
                self.out.write(f"{self.paint(key.ljust(width), Style.FAINT)}  {flat(value)}\n")
            else:
                self.out.write(f"{key}\t{flat(value)}\n")
        if body.strip():
            self.out.write("\n" if self.terminal else "--\n")
            self.text(body.strip("\n"))

    def paint(self, text: str, style: Style) -> Painted:
        """`text` in a style, where colours are wanted; for `line` and `card`."""
        codes = {Style.STRONG: 1, Style.FAINT: 2, Style.GOOD: 32, Style.WARN: 33, Style.BAD: 31}
        if style is Style.PLAIN or self.plain or not self.terminal:
            return Painted(visible(text))
        return Painted(f"\x1b[{codes[style]}m{visible(text)}\x1b[0m")

    def _table(self, items: Sequence[Any], columns: Sequence[Column]) -> None:
        from rich.cells import cell_len  # late: 60 ms, on a terminal only
        from rich.console import Console as Rich
        from rich.table import Table
        from rich.text import Text

        rows = [[flat(column.value(item)) for column in columns] for item in items]
        natural = [max(map(cell_len, [c.title, *cells])) for c, *cells in zip(columns, *rows, strict=True)]
        screen = Rich(file=self.out, no_color=self.plain, highlight=False)
        widths = fitted(natural, [column.wide for column in columns], screen.width)
        table = Table(box=None, pad_edge=False, header_style="" if self.plain else "bold")
        for column, width in zip(columns, widths, strict=True):
            table.add_column(column.title, width=width, no_wrap=True, overflow="ellipsis")
        for item, row in zip(items, rows, strict=True):
            styles = [str(column.style(item)) for column in columns]
            table.add_row(*(Text(cell, style=style) for cell, style in zip(row, styles, strict=True)))
        screen.width = max(screen.width, sum(widths) + _GAP * len(widths))
        screen.print(table)

    # words

    def say(self, text: str) -> None:
        """What happened, for people; silent under -q and --json."""
        if not (self.quiet or self.json):
            self.err.write(visible(text) + "\n")

    def detail(self, text: str) -> None:
        """What only -v shows."""
        if self.verbose:
            self.err.write(visible(text) + "\n")

    def progress(self, what: str) -> Callable[[int, int], None] | None:
        """Tells `what` is done of how many, in one line of a terminal that goes when all is; else None."""
        if self.quiet or not self.err.isatty():
            return None

        def tell(done: int, total: int) -> None:
            line = f"{what} {done}/{total}"
            self.err.write(f"\r{line}" if done < total else f"\r{' ' * len(line)}\r")
            self.err.flush()

        return tell

    def warn(self, text: str) -> None:
        self.err.write(visible(f"warning: {text}") + "\n")

    def error(self, message: str, hint: str | None) -> None:
        self.err.write(visible(f"error: {message}\n" + (f"\nhint: {hint}\n" if hint else "")))

    def error_object(self, value: object) -> None:
        self.err.write(dump(value) + "\n")

    def flush(self) -> None:
        self.out.flush()
        self.err.flush()

    def settle(self) -> None:
        """Flush at the end, whatever became of the streams."""
        for stream in (self.out, self.err):
            cast("Output", stream).settle()

    def _unwritten(self, error: OSError) -> OutputError:
        """Doing it again would do it twice: so no hint, and a change that was made is told."""
        why = f"the output cannot be written: {error.strerror}"
        if self.committed is None:
            return OutputError(why)
        return OutputError(
            f"the change was made in commit {self.committed[:10]}, but {why}", commit=self.committed
        )
