"""What an agent hands back, understood: its result, comments, issues, skills and knowledge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gitmem.core.judge import Said
from gitmem.core.layout import is_made_name
from gitmem.core.record import Severity, enum_or, text, texts
from gitmem.memory import skills
from gitmem.runner.outbox import Outbox, OutFile, Refusal
from gitmem.store import document

RESULT_FILE = "result.md"
COMMENT_KINDS = frozenset({"comment", "blocker", "question", "decision"})
KNOWLEDGE_KINDS = frozenset({"decision", "fact", "pattern", "preference"})


@dataclass(frozen=True, slots=True)
class Result:
    outcome: Said
    summary: str
    reason: str | None
    used: tuple[str, ...]
    body: str


@dataclass(frozen=True, slots=True)
class Note:
    """A comment, issue or knowledge note: its front matter (wishes, not facts) and its body."""

    path: str
    stem: str
    fields: Mapping[str, Any]
    body: str


@dataclass(frozen=True, slots=True)
class SkillFolder:
    name: str
    files: Mapping[str, OutFile]


@dataclass(frozen=True, slots=True)
class Handback:
    result: Result | None = None
    comments: tuple[Note, ...] = ()
    issues: tuple[Note, ...] = ()
    knowledge: tuple[Note, ...] = ()
    skills: tuple[SkillFolder, ...] = ()
    refused: tuple[Refusal, ...] = ()
    redacted: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return not (self.result or self.comments or self.issues or self.knowledge or self.skills)


@dataclass
class _Sorted:
    """Files by what they are, while the outbox is gone through."""

    notes: dict[str, list[Note]] = field(
        default_factory=lambda: {"comments": [], "issues": [], "knowledge": []}
    )
    skills: dict[str, dict[str, OutFile]] = field(default_factory=dict)
    result: Result | None = None
    refused: list[Refusal] = field(default_factory=list)


def understand(outbox: Outbox) -> Handback:
    """Sort and check the files. What breaks the format is refused; the rest is kept."""
    found = _Sorted(refused=list(outbox.refused))
    for file in outbox.files:
        _sort(file, found)
    folders = [_skill(name, files, found.refused) for name, files in found.skills.items()]
    return Handback(
        result=found.result,
        comments=tuple(found.notes["comments"]),
        issues=tuple(found.notes["issues"]),
        knowledge=tuple(found.notes["knowledge"]),
        skills=tuple(folder for folder in folders if folder),
        refused=tuple(found.refused),
        redacted=outbox.redacted,
    )


def _sort(file: OutFile, found: _Sorted) -> None:
    parts = file.path.split("/")
    if file.path == RESULT_FILE:
        parsed = _parse(file)
        if isinstance(parsed, Refusal):
            found.refused.append(parsed)
        else:
            found.result = _result(parsed)
    elif len(parts) == 2 and parts[0] in found.notes and file.path.endswith(".md"):
        note = _note(file)
        if isinstance(note, Refusal):
            found.refused.append(note)
        else:
            found.notes[parts[0]].append(note)
    elif len(parts) >= 3 and parts[0] == "skills":
        found.skills.setdefault(parts[1], {})["/".join(parts[2:])] = file
    else:
        found.refused.append(Refusal(file.path, "has no place in an outbox"))


def _parse(file: OutFile) -> document.Document | Refusal:
    """The file, repaired where only quotes are missing: agents forget them as people do."""
    data = document.repaired(file.data, file.path) or file.data
    parsed = document.parse(data, file.path)
    error = next((p for p in parsed.problems if p.severity is Severity.ERROR), None)
    if error is not None:
        return Refusal(file.path, f"line {error.line}: {error.message}" if error.line else error.message)
    return parsed


def _result(parsed: document.Document) -> Result:
    fields = parsed.fields
    return Result(
        outcome=enum_or(Said, fields.get("outcome"), Said.DONE),
        summary=text(fields.get("summary")) or "",
        reason=text(fields.get("reason")),
        used=texts(fields.get("used")),
        body=parsed.body.strip(),
    )


def _note(file: OutFile) -> Note | Refusal:
    parsed = _parse(file)
    if isinstance(parsed, Refusal):
        return parsed
    if not parsed.body.strip() and not text(parsed.fields.get("title")):
        return Refusal(file.path, "is empty")
    stem = file.path.split("/")[-1].removesuffix(".md")
    return Note(file.path, stem, parsed.fields, parsed.body.strip())


def _skill(name: str, files: dict[str, OutFile], refused: list[Refusal]) -> SkillFolder | None:
    """The skill, or None with the reasons told: a skill is delivered whole or not at all."""
    place = f"skills/{name}"
    if not is_made_name(name):
        refused.append(Refusal(place, "is not a skill name: a to z, 0 to 9 and single hyphens"))
        return None
    main = files.get(skills.MAIN_FILE)
    if main is not None:
        fixed = document.repaired(main.data, main.path)
        files = {**files, skills.MAIN_FILE: OutFile(main.path, fixed, main.executable)} if fixed else files
    contents = {path: file.data for path, file in files.items()}
    executable = [path for path, file in files.items() if file.executable]
    errors = [p for p in skills.lint(name, contents, executable) if p.severity is Severity.ERROR]
    if errors:
        refused += [Refusal(error.path, f"line {error.line}: {error.message}") for error in errors]
        return None
    return SkillFolder(name, files)
