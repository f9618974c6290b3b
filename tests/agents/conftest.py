"""No test here can start a real agent program: a sentinel for each stands first on PATH."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gitmem.agents import runbook
from gitmem.agents.adapter import Adapter, Event, Job, Verdict
from gitmem.agents.drive import Pace, drive
from gitmem.agents.registry import adapter_named, names
from tests.support.bell import Bell

# Also programs that have no adapter yet.
AGENTS = (
    "gemini",
    "opencode",
    "pi",
    "qwen",
    "kimi",
    "copilot",
    "hermes",
    "openclaw",
    "cursor-agent",
    "droid",
)
SENTINEL_EXIT = 97

Drive = Callable[..., Verdict]


@pytest.fixture(autouse=True)
def sentinels(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("sentinels")
    known = {adapter_named(name).executable for name in names()}
    for name in {*AGENTS, *known} - {"", sys.executable}:
        script = folder / name
        script.write_text(
            f"#!/bin/sh\necho 'a unit test started the real agent {name}' >&2\nexit {SENTINEL_EXIT}\n"
        )
        script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


@pytest.fixture
def job(tmp_path: Path) -> Job:
    work = tmp_path / "work"
    (work / ".gitmem" / "outbox").mkdir(parents=True)
    return Job(work, tmp_path, "The prompt.", timeout_s=60, idle_timeout_s=30, start_timeout_s=30)


@pytest.fixture
def bell(tmp_path: Path) -> Iterator[Bell]:
    bell = Bell(tmp_path / "bell")
    yield bell
    bell.close()


def scripted(source: str, **facts: object) -> Adapter:
    """A program in Python that prints events as JSON lines with `say(type, **fields)`."""
    head = (
        "import json, os, signal, subprocess, sys, time\n"
        "def say(type, **fields): print(json.dumps({'type': type, **fields}), flush=True)\n"
    )
    adapter = replace(runbook.ADAPTER, name="scripted", arguments=lambda _job: ["-c", head + source])
    return replace(adapter, prompt_on_stdin=True, **facts)  # type: ignore[arg-type]


@pytest.fixture
def turn() -> Drive:
    """Drives an adapter to its verdict; processes that should end get half a second to do so."""

    def turn(
        adapter: Adapter,
        job: Job,
        cancel: threading.Event | None = None,
        on_event: Callable[[Event], None] = lambda _event: None,
        pace: Pace | None = None,
    ) -> Verdict:
        flag = cancel or threading.Event()
        return drive(
            adapter,
            job,
            cancel=flag,
            on_event=on_event,
            pace=pace or Pace(stop_grace_s=0.5, linger_s=0.5),
        )

    return turn


def events_of(job: Job) -> list[dict[str, object]]:
    return [json.loads(line) for line in (job.run_dir / "events.jsonl").read_text().splitlines()]
