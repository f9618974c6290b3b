from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from gitmem import __version__
from gitmem.agents.registry import adapter_named, locate, names, too_old, version
from gitmem.core.errors import NotFoundError
from tests.agents.conftest import AGENTS, SENTINEL_EXIT


def test_the_adapters_are_known_by_name() -> None:
    assert {"claude", "codex", "command", "runbook"} <= set(names())
    for name in names():
        assert adapter_named(name).name == name


def test_a_misspelt_name_offers_the_nearest() -> None:
    with pytest.raises(NotFoundError) as error:
        adapter_named("cluade")
    assert error.value.hint == "did you mean claude?"


def test_no_real_agent_can_be_started_from_here(sentinels: Path) -> None:
    for name in {*AGENTS, "claude", "codex"}:
        found = locate(adapter_named("claude"), (name,))
        assert found == str(sentinels / name)
        assert os.waitstatus_to_exitcode(os.system(f"{found} 2>/dev/null")) == SENTINEL_EXIT


def test_a_program_is_located_on_the_given_path_as_an_absolute_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "claude"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    assert locate(adapter_named("claude"), path=str(program.parent)) is None  # not executable
    program.chmod(0o755)
    assert locate(adapter_named("claude"), path=str(program.parent)) == str(program)
    monkeypatch.chdir(tmp_path)
    assert locate(adapter_named("claude"), ("bin/claude", "--flag")) == str(program)


def test_the_command_adapter_has_no_program_of_its_own() -> None:
    assert locate(adapter_named("command")) is None
    assert locate(adapter_named("command"), ("sh", "-c", "true")) is not None


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("echo '2.1.332 (Claude Code)'", "2.1.332"),
        ("echo 'codex-cli 0.171.0'", "0.171.0"),
        ("echo 'a warning'; echo 'v1.2.0-beta.3'", "1.2.0-beta.3"),
        ("echo 'no number'", None),
        ("echo 1.2.3; exit 1", None),
    ],
)
def test_a_version_is_what_the_program_says(tmp_path: Path, script: str, said: str | None) -> None:
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    assert version(adapter_named("claude"), (str(program),)) == said


def test_the_version_of_what_is_part_of_gitmem_is_gitmems() -> None:
    assert version(adapter_named("runbook")) == __version__
    assert version(adapter_named("command"), ("sh",)) is None


@pytest.mark.parametrize(
    ("minimum", "found", "problem"),
    [
        ((), "0.0.1", None),
        ((2026, 5, 5), "2026.5.5", None),
        ((2026, 5, 5), "2026.10.1-beta", None),
        ((2026, 5, 5), "2026.5.4", "claude 2026.5.4 is too old: 2026.5.5 or newer is needed"),
    ],
)
def test_a_version_below_the_known_minimum_is_told(
    minimum: tuple[int, ...], found: str, problem: str | None
) -> None:
    assert too_old(replace(adapter_named("claude"), minimum=minimum), found) == problem
