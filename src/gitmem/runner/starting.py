"""From a ready task to an agent that may start: claim, snapshot, the started commit, the run directory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from gitmem.agents.adapter import Adapter, Job
from gitmem.agents.registry import adapter_named, version
from gitmem.core.clock import Clock, stamp
from gitmem.core.dispatch import Ready
from gitmem.core.ids import Entropy, Ref, new_id
from gitmem.core.model import Agent
from gitmem.core.policy import Policy
from gitmem.core.states import IssueStatus
from gitmem.memory import brief
from gitmem.memory.access import Gate, read_policy
from gitmem.memory.snapshot import Snapshot, assemble
from gitmem.runner import claimfence, rundir
from gitmem.runner.active import Active
from gitmem.runner.ended import Attempt
from gitmem.runner.pin import pin
from gitmem.runner.rundir import RunDir
from gitmem.runner.trust import Trust
from gitmem.store import claims, document
from gitmem.store.change import Change
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

# The adapter that runs what stands in issues and skills; any other runs only its own program.
RUNBOOK = "runbook"


@dataclass
class Starter:
    """What all starts of one runner have in common."""

    workspace: Workspace
    runner: str
    now: Clock
    entropy: Entropy
    trust: Trust
    _versions: dict[tuple[str, ...], str | None] = field(default_factory=dict)

    def start(self, reader: Reader, ready: Ready) -> Active | None:
        """Claim the task and make everything ready; None where another runner has it.

        Raises GitmemError where it cannot start now; then the claim is given back.
        """
        now = self.now()
        run = new_id(self.entropy)
        held = claims.claim(
            self.workspace.git,
            ready.task.id,
            run=run,
            attempt=ready.task.attempt,
            holder=claims.this_process(self.runner),
            now=now,
            entropy=self.entropy,
        )
        if held is None:
            return None
        try:
            attempt = Attempt(
                run=run,
                task=ready.task,
                issue=ready.issue,
                agent=ready.agent,
                claim=held,
                runner=self.runner,
                started=stamp(now),
                trace=self.entropy(16).hex(),
                base=reader.commit,
            )
            return self._prepare(reader, attempt, now)
        except BaseException:
            claims.release(self.workspace.git, held)
            raise

    def _prepare(self, reader: Reader, attempt: Attempt, now: datetime) -> Active:
        adapter = adapter_named(attempt.agent.adapter)
        gate = Gate(reader, attempt.actor, working_on=attempt.issue.project)
        budget = self.workspace.config.limit("context_tokens")
        snapshot = assemble(reader, gate, attempt.issue, attempt.agent, budget, now)
        manifest = {"run": attempt.run, **snapshot.manifest()}
        attempt = replace(
            attempt,
            adapter_version=self._version(adapter, attempt.agent),
            snapshot=pin(
                self.workspace,
                self.runner,
                attempt.run,
                snapshot.tree_entries(self.workspace.git.store_blob),
                document.render(manifest, None),
                now,
            ),
            manifest=manifest,
        )
        self._commit_start(attempt, now)
        place = rundir.run_dir(self.workspace.config.id, attempt.issue.id, attempt.agent.name)
        return self._make_ready(reader, attempt, adapter, snapshot, place)

    def _version(self, adapter: Adapter, agent: Agent) -> str | None:
        """What the program says of its version, asked once for the life of the runner."""
        key = (adapter.name, *agent.command)
        if key not in self._versions:
            self._versions[key] = version(adapter, agent.command)
        return self._versions[key]

    def _commit_start(self, attempt: Attempt, now: datetime) -> None:
        """The issue goes in progress; the fence sees to it that the task is still there."""
        change = Change(self.workspace, actor=attempt.actor, action="run.start", now=now, trace=attempt.trace)
        change.guard(claimfence.fence(self.workspace.git, attempt.task))
        path = attempt.issue.path
        change.edit(path, lambda data: _in_progress(data, path))
        change.commit(
            f"run {attempt.run}: {attempt.agent.name} starts on issue {attempt.issue.id}",
            f"snapshot: {attempt.snapshot}",
            refs=[Ref("issue", attempt.issue.id), Ref("task", attempt.task.id), Ref("run", attempt.run)],
        )

    def _make_ready(
        self, reader: Reader, attempt: Attempt, adapter: Adapter, snapshot: Snapshot, place: RunDir
    ) -> Active:
        files = brief.files(snapshot, briefs=adapter.briefs[:1], skill_folders=adapter.skill_folders)
        rundir.prepare(place, files, _about(attempt), attempt.run)
        rundir.exclude(place.work, [name for name in files if "/" not in name])
        job = _job(self.workspace, attempt, adapter, place)
        prompt = brief.prompt(
            snapshot,
            delivered=attempt.task.delivered,
            resumed=job.session_id is not None,
            brief_is_read=bool(adapter.briefs),
        )
        distrust = self._distrust(reader, attempt, read_policy(reader))
        return Active(attempt, adapter, replace(job, prompt=prompt), place, distrust=distrust)

    def _distrust(self, reader: Reader, attempt: Attempt, policy: Policy) -> str | None:
        """Why this run must not be: its commands are not proved to be a trusted member's."""
        agent = attempt.agent
        paths = [agent.path] if agent.command else []
        if agent.adapter == RUNBOOK:
            paths += [attempt.issue.path, *(f"skills/{name}" for name in agent.skills)]
        for path in paths:
            reason = self.trust.distrusted(reader, path, policy)
            if reason:
                return f"{path}: {reason}"
        return None


