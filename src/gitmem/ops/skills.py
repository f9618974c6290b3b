"""Skills: write one, give it to agents, check it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from gitmem.core.errors import InvalidDocumentError, NotFoundError
from gitmem.core.ids import Ref, not_found
from gitmem.core.layout import skill_path
from gitmem.core.model import Agent, Skill, skill_of
from gitmem.core.record import Kind, Problem, Record, Severity, texts
from gitmem.memory.skills import MAIN_FILE
from gitmem.memory.skills import lint as lint_files
from gitmem.ops.desk import Desk, Done
from gitmem.ops.refs import with_and_without
from gitmem.store import document
from gitmem.store.change import Change
from gitmem.store.git import EXECUTABLE, Git, blob_id
from gitmem.store.reader import Reader


def create(desk: Desk, name: str, description: str, body: str, agents: Sequence[str] = ()) -> Done[Skill]:
    """Write a skill that meets the specification, and give it to agents, as one commit.

    Raises InvalidDocumentError with the problems where it does not, ConflictError for a taken name.
    """
    fields: dict[str, Any] = {"name": name, "description": " ".join(description.split())}
    text = body.strip("\n") + "\n" if body.strip() else ""
    data = document.render(fields, text)
    errors = [p for p in lint_files(name, {MAIN_FILE: data}) if p.severity is Severity.ERROR]
    if errors:
        raise InvalidDocumentError(
            f"the skill is not valid: {errors[0].message}", errors[0].hint, problems=errors
        )
    change = desk.change("skill.create")
    change.create(skill_path(name), data)
    with desk.reader() as reader:
        for agent in {reader.agent(given).name: reader.agent(given) for given in agents}.values():
            _edit_skills(change, agent, add=[name])
    committed = change.commit(f"skill {name}: added", refs=[Ref("skill", name)])
    return Done(skill_of(Record(Kind.SKILL, name, skill_path(name), blob_id(data), fields, text)), committed)


def attach(desk: Desk, skill: str, agents: Sequence[str], *, detach: bool = False) -> Done[list[Agent]]:
    """Give a skill to agents, or take it from them, as one commit.

    A skill that is gone can still be taken. Raises NotFoundError, AmbiguousError.
    """
    with desk.reader() as reader:
        chosen = [reader.agent(name) for name in dict.fromkeys(agents)]
        name = _attached_name(skill, chosen) if detach else reader.skill(skill).name
    change = desk.change("skill.detach" if detach else "skill.attach")
    for agent in chosen:
        _edit_skills(change, agent, add=[] if detach else [name], remove=[name] if detach else [])
    verb = "detached from" if detach else "attached to"
    who = ", ".join(agent.name for agent in chosen)
    trailers = [Ref("skill", name), *(Ref("agent", agent.name) for agent in chosen)]
    committed = change.commit(f"skill {name}: {verb} {who}", refs=trailers)
    with desk.reader() as reader:
        return Done([reader.agent(agent.name) for agent in chosen], committed)


def _attached_name(skill: str, agents: Sequence[Agent]) -> str:
    name = skill.removeprefix("skill:")
    known = {attached for agent in agents for attached in agent.skills}
    if name not in known:
        raise not_found("attached skill", name, known)
    return name


def _edit_skills(
    change: Change, agent: Agent, *, add: Sequence[str] = (), remove: Sequence[str] = ()
) -> None:
    def transform(data: bytes) -> bytes:
        old = texts(document.parse(data, agent.path).fields.get("skills"))
        new = with_and_without(old, add, remove)
        return data if list(old) == new else document.edit(data, agent.path, {"skills": new})

    change.edit(agent.path, transform)


def attached_to(agents: Collection[Agent]) -> Mapping[str, list[str]]:
    """Skill → the agents that are given it in every run."""
    found: dict[str, list[str]] = {}
    for agent in agents:
        for name in agent.skills:
            found.setdefault(name, []).append(agent.name)
    return found


def lint(reader: Reader, git: Git, names: Sequence[str] = ()) -> list[Problem]:
    """What is wrong with the skills of the workspace, by path; all of them where none is named.

    Raises NotFoundError for a name that has no folder.
    """
    paths = reader.files("skills")
    folders = sorted({path.split("/")[1] for path in paths if path.count("/") > 1})
    for name in names:
        if name not in folders:
            raise not_found("skill", name, folders)
    entry = git.entry(reader.commit, "skills")
    modes = git.ls_tree(entry.oid) if entry else []
    executable = {f"skills/{file.path}" for file in modes if file.mode == EXECUTABLE}
    found = []
    for name in dict.fromkeys(names) or folders:
        root = f"skills/{name}/"
        files = {path.removeprefix(root): reader.data(path) for path in paths if path.startswith(root)}
        found += lint_files(name, files, {p.removeprefix(root) for p in executable if p.startswith(root)})
    return found


def lint_folder(folder: Path) -> list[Problem]:
    """What is wrong with a skill that is in no workspace yet; links are not followed."""
    files: dict[str, bytes] = {}
    executable: set[str] = set()
    for file in sorted(folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if file.is_symlink() or not file.is_file() or ".git" in file.relative_to(folder).parts:
            continue
        files[name] = file.read_bytes()
        if file.stat().st_mode & 0o111:
            executable.add(name)
    if not files:
        raise NotFoundError(f"{folder} holds no file")
    return lint_files(folder.resolve().name, files, executable)
