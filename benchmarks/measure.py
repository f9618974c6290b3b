"""Time, processor time and memory, taken so that they can be compared."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

# One taking of a measurement; it gives the seconds that count and prepares, untimed, what it needs.
Case = Callable[[], float]


def timed(function: Callable[[], object]) -> Case:
    """A case that is nothing but `function`."""

    def take() -> float:
        start = time.perf_counter()
        function()
        return time.perf_counter() - start

    return take


def interleaved(cases: Mapping[str, Case], rounds: int, warm_up: int = 2) -> dict[str, float]:
    """The median seconds of each case.

    The cases take turns (A B C, B C A, …), so that whatever else the machine does meanwhile
    falls on all of them alike and ratios stay true where times do not.
    """
    taken: dict[str, list[float]] = {name: [] for name in cases}
    names = list(cases)
    for number in range(-warm_up, rounds):
        at = number % len(names)
        for name in names[at:] + names[:at]:
            seconds = cases[name]()
            if number >= 0:
                taken[name].append(seconds)
        note(f"  round {max(0, number + 1)} of {rounds}")
    note("")
    return {name: median(seconds) for name, seconds in taken.items()}


def note(text: str) -> None:
    """Progress, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


def command(argv: Sequence[str | Path], cwd: Path) -> Callable[[], bytes]:
    """A whole process; it must succeed, and its output is read as a person's terminal would."""

    def run() -> bytes:
        done = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            words = done.stderr.decode("utf-8", "replace")
            raise RuntimeError(f"{' '.join(map(str, argv))}: exit status {done.returncode}\n{words}")
        return done.stdout

    return run


@dataclass(frozen=True, slots=True)
class Spent:
    """What a process and all its children took."""

    wall_s: float
    cpu_s: float
    peak_mib: float


# A process of its own between us and the measured one: Linux counts the memory of whoever
# starts a process into the peak of that process, and this one is smaller than we are.
_METER = """
import json, resource, subprocess, sys, time
start = time.perf_counter()
status = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
wall = time.perf_counter() - start
used = resource.getrusage(resource.RUSAGE_CHILDREN)
kib = used.ru_maxrss / 1024 if sys.platform == "darwin" else used.ru_maxrss
print(json.dumps([status, wall, used.ru_utime + used.ru_stime, kib / 1024]))
"""


def spent(argv: Sequence[str | Path], cwd: Path, env: Mapping[str, str] | None = None) -> Spent:
    """Run a command that must succeed, and tell what it and its children took."""
    meter = [sys.executable, "-I", "-S", "-c", _METER, *map(str, argv)]
    done = subprocess.run(meter, cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, check=True)
    status, wall_s, cpu_s, peak_mib = json.loads(done.stdout)
    if status != 0:
        words = done.stderr.decode("utf-8", "replace")
        raise RuntimeError(f"{' '.join(map(str, argv))}: exit status {status}\n{words}")
    return Spent(wall_s, cpu_s, peak_mib)
