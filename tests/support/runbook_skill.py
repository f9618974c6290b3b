"""The skill that a run of the runbook agent hands back for an issue."""

from __future__ import annotations

from gitmem.agents import runbook_text
from gitmem.store.document import edit


def runbook_skill(title: str, body: str, status: str = "candidate") -> tuple[str, bytes]:
    """(name, SKILL.md) of the skill that is made when every block of the issue has worked."""
    issue = runbook_text.Issue("7k3q9d2m", title, body)
    steps = [runbook_text.Step(block, 0, "ok") for block in runbook_text.blocks(body)]
    name = runbook_text.skill_name(issue)
    data = runbook_text.skill(name, issue, steps).encode()
    metadata = {"gitmem-status": status, "gitmem-issue": issue.id, "gitmem-asks": title, "gitmem-run": "r1"}
    return name, edit(data, f"skills/{name}/SKILL.md", {"metadata": metadata})
