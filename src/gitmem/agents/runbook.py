"""The runbook agent: no model, the `sh` blocks of the issue or of its attached skills.

Its program is ours (`runbook_program`) and runs as a process like any other agent's, so that
the same limits and the same stopping hold. Whether the issue's author may give it something to
run is the runner's to decide, before.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from gitmem import __version__
from gitmem.agents.adapter import Adapter, Event, EventType, Job, JsonLinesReader
from gitmem.agents.values import count
from gitmem.core.record import enum_or, text
from gitmem.core.states import Reason


def _arguments(_job: Job) -> list[str]:
    # -P: the working directory is the agent's, a module in it must not shadow ours.
    return ["-P", "-m", "gitmem.agents.runbook_program"]


class _Reader(JsonLinesReader):
    """Our own lines: an event type, `text`, and `exit` of a block or of the whole."""

    def record(self, record: Mapping[str, Any]) -> Iterable[Event]:
        kind = enum_or(EventType, record.get("type"), EventType.OTHER)
        failed = kind is EventType.RESULT and count(record.get("exit")) != 0
        yield Event(
            kind,
            text(record.get("text")) or "",
            tool=text(record.get("tool")),
            call=text(record.get("call")),
            reason=Reason.AGENT_FAILED if failed else None,
        )


ADAPTER = Adapter(
    name="runbook",
    executable=sys.executable,
    reader=lambda _job, _env: _Reader(),
    arguments=_arguments,
    prompt_on_stdin=False,
    version_argument=None,
    own_version=__version__,
)
