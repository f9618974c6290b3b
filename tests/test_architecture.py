"""Rules for the source as a whole: who may import what, how long things are, nothing at import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "gitmem"
FUNCTION_LINES_MAX = 50
FILE_LINES_MAX = 400

# Import → the modules that may import it, as globs below src/gitmem.
DOORS = {
    "subprocess": (
        "store/git_process.py",
        "agents/spawn.py",
        "agents/processes.py",
        "agents/runbook_program.py",  # a program of its own, which an agent process runs
    ),
    "yaml": ("store/yaml*.py",),
    "frontmatter": ("store/frontmatter*.py",),
    "git": ("store/git*.py",),
    "gitdb": ("store/git*.py",),
}


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def modules(folder: Path = SOURCE) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def inner(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def imports(node: ast.AST) -> Iterator[tuple[str, int]]:
    """(top-level package, line) of every import that happens when the program runs."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        if isinstance(child, ast.Import):
            yield from ((alias.name.split(".")[0], child.lineno) for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and not child.level:
            yield (child.module or "").split(".")[0], child.lineno
        yield from imports(child)


def test_the_import_contracts_hold() -> None:
    """Layers import only downward; the contracts stand in pyproject.toml."""
    lint = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([lint, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("package", DOORS)
def test_a_door_is_the_only_way_in(package: str) -> None:
    outside = [
        f"{inner(path)}:{line}"
        for path in modules()
        for name, line in imports(tree(path))
        if name == package and not any(fnmatch(inner(path), door) for door in DOORS[package])
    ]
    assert outside == []


def test_functions_are_short() -> None:
    long = [
        f"{inner(path)}:{node.lineno} {node.name}: {lines} lines"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (lines := (node.end_lineno or 0) - node.lineno + 1) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_files_are_small() -> None:
    sizes = {inner(path): len(path.read_text(encoding="utf-8").splitlines()) for path in modules()}
    assert {name: size for name, size in sizes.items() if size > FILE_LINES_MAX} == {}


def test_only_the_command_line_prints() -> None:
    printing = [
        f"{inner(path)}:{node.lineno}"
        for path in modules()
        for node in ast.walk(tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
    ]
    assert [place for place in printing if not place.startswith("cli/")] == []


def test_no_test_sleeps() -> None:
    sleeping = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules(ROOT / "tests")
        for node in ast.walk(tree(path))
        if (isinstance(node, ast.Attribute) and node.attr == "sleep")
        or (isinstance(node, ast.ImportFrom) and any(alias.name == "sleep" for alias in node.names))
    ]
    assert sleeping == []


# What importing a module must not do, told by Python's own audit events.
_WATCH = """
import importlib, sys
seen = []
def watch(event, args):
    writes = event == "open" and isinstance(args[1], str) and any(c in args[1] for c in "wax+")
    if writes or event in {"subprocess.Popen", "os.mkdir", "socket.connect", "sqlite3.connect"}:
        seen.append(f"{event} {args}")
sys.addaudithook(watch)
for name in sys.argv[1:]:
    importlib.import_module(name)
assert not seen, seen
"""


def test_importing_does_nothing() -> None:
    names = [
        ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for path in modules()
        if path.name not in {"__init__.py", "__main__.py"}
    ]
    argv = [sys.executable, "-B", "-c", _WATCH, *names]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
