"""Console transcripts in Markdown pages: the commands are run again and their output is compared.

In a ```console block a line `$ …` is a command (`> …` continues it) and what follows is what it
printed on a terminal. Ids, commits, times and durations differ each time: an id of the page
stands for the one that was printed in its place, also in later commands. A line `…` stands for
any lines, and `…` at the end of a line for its rest.
"""

from __future__ import annotations

import itertools
import os
import pty
import re
import subprocess
import termios
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)

# What differs each time and from machine to machine. An id without a digit would be a word.
_VARIES = re.compile(
    r"""(?P<runner>(?<=^runner\ )\S+)
      | (?P<time>\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}Z?)?)?)
      | (?P<month>\b\d{4}-\d{2}\b)
      | (?P<duration>\b\d+(?:\.\d+)?\ ?(?:ms|s)\b)
      | (?P<commit>\b(?:[0-9a-f]{40}|[0-9a-f]{10}|[0-9a-f]{7})\b)
      | (?P<id>\b(?=[a-z]*\d)[0-9a-hjkmnp-tv-z]{8}\b)""",
    re.VERBOSE,
)
_SHAPES = {
    "runner": r"\S+",
    "time": r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}Z?)?)?",
    "month": r"\d{4}-\d{2}",
    "duration": r"\d+(?:\.\d+)? ?(?:ms|s)",
    "commit": r"[0-9a-f]{7,40}",
    "id": r"[0-9a-hjkmnp-tv-z]{8}",
}


COLUMNS = 100


@dataclass(frozen=True)
class Step:
    command: str
    printed: str


def steps(markdown: str) -> Iterator[Step]:
    """The commands of a page with what the page says they print, in order."""
    for block in _BLOCK.findall(markdown):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            first, *rest = part.splitlines()
            more = list(itertools.takewhile(lambda line: line == ">" or line.startswith("> "), rest))
            yield Step(
                "\n".join([first, *(line[2:] for line in more)]),
                "\n".join(rest[len(more) :]).strip("\n"),
            )


@dataclass
class Shell:
    """A person's shell on a terminal; it remembers its folder."""

    home: Path
    env: Mapping[str, str]
    cwd: Path = field(init=False)

    def __post_init__(self) -> None:
        self.cwd = self.home

    def run(self, command: str) -> str:
        """What the command prints on a terminal, stdout and stderr together."""
        master, slave = pty.openpty()
        termios.tcsetwinsize(slave, (40, COLUMNS))
        marker = self.home / ".cwd"
        process = subprocess.Popen(
            ["bash", "-c", f"{command}\npwd > '{marker}'"],
            cwd=self.cwd,
            env=self.env,
            stdin=subprocess.DEVNULL,
            stdout=slave,
            stderr=slave,
        )
        os.close(slave)
        printed = b"".join(_read_all(master))
        os.close(master)
        process.wait()
        self.cwd = Path(marker.read_text().strip())
        text = printed.decode("utf-8", "replace").replace("\r\n", "\n")
        return "\n".join(line.rstrip() for line in text.splitlines()).strip("\n")


def _read_all(master: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(master, 65536)
        except OSError:  # Linux says so when the last program has closed the terminal
            return
        if not data:
            return
        yield data


@dataclass
class Play:
    """A page's commands, run one after the other. `known` are the ids of the page and ours."""

    shell: Shell
    known: dict[str, str] = field(default_factory=dict)

    def problem(self, step: Step) -> str | None:
        """Run a step; None where it printed what the page says, else what it printed instead."""
        command = re.sub(
            "|".join(map(re.escape, self.known)) or "$^", lambda m: self.known[m[0]], step.command
        )
        printed = self.shell.run(command).replace(str(self.shell.home), "/home/ana")
        names: dict[str, str] = {}
        found = re.fullmatch(self._pattern(step.printed, names), printed, re.DOTALL)
        if found is None:
            for page, ours in self.known.items():
                printed = printed.replace(ours, page)
            return f"$ {step.command}\n{printed}"
        self.known |= {page: found[name] for page, name in names.items()}
        return None

    def _pattern(self, text: str, names: dict[str, str]) -> str:
        lines = [self._line(line.rstrip(), names) for line in text.splitlines()]
        return "\n".join(lines).replace("\n" + _ANY_LINES, f"(?:\n{_ANY_LINES})?")

    def _line(self, line: str, names: dict[str, str]) -> str:
        if line == "…":
            return _ANY_LINES
        cut = line.endswith("…")
        pattern, at = "", 0
        for found in _VARIES.finditer(line.removesuffix("…")):
            pattern += re.escape(line[at : found.start()]) + self._token(found, names)
            at = found.end()
        return pattern + re.escape(line.removesuffix("…")[at:]) + ("[^\n]*" if cut else "")

    def _token(self, found: re.Match[str], names: dict[str, str]) -> str:
        kind, text = str(found.lastgroup), found.group()
        if kind not in {"id", "commit"}:
            return _SHAPES[kind]
        if text in self.known:
            return re.escape(self.known[text])
        if text in names:
            return f"(?P={names[text]})"
        names[text] = f"n{len(names)}"
        return f"(?P<{names[text]}>{_SHAPES[kind]})"


_ANY_LINES = ".*?"
