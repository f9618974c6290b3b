"""The JSON Schemas of the records, as files: `schemas/` of a checkout, package data of an installation."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from gitmem.core.errors import StorageError
from gitmem.core.record import Kind

# What an editor can check as it is typed: the files that are YAML as a whole.
EDITOR_KINDS = (Kind.CONFIG, Kind.LIBRARIES, Kind.POLICY, Kind.TASK)
EDITOR_FOLDER = ".vscode/schemas"

KINDS_WITH_SCHEMA = tuple(kind for kind in Kind if kind is not Kind.CONTEXT)


def schemas_dir() -> Path:
    """The folder of the `<kind>.json` files.

    Raises StorageError where the installation has lost them.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "data" / "schemas", package.parents[1] / "schemas"):
        if (folder / "issue.json").is_file():
            return folder
    raise StorageError("the schemas are missing from this installation", "install gitmem-workspace again")


@cache
def schema(kind: Kind) -> dict[str, Any]:
    """The schema of `kind`; an empty one for a kind that has no fields. Do not change the result."""
    if kind not in KINDS_WITH_SCHEMA:
        return {}
    data = (schemas_dir() / f"{kind}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(data)
    return loaded


def key_order(kind: Kind | None) -> tuple[str, ...]:
    """The keys of a record in the order in which the format writes them."""
    return tuple(schema(kind).get("properties", ())) if kind else ()


def editor_files() -> dict[str, bytes]:
    """Path → bytes of the schemas that a workspace's `.vscode/settings.json` names."""
    folder = schemas_dir()
    names = [f"{kind}.json" for kind in EDITOR_KINDS]
    return {f"{EDITOR_FOLDER}/{name}": (folder / name).read_bytes() for name in names}
