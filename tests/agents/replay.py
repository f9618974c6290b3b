"""Recorded output of real programs, read back through their adapters."""

from __future__ import annotations

from pathlib import Path

from gitmem.agents.adapter import Event, Job, Reader, Source, Verdict
from gitmem.agents.registry import adapter_named
from gitmem.agents.tally import Tally

RECORDED = Path(__file__).parent / "recorded"


def read(adapter: str, lines: list[str], job: Job, env: dict[str, str] | None = None) -> list[Event]:
    return _read(adapter_named(adapter).reader(job, env or {}), lines)


def _read(reader: Reader, lines: list[str]) -> list[Event]:
    return [event for line in lines for event in reader.line(line, Source.STDOUT)]


def replay(name: str, job: Job, exit_code: int, env: dict[str, str] | None = None) -> Verdict:
    """The verdict on `recorded/<name>.jsonl`; the name starts with the adapter's."""
    reader = adapter_named(name.partition("-")[0]).reader(job, env or {})
    lines = (RECORDED / f"{name}.jsonl").read_text().splitlines()
    tally = Tally()
    for event in [*_read(reader, lines), *reader.end(exit_code)]:
        tally.add(event)
    return tally.verdict(exit_code)
