"""Every command: its one-line help and where it lives. Nothing of it is imported before it is called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Entry(NamedTuple):
    """A command (`target` is `module:attribute`) or a noun with verbs of its own (`target` is their table).

    `daily` commands stand in the first-level help; their shape is frozen.
    """

    help: str
    target: str | Mapping[str, Entry]
    daily: bool = False


# Set by a shell that asks for completions.
COMPLETE_VARIABLE = "_GITMEM_COMPLETE"

# What people type out of habit, and what we call it.
ALIASES = {"ls": "list", "new": "create", "show": "view"}

_ISSUE = {
    "create": Entry("Write a new issue.", "gitmem.cli.issue_write:create"),
    "list": Entry("List issues, the most urgent first.", "gitmem.cli.issue_read:list_"),
    "view": Entry("Show an issue with its comments.", "gitmem.cli.issue_read:view"),
    "edit": Entry("Change fields or the body of an issue.", "gitmem.cli.issue_edit:edit"),
    "comment": Entry("Comment on an issue.", "gitmem.cli.issue_edit:comment"),
    "assign": Entry("Give an issue to an agent or a member.", "gitmem.cli.issue_edit:assign"),
    "close": Entry("Close an issue as done, or as cancelled.", "gitmem.cli.issue_edit:close"),
    "reopen": Entry("Reopen an issue that is done or cancelled.", "gitmem.cli.issue_edit:reopen"),
    "block": Entry("Mark an issue as blocked, by an issue or for a reason.", "gitmem.cli.issue_edit:block"),
}

_SKILL = {
    "create": Entry("Write a new skill.", "gitmem.cli.skill:create"),
    "list": Entry("List skills.", "gitmem.cli.skill:list_"),
    "view": Entry("Show a skill and its files.", "gitmem.cli.skill:view"),
    "lint": Entry("Check skills against the Agent Skills specification.", "gitmem.cli.skill:lint"),
    "attach": Entry("Give a skill to an agent.", "gitmem.cli.skill:attach"),
    "detach": Entry("Take a skill from an agent.", "gitmem.cli.skill:detach"),
}

_AGENT = {
    "create": Entry("Add an agent.", "gitmem.cli.agent:create"),
    "list": Entry("List agents.", "gitmem.cli.agent:list_"),
    "view": Entry("Show an agent.", "gitmem.cli.agent:view"),
    "test": Entry("Try an agent on this machine.", "gitmem.cli.agent_test:test"),
}

_MEMBER = {
    "create": Entry("Add a person.", "gitmem.cli.member:create"),
    "list": Entry("List people.", "gitmem.cli.member:list_"),
    "view": Entry("Show a person.", "gitmem.cli.member:view"),
}

_QUEUE = {
    "add": Entry("Ask for an agent to work on an issue.", "gitmem.cli.queue_write:add"),
    "list": Entry("List tasks that have not ended.", "gitmem.cli.queue_read:list_"),
    "view": Entry("Show a task.", "gitmem.cli.queue_read:view"),
    "retry": Entry("Ask again, after a failure or for another agent.", "gitmem.cli.queue_write:retry"),
    "cancel": Entry("Take tasks off the queue; a runner stops what runs.", "gitmem.cli.queue_write:cancel"),
    "pause": Entry("Stop every runner from starting tasks.", "gitmem.cli.queue_write:pause"),
    "resume": Entry("Let runners start tasks again.", "gitmem.cli.queue_write:resume"),
}

_RUNS = {
    "list": Entry("List ended runs, the newest first.", "gitmem.cli.runs:list_"),
    "view": Entry("Show a run: outcome, usage, final words.", "gitmem.cli.runs:view"),
    "events": Entry(
        "Show what an agent did in a run: messages, tools, errors.", "gitmem.cli.runs_files:events"
    ),
    "snapshot": Entry(
        "Show exactly what a run was told: each item, its cost, and what was left out.",
        "gitmem.cli.runs_files:snapshot",
    ),
}

COMMANDS: Mapping[str, Entry] = {
    "init": Entry("Make a workspace.", "gitmem.cli.init:init", daily=True),
    "status": Entry("Show what is queued, waits for people, or is broken.", "gitmem.cli.status:status", True),
    "issue": Entry("Manage issues.", _ISSUE, daily=True),
    "skill": Entry("Manage skills.", _SKILL, daily=True),
    "agent": Entry("Manage agents.", _AGENT, daily=True),
    "queue": Entry("Manage tasks.", _QUEUE, daily=True),
    "run": Entry("Watch the queue and work on it.", "gitmem.cli.run:run", daily=True),
    "runs": Entry("Look at what agents did.", _RUNS, daily=True),
    "context": Entry(
        "Print exactly what an agent would be given for an issue.", "gitmem.cli.context:context", daily=True
    ),
    "log": Entry("Show the audit log.", "gitmem.cli.log:log", daily=True),
    "check": Entry("Find every problem in files and links.", "gitmem.cli.check:check", daily=True),
    "demo": Entry("Run a whole task on a throw-away workspace.", "gitmem.cli.demo:demo"),
    "show": Entry("Show any record.", "gitmem.cli.show:show"),
    "member": Entry("Manage people.", _MEMBER),
    "doctor": Entry("Check git, identity, agents, locks and remote.", "gitmem.cli.doctor:doctor"),
    "completion": Entry("Print the completion script for a shell.", "gitmem.cli.completion:completion"),
    "help": Entry("Explain a command or a topic.", "gitmem.cli.help:help_"),
}