def _in_progress(data: bytes, path: str) -> bytes:
    wanted = str(IssueStatus.IN_PROGRESS)
    if document.parse(data, path).fields.get("status") == wanted:
        return data
    return document.edit(data, path, {"status": wanted})


def _about(attempt: Attempt) -> Mapping[str, object]:
    return {
        "task": attempt.task.id,
        "attempt": attempt.task.attempt,
        "issue": attempt.issue.id,
        "agent": attempt.agent.name,
        "started": attempt.started,
        "base": attempt.base,
        "snapshot": attempt.snapshot,
        "trace": attempt.trace,
    }


def _job(workspace: Workspace, attempt: Attempt, adapter: Adapter, place: RunDir) -> Job:
    job = agent_job(workspace, attempt.agent, place, _environment(workspace, attempt))
    return replace(job, session_id=attempt.task.session_id if adapter.can_resume else None)


def agent_job(workspace: Workspace, agent: Agent, place: RunDir, env: Mapping[str, str]) -> Job:
    """What `agent` is run with at `place`, without a prompt; `env` comes on top of what its file names."""
    return Job(
        work=place.work,
        run_dir=place.path,
        prompt="",
        env=env,
        pass_env=agent.env,
        home=_home(workspace, agent),
        model=agent.model,
        command=agent.command,
        timeout_s=agent.timeout_s,
        idle_timeout_s=agent.idle_timeout_s,
        start_timeout_s=agent.start_timeout_s,
    )


def _environment(workspace: Workspace, attempt: Attempt) -> Mapping[str, str]:
    return {
        "GITMEM_WORKSPACE_ID": workspace.config.id,
        "GITMEM_TASK": attempt.task.id,
        "GITMEM_ISSUE": attempt.issue.id,
        "GITMEM_AGENT": attempt.agent.name,
        "GITMEM_RUN": attempt.run,
        "GITMEM_TRACE": attempt.trace,
        "GITMEM_ATTACHED_SKILLS": ",".join(attempt.agent.skills),
    }


def _home(workspace: Workspace, agent: Agent) -> Path | None:
    """A home of the agent's own where it asks for one; it is kept between runs, as logins are."""
    if agent.home != "isolated":
        return None
    home = rundir.home_of(workspace.config.id, agent.name)
    home.mkdir(parents=True, exist_ok=True)
    return home
