"""The files of a new workspace: those of a template, with the workspace's own id, name and people."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from gitmem.core.errors import InvalidDocumentError, StorageError, UsageError
from gitmem.core.layout import CONFIG_FILE, POLICY_FILE, SKILL_LINKS, agent_path, member_path, path_problem
from gitmem.core.record import texts
from gitmem.ops.people import NewAgent, NewMember, agent_file, member_file
from gitmem.store import document
from gitmem.store.git import EXECUTABLE, FILE, SYMLINK
from gitmem.store.schemafiles import editor_files

# From `.agents/skills` and `.claude/skills` to the one folder of skills.
LINK_TARGET = b"../skills"

# What an agent file says until a person writes better instructions.
INSTRUCTIONS = "Work in small steps and check each. If something you need is missing, hand back `blocked`."


class File(NamedTuple):
    mode: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is particular to one new workspace."""

    id: str
    name: str
    branch: str
    member: NewMember
    adapters: Sequence[str] = ()
    repositories: Sequence[Mapping[str, Any]] = ()


def template_dir() -> Path:
    """The folder of the built-in template: in a checkout, or in the installed package."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "data" / "template-workspace", package.parents[1] / "template-workspace"):
        if (folder / CONFIG_FILE).is_file():
            return folder
    raise StorageError("the template is missing from this installation", "install gitmem-workspace again")


def workspace_files(template: Path, facts: Facts) -> dict[str, File]:
    """Every file of the new workspace by path.

    Raises UsageError where `template` is none, InvalidDocumentError for a file that cannot be taken over.
    """
    if not (template / CONFIG_FILE).is_file():
        raise UsageError(f"{template} is no template: it has no {CONFIG_FILE}")
    files = dict(_read(template))
    config: dict[str, Any] = {"id": facts.id, "name": facts.name, "branch": facts.branch}
    if facts.repositories:
        config["repositories"] = [dict(entry) for entry in facts.repositories]
    files[CONFIG_FILE] = _edited(files[CONFIG_FILE], CONFIG_FILE, config)
    if POLICY_FILE in files:
        files[POLICY_FILE] = _edited(files[POLICY_FILE], POLICY_FILE, _trusting(files[POLICY_FILE], facts))
    for name in facts.adapters:
        new = NewAgent(name=name, adapter=name, instructions=INSTRUCTIONS)
        files.setdefault(agent_path(name), File(FILE, agent_file(new, [])))
    files[member_path(facts.member.handle)] = File(FILE, member_file(facts.member))
    if ".vscode/settings.json" in files:
        for path, data in editor_files().items():
            files.setdefault(path, File(FILE, data))
    for link in SKILL_LINKS:
        files.setdefault(link, File(SYMLINK, LINK_TARGET))
    return files


def _edited(file: File, path: str, changes: Mapping[str, Any]) -> File:
    return File(file.mode, document.edit(file.data, path, changes))


def _trusting(file: File, facts: Facts) -> dict[str, Any]:
    """Whoever makes the workspace is trusted with commands: they could run them anyway."""
    trusted = texts(document.parse(file.data, POLICY_FILE).fields.get("trusted"))
    return {"trusted": sorted({*trusted, f"member:{facts.member.handle}"})}


def _read(template: Path) -> list[tuple[str, File]]:
    found = []
    for file in sorted(template.rglob("*")):
        path = file.relative_to(template).as_posix()
        if file.is_symlink() or not file.is_file() or path.split("/")[0] == ".git":
            continue
        reason = path_problem(path)
        if reason:
            raise InvalidDocumentError(f"the template's {path}: {reason}", "rename the file")
        mode = EXECUTABLE if file.stat().st_mode & 0o100 else FILE
        found.append((path, File(mode, file.read_bytes())))
    return found


def public_url(url: str) -> str:
    """The address of a remote without the password or token that people put into it."""
    return re.sub(r"^(https?://)[^/@]*@", r"\1", url)
