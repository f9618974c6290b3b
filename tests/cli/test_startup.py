"""What a quick command must not import: agents call it hundreds of times, and imports are its cost."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.cli.conftest import Cli

SLOW = {
    "detect_secrets",
    "frontmatter",
    "git",
    "gitdb",
    "gitmem.memory",
    "gitmem.ops.issues",
    "gitmem.runner",
    "gitmem.store.change",
    "gitmem.store.document",
    "jsonschema",
    "rich",
    "watchdog",
    "yaml",
}
NOT_EVEN = {"sqlite3", "subprocess", "gitmem.store", "gitmem.ops", "json.tool"}

PROGRAM = """
import sys
from gitmem.cli.main import main
code = main(sys.argv[1:])
sys.stderr.write("\\n".join(sorted(sys.modules)))
sys.exit(code)
"""


def imported(cli: Cli, *args: str) -> set[str]:
    argv = [sys.executable, "-c", PROGRAM, "-C", str(cli.folder), "-q", *args]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    return set(done.stderr.split("\n"))


@pytest.mark.parametrize("words", ["issue list", "issue list --json", "queue list", "issue view"])
def test_reading_commands_import_no_slow_module(cli: Cli, issue: str, words: str) -> None:
    args = [*words.split(), *([issue] if words == "issue view" else [])]
    cli.ok(*args)  # the index is warm
    assert not SLOW & imported(cli, *args)


def test_help_imports_no_command(cli: Cli) -> None:
    assert not (SLOW | NOT_EVEN) & imported(cli, "--help")
