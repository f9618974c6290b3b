"""One line's turn of an agent in exactly the environment of its runs: what would be wrong, and the cure."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gitmem.agents.adapter import Adapter, Verdict
from gitmem.agents.drive import drive
from gitmem.agents.registry import adapter_named, locate, missing_extra, too_old, version
from gitmem.core.errors import GitmemError
from gitmem.core.model import Agent
from gitmem.core.states import Reason
from gitmem.memory.access import read_policy
from gitmem.ops.doctor import Check, error, ok, warn
from gitmem.runner import rundir
from gitmem.runner.rundir import RunDir
from gitmem.runner.starting import agent_job
from gitmem.runner.trust import Trust
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

PROMPT = "Answer with the one word: ready"
# The agent without a model runs the blocks of an issue; this is one.
_ISSUE = b"---\ntitle: Rehearsal\n---\n```sh\necho ready\n```\n"
_ANSWER_CHARS = 200

_CURES: Mapping[Reason, str] = {
    Reason.QUOTA: "wait until the account has quota again, or name another account",
    Reason.RATE_LIMITED: "wait a little, then try again",
    Reason.PROVIDER_ERROR: "try again later: the model's provider has trouble",
    Reason.NETWORK: "see whether the provider is reached from here; a proxy's variables are passed on",
    Reason.TIMEOUT_START: "start the program by hand and see what it waits for",
    Reason.TIMEOUT_IDLE: "start the program by hand and see what it waits for",
    Reason.TIMEOUT_WALL: "give it more time with --timeout",
}


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """An agent, where it is tried and for how long (seconds)."""

    workspace: Workspace
    reader: Reader
    agent: Agent
    timeout_s: float

    def checks(self) -> Iterator[Check]:
        """Each finding as it is made; the first error is the last. Raises StorageError."""
        for step in (self._program, self._trust, self._version, self._environment, self._turn):
            found = step()
            if found is not None:
                yield found
                if found.status == "error":
                    return

    @property
    def _adapter(self) -> Adapter:
        return adapter_named(self.agent.adapter)

    def _program(self) -> Check:
        agent = self.agent
        try:
            adapter = self._adapter
        except GitmemError as unknown:
            return error("program", unknown.message, unknown.hint)
        install = missing_extra(adapter)
        if install:
            return error("program", f"the adapter {adapter.name} needs a part that is not installed", install)
        wanted = agent.command[0] if agent.command else adapter.executable
        if not wanted:
            return error("program", f"{agent.path} names none", f"name it as `command` in {agent.path}")
        path = locate(adapter, agent.command)
        if path is None:
            cure = f"install {wanted}, or name its path as `command` in {agent.path}"
            return error("program", f"{wanted} is not on PATH", cure)
        return ok("program", path)

    def _version(self) -> Check | None:
        adapter = self._adapter
        if adapter.version_argument is None and adapter.own_version is None:
            return None
        said = version(adapter, self.agent.command)
        if said is None:
            return warn("version", "it does not say its version", "see whether it is the right program")
        old = too_old(adapter, said)
        return error("version", old, f"update {adapter.executable}") if old else ok("version", said)

    def _trust(self) -> Check | None:
        """A run would refuse a command that no trusted member vouches for; so do we."""
        agent = self.agent
        if not agent.command:
            return None
        reason = Trust(self.workspace).distrusted(self.reader, agent.path, read_policy(self.reader))
        cure = f"read {agent.path}; a member whom policy.yaml trusts must have written its command"
        return (
            error("trust", f"{agent.path}: {reason}", cure)
            if reason
            else ok("trust", shlex.join(agent.command))
        )

    def _environment(self) -> Check:
        agent = self.agent
        home = "a home of its own" if agent.home == "isolated" else "your own home and login"
        missing = [name for name in agent.env if name not in os.environ]
        if missing:
            words = f"{home}; not set here: {', '.join(missing)}"
            return warn("environment", words, f"export them, or take them out of `env` in {agent.path}")
        return ok("environment", ", ".join([home, *agent.env]))

    def _turn(self) -> Check:
        place = RunDir(rundir.runs_home() / self.workspace.config.id / f"test-{self.agent.name}")
        rundir.prepare(place, {".gitmem/ISSUE.md": _ISSUE}, {"agent": self.agent.name}, "test")
        job = agent_job(self.workspace, self.agent, place, {"GITMEM_AGENT": self.agent.name})
        job = replace(job, prompt=PROMPT, timeout_s=min(job.timeout_s, self.timeout_s))
        verdict = drive(self._adapter, job, cancel=threading.Event(), on_event=lambda _event: None)
        if verdict.reason is None:
            said = verdict.text.strip() or "(it said nothing)"
            return ok("turn", said[:_ANSWER_CHARS])
        return error("turn", f"{verdict.reason}: {verdict.detail}", self._cure(verdict, place))

    def _cure(self, verdict: Verdict, place: RunDir) -> str:
        assert verdict.reason is not None
        if verdict.reason is Reason.AUTH:
            wanted = shlex.join(self.agent.command[:1] or (self._adapter.executable,))
            if self.agent.home == "isolated":
                home = rundir.home_of(self.workspace.config.id, self.agent.name)
                return f"log in there: HOME={shlex.quote(str(home))} {wanted}"
            return f"log in: {wanted}; or name the variable with its key as `env` in {self.agent.path}"
        return _CURES.get(verdict.reason, f"see {place.path / 'stderr.log'}")
