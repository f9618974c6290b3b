from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import settings

from gitmem.core.ids import parse_actor
from gitmem.memory.access import Gate
from gitmem.store.document import render
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace
from tests.conftest import git

# The same examples every time, and no clock: a busy machine is no fault of the code.
settings.register_profile("steady", derandomize=True, deadline=None, database=None)
settings.load_profile("steady")

NOW = datetime(2026, 11, 30, 22, 19, tzinfo=UTC)

Files = dict[str, str | bytes]


@pytest.fixture
def commit_all(repo: Path) -> Callable[[Files], None]:
    """Write many files and commit them once."""

    def write(files: Files) -> None:
        for path, data in files.items():
            file = repo / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data.encode() if isinstance(data, str) else data)
        git(repo, "add", "--", *files)
        git(repo, "commit", "-q", "-m", "write")

    return write


@pytest.fixture
def read(ws: Workspace) -> Iterator[Callable[[], Reader]]:
    """Readers of the workspace as it is when asked."""
    opened: list[Reader] = []

    def reader() -> Reader:
        opened.append(Reader(ws))
        return opened[-1]

    yield reader
    for one in opened:
        one.close()


def gate(reader: Reader, actor: str = "agent:claude", working_on: str | None = None) -> Gate:
    return Gate(reader, parse_actor(actor), working_on=working_on)


def issue_file(issue_id: str, title: str, body: str = "Text.", **fields: object) -> bytes:
    return render(
        {"id": issue_id, "title": title, "created_by": "member:ana", **fields},
        body if body.endswith("\n") else body + "\n",
    )


def skill_files(skills: Iterable[tuple[str, bytes]]) -> Files:
    return {f"skills/{name}/SKILL.md": data for name, data in skills}
