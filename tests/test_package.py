"""The wheel as a user gets it: built, installed with nothing but what it declares, run far from here."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from collections.abc import Iterator, Mapping
from importlib.metadata import Distribution, distribution, packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of a fresh environment that holds the wheel and what it declares to need.

    The dependencies are links to those of the environment that runs the tests: nothing is fetched.
    """
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, symlinks=True)
    site = Path(sysconfig.get_path("purelib", "venv", {"base": str(place), "platbase": str(place)}))
    for name in needed(PROJECT["dependencies"]):
        for top in tops(distribution(name)):
            (site / top.name).symlink_to(top)
    pip = [sys.executable, "-m", "pip", "--python", place / "bin/python", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "--no-index", "--no-deps", wheel], check=True)
    return place / "bin"


def needed(requirements: list[str]) -> set[str]:
    """The names of the distributions that the requirements pull in here, extras left out."""
    names: set[str] = set()
    todo = list(requirements)
    while todo:
        name = requirement_name(todo.pop())
        if name not in names:
            names.add(name)
            todo += [text for text in distribution(name).requires or () if wanted_here(text)]
    return names


def requirement_name(requirement: str) -> str:
    found = re.match(r"[A-Za-z0-9._-]+", requirement)
    assert found is not None, requirement
    return re.sub(r"[-_.]+", "-", found.group()).lower()


def wanted_here(requirement: str) -> bool:
    """Not for an extra, not for another version of Python."""
    from packaging.requirements import Requirement  # a dependency of build

    marker = Requirement(requirement).marker
    return marker is None or marker.evaluate({"extra": ""})


def tops(dist: Distribution) -> Iterator[Path]:
    """The files and folders that a distribution has put into site-packages."""
    names = {file.parts[0] for file in dist.files or () if file.parts[0] not in {"..", "__pycache__"}}
    return (Path(str(dist.locate_file(name))) for name in sorted(names))


def run(program: Path, *args: str, cwd: Path, env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *args],
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def stranger(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody who has just installed: an empty home and no git identity."""
    home = tmp_path / "home"
    home.mkdir()
    return {"HOME": str(home), "PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def test_the_wheel_holds_the_schemas_and_the_template(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder in ("schemas", "template-workspace"):
        files = [path for path in (ROOT / folder).rglob("*") if path.is_file() or path.is_symlink()]
        wanted = {f"gitmem/data/{path.relative_to(ROOT).as_posix()}" for path in files}
        assert wanted
        assert wanted <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith(("tests/", "benchmarks/"))]


def test_the_wheel_declares_what_the_project_declares(installed: Path) -> None:
    code = "import importlib.metadata as m; print('\\n'.join(m.requires('gitmem-workspace')))"
    said = subprocess.run(
        [installed / "python", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    extras = PROJECT["optional-dependencies"]
    optional = [f"{one}; extra == '{name}'" for name, needs in extras.items() for one in needs]
    assert sorted(said.splitlines()) == sorted([*PROJECT["dependencies"], *optional])


def test_every_package_that_is_imported_is_declared() -> None:
    optional = [one for needs in PROJECT["optional-dependencies"].values() for one in needs]
    declared = needed([*PROJECT["dependencies"], *optional])
    providers = packages_distributions()
    missing = {}
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for top in imported(node) - sys.stdlib_module_names - {"gitmem"}:
                if not {requirement_name(name) for name in providers.get(top, [])} & declared:
                    missing[top] = str(path.relative_to(ROOT))
    assert missing == {}


def imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    if isinstance(node, ast.ImportFrom) and not node.level:
        return {(node.module or "").split(".")[0]}
    return set()


def test_the_installed_program_is_not_the_checkout(installed: Path, stranger: dict[str, str]) -> None:
    code = "import gitmem; print(gitmem.__file__)"
    home = Path(stranger["HOME"])
    assert str(installed.parent) in run(installed / "python", "-c", code, cwd=home, env=stranger).stdout
    assert run(installed / "gitmem", "--version", cwd=home, env=stranger).stdout.startswith("gitmem ")


def test_the_demo_runs_in_an_empty_home_away_from_the_checkout(
    installed: Path, stranger: dict[str, str]
) -> None:
    home = Path(stranger["HOME"])
    done = run(installed / "gitmem", "demo", cwd=home, env=stranger)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert not (home / ".git").exists()
