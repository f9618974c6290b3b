"""Errors that a user can act on: each has a kind, an exit code and, where it helps, a hint.

The exit codes are a contract (docs/commands.md, "Exit codes"). A hint is the next safe
command to type and never one that destroys anything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar


class GitmemError(Exception):
    """An expected failure, told to people as `error: …` and `hint: …`.

    `details` goes into the JSON error object beside message and hint.
    """

    kind: ClassVar[str] = "failed"
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str | None = None, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.details: Mapping[str, Any] = details


class NotFoundError(GitmemError):
    kind = "not_found"


class AmbiguousError(GitmemError):
    """A prefix that fits several ids; `details["candidates"]` lists them."""

    kind = "ambiguous"


class IllegalMoveError(GitmemError):
    """A state change that the table in `core.states` does not have."""

    kind = "illegal_move"


class GitError(GitmemError):
    """Git said no; the message carries git's own words."""

    kind = "git"


class StorageError(GitmemError):
    """The disk is full, the repository is read-only, or a file cannot be read."""

    kind = "storage"


class IdentityError(GitmemError):
    """Nobody to sign a commit as."""

    kind = "identity"


class UsageError(GitmemError):
    kind = "usage"
    exit_code = 2


class NotAWorkspaceError(GitmemError):
    kind = "not_a_workspace"
    exit_code = 10


class LockedError(GitmemError):
    """Somebody else holds what we need; the message says who, where and since when."""

    kind = "locked"
    exit_code = 11


class InvalidDocumentError(GitmemError):
    """Documents that break the format; `details["problems"]` lists them."""

    kind = "invalid"
    exit_code = 12


class UnsupportedFormatError(InvalidDocumentError):
    kind = "unsupported_format"


class ConflictError(GitmemError):
    """Someone changed it first."""

    kind = "conflict"
    exit_code = 13


class NotPermittedError(GitmemError):
    kind = "not_permitted"
    exit_code = 14
