"""What an agent program is to us: a job for it, the events it prints, the verdict on its turn.

An adapter is a record of facts about one program plus a reader that turns its lines into
events. Everything that runs, waits, stops and judges is common (`spawn`, `drive`, `tally`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol, TypeVar

from gitmem.core.states import Reason


@dataclass(frozen=True, slots=True)
class Job:
    """One turn for an agent program.

    `work` is its working directory, `run_dir` where events and logs go. `env` are variables
    that we set, `pass_env` names of our own that it may see. `home` None is the user's own
    home and login. `command` replaces the executable and adds leading arguments. The limits
    are seconds: until the first output, of silence, of silence while a tool runs, in all.
    """

    work: Path
    run_dir: Path
    prompt: str
    env: Mapping[str, str] = field(default_factory=dict)
    pass_env: tuple[str, ...] = ()
    home: Path | None = None
    session_id: str | None = None
    model: str | None = None
    command: tuple[str, ...] = ()
    timeout_s: float = 5400
    idle_timeout_s: float = 900
    start_timeout_s: float = 120
    tool_timeout_s: float = 2700


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of a run; None is unknown, never 0.

    `input` is without what the provider read from its cache (`cached`); tokens written to the
    cache count as input. `output` contains `reasoning` where the provider counts it so.
    """

    input: int | None = None
    cached: int | None = None
    output: int | None = None
    reasoning: int | None = None
    cost_usd: float | None = None

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            _sum(self.input, other.input),
            _sum(self.cached, other.cached),
            _sum(self.output, other.output),
            _sum(self.reasoning, other.reasoning),
            _sum(self.cost_usd, other.cost_usd),
        )

    def as_dict(self) -> dict[str, int | float | None]:
        return {
            "input": self.input,
            "cached": self.cached,
            "output": self.output,
            "reasoning": self.reasoning,
            "cost_usd": self.cost_usd,
        }


N = TypeVar("N", int, float)


def _sum(a: N | None, b: N | None) -> N | None:
    return b if a is None else a if b is None else a + b


class EventType(StrEnum):
    START = "start"  # the session has begun
    MESSAGE = "message"  # the agent's own words, whole
    THINKING = "thinking"  # its reasoning, or a sub-agent's words: never an answer
    TOOL_START = "tool_start"
    TOOL_END = "tool_end"
    ERROR = "error"  # trouble that the program may yet get over
    RESULT = "result"  # terminal: the program says how the turn ended
    OTHER = "other"  # a sign of life


@dataclass(frozen=True, slots=True)
class Event:
    """One normalised event.

    `call` is the program's id of a tool call. `usage` on RESULT is the whole run's, elsewhere
    an increment. `reason` None on RESULT means that the turn ended well; on ERROR it is what
    the trouble is, where known. `retry_at` is when the provider says to come back (UTC stamp).
    """

    type: EventType
    text: str = ""
    tool: str | None = None
    call: str | None = None
    session_id: str | None = None
    usage: Usage | None = None
    reason: Reason | None = None
    retry_at: str | None = None
    resume_rejected: bool = False


@dataclass(frozen=True, slots=True)
class Verdict:
    """How a turn ended. `reason` None: the program gave its positive terminal event.

    `text` is the final answer and empty on failure, so that narration is never taken for one.
    `exit` is the exit code, negative for a signal. `tool_ran`: something may have been changed.
    `resume_rejected`: the session of the job is lost; retire it.
    """

    reason: Reason | None
    detail: str = ""
    text: str = ""
    session_id: str | None = None
    usage: Usage = Usage()
    exit: int | None = None
    tool_ran: bool = False
    retry_at: str | None = None
    resume_rejected: bool = False


# A batch of lines without meaning is told by its end; the logs have it all.
LIFE_CHARS = 8 * 1024


class Source(StrEnum):
    STDOUT = "stdout"
    STDERR = "stderr"


class Input(Protocol):
    """The stdin of a program that is talked with."""

    def send(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class Reader:
    """Turns the output of one run into events; the default takes every line as a sign of life.

    A program that prints one JSON document collects lines and gives its events when the
    document is complete; one that prints plain text answers in `end`.
    """

    def begin(self, stdin: Input) -> None:
        """Start the conversation, where the adapter `converses`; not asked otherwise."""

    def line(self, text: str, source: Source) -> Iterable[Event]:
        """The events in one line, which comes without its line ending."""
        if source is Source.STDOUT:
            yield Event(EventType.OTHER, text)

    def lines(self, texts: Sequence[str], source: Source) -> Iterable[Event]:
        """The events in lines that came together; a flood must not become an event a line."""
        for text in texts:
            yield from self.line(text, source)

    def end(self, exit_code: int) -> Iterable[Event]:
        """What only the program's own end tells; not asked when we stopped it."""
        del exit_code
        return ()

    def stopped(self) -> Iterable[Event]:
        """What the program left behind about its turn, asked when we stopped it."""
        return ()


class JsonLinesReader(Reader):
    """A reader of programs that print one JSON object a line; other lines are noise."""

    def line(self, text: str, source: Source) -> Iterable[Event]:
        if source is Source.STDERR:
            return ()
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            record = None
        if not isinstance(record, dict):
            return (Event(EventType.OTHER, text),) if text.strip() else ()
        return self.record(record)

    def lines(self, texts: Sequence[str], source: Source) -> Iterable[Event]:
        noise: list[str] = []
        for text in texts:
            if source is Source.STDERR or text.lstrip().startswith("{"):
                yield from signs_of_life(noise)
                noise.clear()
                yield from self.line(text, source)
            else:
                noise.append(text)
        yield from signs_of_life(noise)

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        raise NotImplementedError


def signs_of_life(texts: Sequence[str]) -> Iterable[Event]:
    """One event for lines that mean nothing, with the end of what they say; none for blank lines."""
    words = "\n".join(text for text in texts if text and not text.isspace())
    return (Event(EventType.OTHER, words[-LIFE_CHARS:]),) if words else ()


Environment = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part of gitmem that an adapter needs, and a module that comes with it."""

    name: str
    module: str


def _no_arguments(_job: Job) -> list[str]:
    return []


def _no_variables(_job: Job) -> Environment:
    return {}


@dataclass(frozen=True, slots=True)
class Adapter:
    """The facts about one agent program.

    `arguments` follow the executable. `home_variables` name the program's own folders below
    an isolated home and pass through from the user's environment otherwise. `briefs` are the
    names of the instruction files it reads, best first; `skill_folders` where it finds skills.
    Where it `converses`, its reader writes to its stdin, and the prompt is the reader's affair.
    `prints_at_start` is False for a program that may be silent until it ends its work.
    """

    name: str
    executable: str
    reader: Callable[[Job, Environment], Reader]
    arguments: Callable[[Job], list[str]] = _no_arguments
    variables: Callable[[Job], Environment] = _no_variables
    home_variables: Mapping[str, str] = field(default_factory=dict)
    prompt_on_stdin: bool = True
    converses: bool = False
    prints_at_start: bool = True
    can_resume: bool = False
    briefs: tuple[str, ...] = ("AGENTS.md",)
    skill_folders: tuple[str, ...] = (".agents/skills",)
    version_argument: str | None = "--version"
    own_version: str | None = None  # of a program that is part of gitmem
    minimum: tuple[int, ...] = ()
    extra: Extra | None = None
