"""Every problem in files and links, found by reading them all; `fix` is in `check_fix`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from gitmem.core.errors import NotFoundError
from gitmem.core.layout import path_problem
from gitmem.core.record import Kind, Problem
from gitmem.ops.check_files import (
    Seen,
    gather,
    is_below,
    name_problems,
    place_problems,
    read_problems,
    skill_problems,
)
from gitmem.ops.check_fix import Fixed as Fixed
from gitmem.ops.check_fix import fix as fix
from gitmem.ops.check_links import KeyPath, Node, link_problems, node_of
from gitmem.store import document
from gitmem.store.git import SYMLINK
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace


def check(workspace: Workspace, paths: Sequence[str] = (), *, reader: Reader | None = None) -> list[Problem]:
    """What is wrong with the workspace as it is now, uncommitted files included, by path and line.

    With `paths` (files or folders from the workspace root) only what is wrong there; still all
    records are read, because links lead out. Raises NotFoundError for a path that is not there.
    """
    if reader is None:
        with Reader(workspace) as own:
            return check(workspace, paths, reader=own)
    files: list[Seen] = []
    found: list[Problem] = []
    nodes: list[Node] = []
    ids = _ids(reader)
    for file in gather(workspace, reader):
        found += place_problems(file)
        if file.kind is not None and file.data is not None and file.mode != SYMLINK:
            parsed = document.parse(file.data, file.shown, limit=workspace.config.limit("file_bytes"))
            found += read_problems(file, parsed)
            id_ = ids.get(file.shown, "")
            nodes.append(node_of(file.shown, file.kind, id_, parsed.fields))
            file = Seen(file.path, file.mode)  # the bytes are not needed any more
        files.append(file)
    found += name_problems(files)
    found += skill_problems(files)
    repositories = [str(entry.get("name")) for entry in workspace.config.repositories]
    found += link_problems(nodes, repositories, _locator(reader))
    _require(paths, files)
    return sorted({problem for problem in found if is_below(problem.path, paths)}, key=_order)


def _order(problem: Problem) -> tuple[str, int, int, str, str]:
    return problem.path, problem.line, problem.column, problem.code, problem.message


def _ids(reader: Reader) -> dict[str, str]:
    return {record.path: record.id for kind in Kind for record in reader.records(kind)}


def _locator(reader: Reader) -> Callable[[str, KeyPath], tuple[int, int]]:
    return lambda path, place: document.position(document.parse(reader.data(path), path), place)


def _require(paths: Collection[str], files: Collection[Seen]) -> None:
    for path in paths:
        if path_problem(path.rstrip("/")) or not any(is_below(file.path, [path]) for file in files):
            raise NotFoundError(f"there is no file {path} in the workspace", "gitmem check")
