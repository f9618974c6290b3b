"""A file's bytes in parts: mark, opening line, YAML, closing line, body. Joined, they are the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.core.record import Problem, Severity
from gitmem.store.splice import line_break

_BOM = "\ufeff"
_OPENING = re.compile(r"---[ \t]*\r?\n")
# Only a line of its own closes: a `---` inside a value or the body is text.
_CLOSING = re.compile(r"^---[ \t]*(?:\r?\n|\Z)", re.MULTILINE)
_MARKER = re.compile(r"^(?:<{7}|\|{7}|={7}|>{7})(?=[ \r\n]|\Z)", re.MULTILINE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


@dataclass(frozen=True, slots=True)
class Parts:
    """`mark + opening + yaml + closing + body` is the decoded file."""

    mark: str
    opening: str
    yaml: str
    closing: str
    body: str

    @property
    def text(self) -> str:
        """The file without its byte order mark: what lines and columns are counted in."""
        return self.opening + self.yaml + self.closing + self.body

    @property
    def end_of_line(self) -> str:
        return line_break(self.text)

    def joined(self) -> bytes:
        return (self.mark + self.text).encode()


def line_column(text: str, index: int) -> tuple[int, int]:
    """Line and column, from 1, of an index into `text`."""
    return text.count("\n", 0, index) + 1, index - text.rfind("\n", 0, index)


def undecodable(data: bytes, path: str, limit: int) -> Problem | None:
    """Why `data` is no text of this format at all."""
    if len(data) > limit:
        message = f"the file has {len(data):,} bytes; the limit is {limit:,}"
        return _error(path, (0, 0), "too-large", message, "move large content to a file beside the record")
    if not data.strip(b"\xef\xbb\xbf \t\r\n"):
        return _error(path, (0, 0), "empty-file", "the file is empty", "write a title, or delete the file")
    nul = data.find(b"\0")
    if nul >= 0:
        place = (data.count(b"\n", 0, nul) + 1, 0)
        message = "the file is binary (it holds a NUL byte)"
        return _error(path, place, "binary-file", message, "save it as UTF-8 text")
    try:
        data.decode()
    except UnicodeDecodeError as error:
        start = data.rfind(b"\n", 0, error.start) + 1
        place = data.count(b"\n", 0, start) + 1, len(data[start : error.start].decode(errors="replace")) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8"
        return _error(path, place, "not-utf8", message, "save the file as UTF-8")
    return None


def split(data: bytes, *, whole_yaml: bool) -> Parts:
    """The parts of decodable `data`; a file without front matter is all body."""
    text = data.decode()
    mark = _BOM if text.startswith(_BOM) else ""
    text = text[len(mark) :]
    if whole_yaml:
        return Parts(mark, "", text, "", "")
    opening = _OPENING.match(text)
    closing = _CLOSING.search(text, opening.end()) if opening else None
    if opening is None or closing is None:
        return Parts(mark, "", "", "", text)
    return Parts(
        mark,
        opening.group(),
        text[opening.end() : closing.start()],
        closing.group(),
        text[closing.end() :],
    )


def structure_problems(parts: Parts, path: str, *, whole_yaml: bool) -> Iterator[Problem]:
    """Conflict markers, and front matter that does not begin or end as it should."""
    text = parts.text
    yaml_end = len(parts.opening) + len(parts.yaml)
    marker = _MARKER.search(text[:yaml_end]) or _MARKER.match(text)
    if marker:
        message = "a merge left its conflict markers here"
        hint = "keep one side and remove the lines <<<<<<<, ======= and >>>>>>>"
        yield _error(path, line_column(text, marker.start()), "conflict-markers", message, hint)
    elif "<<<<<<< " in parts.body and (at := _conflict_in(parts.body)) is not None:
        message = "a merge seems to have left its conflict markers here"
        hint = "keep one side, or put the lines into a fenced block if they are meant"
        place = line_column(text, len(text) - len(parts.body) + at)
        yield Problem(path, *place, Severity.WARNING, "conflict-markers", message, hint)
    if parts.opening or whole_yaml or marker:
        return
    if _OPENING.match(text):
        message = "the front matter that begins here has no end"
        hint = "add a line --- after its last key"
        yield _error(path, (1, 1), "front-matter-unclosed", message, hint)
    elif (stripped := text.lstrip()) != text and _OPENING.match(stripped) and _CLOSING.search(stripped, 4):
        place = line_column(text, len(text) - len(stripped))
        hint = "remove what stands above the first ---"
        message = "front matter begins on the first line of a file"
        yield _error(path, place, "front-matter-late", message, hint)


def _conflict_in(body: str) -> int | None:
    """Where a whole conflict begins outside fenced blocks."""
    fence, seen, index, began = "", "", 0, 0
    for line in body.splitlines(keepends=True):
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and (found := _MARKER.match(line)):
            sign = found[0][0]
            if sign == "<":
                seen, began = "<", index
            elif sign == "=" and seen == "<":
                seen = "="
            elif sign == ">" and seen == "=":
                return began
        index += len(line)
    return None


def _error(path: str, place: tuple[int, int], code: str, message: str, hint: str) -> Problem:
    return Problem(path, *place, Severity.ERROR, code, message, hint)
