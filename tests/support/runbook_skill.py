"""The skill that a runbook run offers: named after its issue, described by title and first paragraph."""

from __future__ import annotations

from gitmem.core.layout import slug
from gitmem.store.document import render


def runbook_skill(title: str, body: str, status: str = "candidate") -> tuple[str, bytes]:
    """(name, SKILL.md) for an issue."""
    name = slug(title)
    first = " ".join(body.split("\n\n")[0].split())
    fields = {
        "name": name,
        "description": f"{title}. {first}",
        "metadata": {"gitmem-status": status, "gitmem-run": "r1", "gitmem-asks": title},
    }
    return name, render(fields, body)
