"""A file as it stands: its kind, its place, its fields, and what is wrong with it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar


class Kind(StrEnum):
    ISSUE = "issue"
    COMMENT = "comment"
    SKILL = "skill"
    AGENT = "agent"
    MEMBER = "member"
    TASK = "task"
    RUN = "run"
    KNOWLEDGE = "knowledge"
    CONTEXT = "context"
    POLICY = "policy"
    CONFIG = "config"
    LIBRARIES = "libraries"


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Problem(NamedTuple):
    """Something wrong with a file; `line` and `column` count from 1, 0 where unknown."""

    path: str
    line: int
    column: int
    severity: Severity
    code: str
    message: str
    hint: str | None = None


class Record(NamedTuple):
    """One file: its path from the workspace root, its blob id, and what its front matter says."""

    kind: Kind
    id: str
    path: str
    blob: str
    fields: Mapping[str, Any]
    body: str = ""
    uncommitted: bool = False


E = TypeVar("E", bound=StrEnum)


def enum_or(kind: type[E], value: Any, default: E) -> E:
    """`value` as a member of `kind`, else `default`."""
    return kind(value) if isinstance(value, str) and value in set(kind) else default


def text(value: Any) -> str | None:
    """A non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def texts(value: Any) -> tuple[str, ...]:
    """The non-empty strings of a list; one string stands for a list of one."""
    if isinstance(value, str) and value:
        return (value,)
    if not isinstance(value, list):
        return ()
    return tuple(item for item in value if isinstance(item, str) and item)


def integer(value: Any, default: int) -> int:
    """An integer that is not a boolean, else `default`."""
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def mapping(value: Any) -> Mapping[str, Any]:
    """A mapping, else an empty one."""
    return value if isinstance(value, dict) else {}
