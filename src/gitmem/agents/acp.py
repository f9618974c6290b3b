"""Any agent that speaks the Agent Client Protocol (agentclientprotocol.com) on stdin and stdout.

The agent's `command` names the program and the arguments that make it speak the protocol.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitmem.agents.adapter import Adapter, Environment, Extra, Job, Reader

EXTRA = Extra("acp", "acp")


@dataclass(frozen=True, slots=True)
class Complaints:
    """How an agent's log on stderr tells that a call of the model `failed` for good, in the words of
    group 1, and that a later one has `recovered`; in the protocol both turns end alike."""

    failed: re.Pattern[str]
    recovered: re.Pattern[str]


_USUAL = Complaints(
    failed=re.compile(r"^(?:\S+ \S+ \[?ERROR\]?:? (?:[\w.]+: )?)?(API call failed after \d+ retries.*)"),
    recovered=re.compile(r"$."),  # not known: nothing matches
)


def conversation(job: Job, complaints: Complaints = _USUAL) -> Reader:
    """One turn with the agent; needs the extra."""
    # Late: the protocol's models are an extra, and half a second to import.
    from gitmem.agents.acp_turn import Turn

    return Turn(job, complaints)


def _reader(job: Job, _env: Environment) -> Reader:
    return conversation(job)


ADAPTER = Adapter(
    name="acp",
    executable="",  # the agent's `command` names it
    reader=_reader,
    converses=True,
    can_resume=True,
    version_argument=None,  # one that does not know the argument would wait for a client
    extra=EXTRA,
)
