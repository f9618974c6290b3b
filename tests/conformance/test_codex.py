"""What only Codex has: a sandbox of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conformance.conftest import Bench
from tests.support.modelserver import ModelServer, Say, Shell

pytestmark = [pytest.mark.conformance, pytest.mark.parametrize("bench", ["codex"], indirect=True)]


@pytest.fixture
def outside() -> Iterator[Path]:
    """A folder outside the work directory that is not below /tmp, which the sandbox lets it write."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        yield Path(folder)


def test_a_write_outside_the_work_directory_is_blocked(bench: Bench, outside: Path) -> None:
    with ModelServer(Shell(f"echo x > {outside}/file"), Say("done")) as server:
        verdict = bench.turn(bench.job(server.url))
    assert verdict.reason is None
    assert not (outside / "file").exists()


def test_the_agents_command_may_choose_another_sandbox(bench: Bench, outside: Path) -> None:
    with ModelServer(Shell(f"echo x > {outside}/file"), Say("done")) as server:
        command = ("codex", "--sandbox", "danger-full-access")
        verdict = bench.turn(bench.job(server.url, command=command))
    assert verdict.reason is None, verdict
    assert (outside / "file").exists()
