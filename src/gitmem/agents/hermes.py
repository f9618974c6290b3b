"""Hermes, over the Agent Client Protocol: `hermes acp`.

Driven on 0.19.0. Its own chat command prints an answer between noise, names the session on
stderr and counts no tokens; the protocol tells all three.
"""

from __future__ import annotations

import re

from gitmem.agents.acp import EXTRA, Complaints, conversation
from gitmem.agents.adapter import Adapter, Environment, Job, Reader

# Both from the log of its loop, so that the order of the two is the order of the calls.
_COMPLAINTS = Complaints(
    failed=re.compile(
        r"^(?:\S+ \S+ \[ERROR\] agent\.conversation_loop: |\S+\s+(?=Stream interrupted by network error))(.+)"
    ),
    recovered=re.compile(r"^\S+ \S+ \[INFO\] agent\.conversation_loop: API call #\d+:"),
)


def _reader(job: Job, _env: Environment) -> Reader:
    return conversation(job, _COMPLAINTS)


ADAPTER = Adapter(
    name="hermes",
    executable="hermes",
    reader=_reader,
    converses=True,
    arguments=lambda _job: ["acp"],
    # Nobody is there to answer its questions on the terminal; hooks of the user's own run as they are.
    variables=lambda _job: {"HERMES_YOLO_MODE": "1", "HERMES_ACCEPT_HOOKS": "1"},
    home_variables={"HERMES_HOME": ".hermes"},
    can_resume=True,
    extra=EXTRA,
)
