"""The files that a run's handback becomes, each with the word of policy on whether it lands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from gitmem.core.access import item_of, landing
from gitmem.core.ids import Entropy, bare_id, new_id
from gitmem.core.judge import Said
from gitmem.core.layout import comment_path, issue_path, skill_path, slug
from gitmem.core.policy import Policy
from gitmem.core.record import Kind, Record, mapping, text, texts
from gitmem.memory.skills import MAIN_FILE
from gitmem.runner.ended import Ended
from gitmem.runner.handback import COMMENT_KINDS, KNOWLEDGE_KINDS, Note, SkillFolder
from gitmem.store import document

SYSTEM = "system:runner"


@dataclass(frozen=True, slots=True)
class Product:
    """One file to be. `waits` says why it may not land at once, None where it lands."""

    kind: str
    path: str
    data: bytes
    executable: bool = False
    waits: str | None = None


def products(
    ended: Ended, policy: Policy, existing: Mapping[str, Record], entropy: Entropy
) -> Iterator[Product]:
    """Every file of the handback. `existing` are the skills and knowledge there are, by path."""
    yield from _comments(ended, entropy)
    for note in ended.handback.issues:
        yield _judged(_issue(ended, note, entropy), ended, policy, existing)
    for note in ended.handback.knowledge:
        yield _judged(_knowledge(ended, note), ended, policy, existing)
    for folder in ended.handback.skills:
        main = _judged(_skill_main(ended, folder), ended, policy, existing)
        yield main
        for path, file in sorted(folder.files.items()):
            if path != MAIN_FILE:
                place = f"skills/{folder.name}/{path}"
                yield Product("file", place, file.data, file.executable, waits=main.waits)


def _judged(product: Product, ended: Ended, policy: Policy, existing: Mapping[str, Record]) -> Product:
    there = existing.get(product.path)
    word = landing(policy, product.kind, ended.attempt.actor, product.path, item_of(there) if there else None)
    if there is not None and word.lands:
        return replace(product, waits=f"{product.path} exists already")
    return product if word.lands else replace(product, waits=word.reason)


def comment(ended: Ended, body: str, entropy: Entropy, *, author: str, kind: str, order: int = 0) -> Product:
    """A comment on the run's issue; `order` keeps those of one second in their sequence."""
    issue = ended.attempt.issue
    comment_id = new_id(entropy)
    fields = {
        "id": comment_id,
        "issue": f"issue:{issue.id}",
        "author": author,
        "created": ended.at,
        "reply_to": None,
        "kind": kind,
        "run": f"run:{ended.attempt.run}",
    }
    rand = f"{order:02d}{comment_id}"
    path = comment_path(issue.path, issue.id, ended.at, author, rand)
    return Product("comment", path, document.render(fields, body.strip() + "\n"))


def _comments(ended: Ended, entropy: Entropy) -> Iterator[Product]:
    author = str(ended.attempt.actor)
    notes = ended.handback.comments
    for order, note in enumerate(notes):
        kind = note.fields.get("kind")
        kind = kind if kind in COMMENT_KINDS else "comment"
        yield comment(ended, note.body, entropy, author=author, kind=kind, order=order)
    blocked = ended.facts(must_wait=False).said is Said.BLOCKED
    asked = any(note.fields.get("kind") in {"question", "blocker"} for note in notes)
    if ended.answer and (not notes or (blocked and not asked)):
        kind = "question" if blocked else "comment"
        yield comment(ended, ended.answer, entropy, author=author, kind=kind, order=len(notes))


def _issue(ended: Ended, note: Note, entropy: Entropy) -> Product:
    issue_id = new_id(entropy)
    title = text(note.fields.get("title")) or note.stem
    wishes = note.fields
    parent = text(wishes.get("parent")) or ended.attempt.issue.id
    fields: dict[str, Any] = {
        "id": issue_id,
        "title": " ".join(title.split()),
        "status": "todo",
        "priority": wishes.get("priority") if wishes.get("priority") in _PRIORITIES else "none",
        "assignee": None,
        "labels": sorted(texts(wishes.get("labels"))),
        "parent": f"issue:{bare_id(parent)}",
        "blocked_by": sorted(f"issue:{bare_id(ref)}" for ref in texts(wishes.get("blocked_by"))),
        "context_refs": sorted(texts(wishes.get("context_refs"))),
        "acceptance_criteria": list(texts(wishes.get("acceptance_criteria"))),
        "repo": None,
        "touches": [],
        "project": ended.attempt.issue.project,
        "sensitivity": ended.attempt.issue.sensitivity,
        "allowed": list(ended.attempt.issue.allowed),
        "created": ended.at,
        "created_by": str(ended.attempt.actor),
    }
    path = issue_path(issue_id, title, ended.at)
    return Product("issue.new", path, document.render(fields, note.body + "\n"))


_PRIORITIES = frozenset({"urgent", "high", "medium", "low", "none"})


def _knowledge(ended: Ended, note: Note) -> Product:
    wishes = note.fields
    agent = ended.attempt.agent.name
    scope = f"agent-{agent}" if wishes.get("scope") in {"agent", f"agent-{agent}"} else "workspace"
    fields = {
        "kind": wishes.get("kind") if wishes.get("kind") in KNOWLEDGE_KINDS else "fact",
        "about": sorted(texts(wishes.get("about"))),
        "status": "candidate",
        "valid_from": ended.at,
        "valid_to": None,
        "supersedes": text(wishes.get("supersedes")),
        "sources": [f"run:{ended.attempt.run}"],
        "anchors": sorted(texts(wishes.get("anchors"))),
        "sensitivity": ended.attempt.issue.sensitivity,
        "asks": sorted(texts(wishes.get("asks"))),
    }
    name = slug(text(wishes.get("title")) or note.stem) or ended.attempt.run
    return Product("knowledge", f"knowledge/{scope}/{name}.md", document.render(fields, note.body + "\n"))


def _skill_main(ended: Ended, folder: SkillFolder) -> Product:
    """SKILL.md as the agent wrote it, with our marks: whatever it says of itself, it is a candidate."""
    main = folder.files[MAIN_FILE].data
    path = skill_path(folder.name)
    metadata = dict(mapping(document.parse(main, path).fields.get("metadata")))
    metadata.update(
        {
            "gitmem-status": "candidate",
            "gitmem-run": ended.attempt.run,
            "gitmem-issue": ended.attempt.issue.id,
        }
    )
    return Product(str(Kind.SKILL), path, document.edit(main, path, {"metadata": metadata}))
