"""Lines that are YAML only with quotes: `title: Fix: this`, `assignee: @ana`, `title: *really* slow`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitmem.store.yamlread import YamlError, load
from gitmem.store.yamlwrite import double_quoted, scalar


@dataclass(frozen=True, slots=True)
class Requoted:
    """The text with one line as it should be typed, that line, and the index where it ends."""

    text: str
    line: str
    end: int


LINE_MAX = 2_000  # longer lines are not titles, and the pattern below is slow on them


# `# x` after a space is a comment; `#12` is not meant as one by who wrote a line that is no YAML.
_VALUE_LINE = re.compile(
    r"""(?P<head>[ \t]*(?:-[ ]+)*(?:[^\s:\#'"\[{][^:\#]*:[ \t]+)?)
        (?P<value>\S.*?)
        (?P<tail>[ \t]+\#(?:[ \t].*)?|[ \t]*)""",
    re.VERBOSE,
)


def requoted(text: str, error: YamlError, *, after: int = 0) -> Requoted | None:
    """The line at fault as it should be typed, if the text is then readable up to a later line.

    Lines that begin before `after` are left alone: to quote one twice would double it for ever.
    """
    index = min(error.index, max(0, len(text) - 1))
    for start in _line_starts(text, index):
        end = text.find("\n", start)
        line = text[start : end if end >= 0 else len(text)].rstrip("\r")
        found = _VALUE_LINE.fullmatch(line) if start >= after and len(line) <= LINE_MAX else None
        for new in _candidates(found, error.code) if found else ():
            fixed = text[:start] + new + text[start + len(line) :]
            if _reads_past(fixed, start + len(new)):
                return Requoted(fixed, new.strip(), start + len(new))
    return None


def _line_starts(text: str, index: int) -> Iterator[int]:
    """The start of the line at `index`, then of the one above: libyaml notices some faults a line late."""
    start = text.rfind("\n", 0, index) + 1
    yield start
    if start:
        yield text.rfind("\n", 0, start - 1) + 1


def _candidates(line: re.Match[str], code: str) -> Iterator[str]:
    head, value, tail = line.group("head", "value", "tail")
    if code == "missing-colon":
        key, _, rest = value.partition(" ")
        yield f"{head}{key}: {rest.strip()}{tail}"
        return
    if code == "yaml-unclosed":
        yield f"{head}{value}{_CLOSERS.get(value[0], '')}{tail}"
    elif value.startswith("[") and value.endswith("]"):
        items = [item.strip() for item in value[1:-1].split(",") if item.strip()]
        quoted = (item if item[0] in "'\"" else scalar(item, flow=True) for item in items)
        yield f"{head}[{', '.join(quoted)}]{tail}"
    yield f"{head}{double_quoted(value)}{tail}"


_CLOSERS = {'"': '"', "'": "'", "[": "]", "{": "}"}


def _reads_past(text: str, index: int) -> bool:
    try:
        load(text)
    except YamlError as error:
        return error.index > index
    return True
