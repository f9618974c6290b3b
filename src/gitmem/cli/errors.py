"""The one place where an exception becomes words, JSON and an exit code."""

from __future__ import annotations

import errno
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import click

from gitmem import __version__
from gitmem.cli.console import Console
from gitmem.cli.output import OutputError
from gitmem.core.clock import stamp
from gitmem.core.errors import GitmemError

BUG = 3
INTERRUPTED = 130
_NEAR_OPTION = 0.7  # `lable` and `label` 0.8, `state` and `status` 0.73, `body` and `by` 0.67

_DISK = {
    errno.ENOSPC: ("the disk is full", "free some space, then run the same command again"),
    errno.EDQUOT: ("your disk quota is used up", "free some space, then run the same command again"),
    errno.EROFS: ("the file system is read-only", None),
    errno.EACCES: ("permission denied", "gitmem doctor"),
    errno.EPERM: ("permission denied", "gitmem doctor"),
    errno.EMFILE: ("too many open files", "raise the limit with `ulimit -n`"),
}


class Failure(NamedTuple):
    kind: str
    message: str
    hint: str | None
    exit_code: int
    details: Mapping[str, Any]


def failure_of(error: BaseException) -> Failure | None:
    """What to tell a person, or None for what nobody expected: a bug."""
    if isinstance(error, GitmemError):
        return Failure(error.kind, error.message, error.hint, error.exit_code, error.details)
    if isinstance(error, click.UsageError):
        return Failure("usage", *_usage(error), 2, {})
    if isinstance(error, click.ClickException):
        return Failure("failed", error.format_message(), None, 1, {})
    if isinstance(error, (KeyboardInterrupt, click.Abort, EOFError)):
        return Failure("interrupted", "interrupted", None, INTERRUPTED, {})
    if isinstance(error, OSError) and error.errno in _DISK:
        words, hint = _DISK[error.errno]
        where = f": {error.filename}" if error.filename else ""
        return Failure("storage", words + where, hint, 1, {})
    return None


def _usage(error: click.UsageError) -> tuple[str, str | None]:
    """Click's sentence in our form, and the command whose help explains it."""
    path = error.ctx.command_path if error.ctx else "gitmem"
    message = error.format_message()
    hint = f"{path} --help"
    if isinstance(error, click.NoSuchOption):
        message = f"{path} has no option {error.option_name}"
        near = [name for name in error.possibilities or () if _is_near(name, error.option_name)]
        if near:
            hint = f"did you mean {' or '.join(sorted(near))}?"
    elif isinstance(error, click.MissingParameter) and isinstance(error.param, click.Argument):
        message = f"{error.param.make_metavar(error.ctx)} is missing" if error.ctx else message
    message = message.rstrip(".")
    if message.split(" ")[0].isupper():  # a metavar
        return message, hint
    return message[:1].lower() + message[1:], hint


def _is_near(option: str, typed: str) -> bool:
    """Click compares the dashes too, and so takes any two short options for alike."""
    from difflib import SequenceMatcher  # late: 6 ms, only on this path

    left, right = option.lstrip("-"), typed.lstrip("-")
    return left.startswith(right) or SequenceMatcher(None, left, right).ratio() >= _NEAR_OPTION


def report(error: BaseException, console: Console, *, now: datetime, state: Path, argv: Sequence[str]) -> int:
    """Print `error` on stderr, as JSON under --json; returns the exit code."""
    failure = failure_of(error) or _bug(error, now=now, state=state, argv=argv)
    with suppress(OutputError, BrokenPipeError):  # the exit code tells all the same
        _print(failure, console)
    return failure.exit_code


def _print(failure: Failure, console: Console) -> None:
    if console.json:
        body = {
            "kind": failure.kind,
            "message": failure.message,
            "hint": failure.hint,
            "exit_code": failure.exit_code,
        }
        console.error_object({"error": {**body, **_plain(failure.details)}})
    else:
        console.error(failure.message, failure.hint)


def _plain(details: Mapping[str, Any]) -> dict[str, Any]:
    """Details as JSON can hold them; named tuples and dataclasses become objects."""
    return {key: _jsonable(value) for key, value in details.items()}


def _jsonable(value: Any) -> Any:
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    if isinstance(value, Mapping):
        return _plain(value)
    if isinstance(value, (list, tuple, set, frozenset)) and not hasattr(value, "_asdict"):
        return [_jsonable(item) for item in value]
    fields = getattr(value, "__dataclass_fields__", None) or getattr(value, "_fields", None)
    if fields:
        return {name: _jsonable(getattr(value, name)) for name in fields}
    return str(value)


def _bug(error: BaseException, *, now: datetime, state: Path, argv: Sequence[str]) -> Failure:
    words = f"gitmem has a bug: {type(error).__name__}: {error}"
    try:
        path = _write_log(error, now=now, folder=state / "log", argv=argv)
    except OSError as failed:
        return Failure("bug", words, f"the report could not be written: {failed}", BUG, {})
    return Failure("bug", words, f"the report to send is {path}", BUG, {"log": str(path)})


def _write_log(error: BaseException, *, now: datetime, folder: Path, argv: Sequence[str]) -> Path:
    """A report to paste into an issue: versions, the command, the traceback."""
    import platform  # late: only a bug needs these
    import shlex
    import traceback

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{stamp(now).replace(':', '')}-{id(error):x}.md"
    lines = [
        f"gitmem {__version__}, Python {platform.python_version()}, {platform.platform()}",
        f"command: {shlex.join(['gitmem', *argv])}",
        "```",
        "".join(traceback.format_exception(error)).rstrip(),
        "```",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", errors="backslashreplace")
    return path
