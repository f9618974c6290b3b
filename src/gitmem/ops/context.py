"""What an agent would be given for an issue, exactly as the runner would give it now."""

from __future__ import annotations

from datetime import datetime

from gitmem.core.config import WorkspaceConfig
from gitmem.core.errors import NotPermittedError, UsageError
from gitmem.core.ids import Actor, ActorKind
from gitmem.core.model import Agent, Issue
from gitmem.memory.access import Gate
from gitmem.memory.snapshot import Snapshot, assemble
from gitmem.store.reader import Reader


def context(
    reader: Reader,
    config: WorkspaceConfig,
    issue: str,
    *,
    agent: str | None = None,
    budget: int | None = None,
    viewer: Actor | None = None,
    now: datetime,
) -> Snapshot:
    """The snapshot of a run that would start now; `budget` None is the workspace's.

    Without `agent` the issue's, else the default, else the only one there is. An agent as `viewer`
    (None is the person who holds the clone) sees only what is its own.

    Raises NotFoundError, AmbiguousError, UsageError where no agent is meant, NotPermittedError where
    it may not read the issue or the viewer is another agent.
    """
    on = reader.issue(issue)
    is_agent = viewer is not None and viewer.kind is ActorKind.AGENT
    meant = _agent(reader, config, on, agent or (viewer.name if viewer and is_agent else None))
    if is_agent and viewer and viewer.name != meant.name:
        raise NotPermittedError(f"{viewer} may not read what agent:{meant.name} is given")
    gate = Gate(reader, Actor(ActorKind.AGENT, meant.name), working_on=on.project)
    return assemble(reader, gate, on, meant, budget or config.limit("context_tokens"), now)


def _agent(reader: Reader, config: WorkspaceConfig, issue: Issue, named: str | None) -> Agent:
    assigned = issue.assignee if issue.assignee and issue.assignee.startswith("agent:") else None
    name = named or assigned or config.default_agent
    if name:
        return reader.agent(name)
    agents = reader.agents()
    if len(agents) != 1:
        known = ", ".join(agent.name for agent in agents) or "none yet: gitmem agent create NAME"
        raise UsageError(
            f"no agent: issue {issue.id} is assigned to {issue.assignee or 'nobody'}",
            f"name one with --agent ({known})",
        )
    return agents[0]
