"""`python -m benchmarks [NAME…]`: one Markdown table a topic; exit status 1 where a limit is exceeded."""

from __future__ import annotations

import argparse
import importlib
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import note
from benchmarks.options import Options
from benchmarks.report import Line, exceeded, table

TOPICS = ("edit", "commands", "runner", "peer")


def main(argv: list[str] | None = None) -> int:
    names, options = _arguments(argv)
    failed: list[Line] = []
    print(f"{_machine()}\n")
    for name in names:
        topic = importlib.import_module(f"benchmarks.{name}")
        note(f"{name} …")
        with tempfile.TemporaryDirectory(prefix="gitmem-bench-") as folder:
            _isolate(Path(folder))
            lines: list[Line] = topic.lines(options, Path(folder))
        print(f"### {topic.TITLE} (`{name}`)\n\n{table(lines)}\n", flush=True)
        failed += exceeded(lines)
    for line in failed:
        print(f"limit exceeded: {line.what}", file=sys.stderr)
    return 1 if failed else 0


def _arguments(argv: list[str] | None) -> tuple[list[str], Options]:
    usual = Options()
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"topics (default: {' '.join(TOPICS)})")
    parser.add_argument("--issues", type=int, default=usual.issues, help="issues in a workspace")
    parser.add_argument("--rounds", type=int, default=usual.rounds, help="rounds of each measurement")
    parser.add_argument("--tasks", type=int, default=usual.tasks, help="tasks for the runner")
    given = parser.parse_args(argv)
    unknown = set(given.names) - set(TOPICS)
    if unknown:
        parser.error(f"no topic {', '.join(sorted(unknown))}; there are {', '.join(TOPICS)}")
    return given.names or list(TOPICS), Options(given.issues, given.rounds, given.tasks)


def _machine() -> str:
    git = subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    system, processor = platform.system(), platform.machine()
    return f"{os.cpu_count()} cores, {system} on {processor}, {git}, Python {platform.python_version()}"


def _isolate(folder: Path) -> None:
    """A home of our own, with no system or user configuration, for us and for what we start."""
    home = folder / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Ana\n\temail = ana@example.org\n[gc]\n\tauto = 0\n[init]\n\tdefaultBranch = main\n"
    )
    for name in [name for name in os.environ if name.startswith(("GIT_", "GITMEM_", "XDG_"))]:
        del os.environ[name]
    os.environ |= {"HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC"}


if __name__ == "__main__":
    sys.exit(main())
