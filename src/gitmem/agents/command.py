"""Any program at all: it is given the prompt on stdin, and its exit code is its terminal event.

Exit 0 is success, 75 (EX_TEMPFAIL of sysexits.h: "the user is invited to retry later") a
trouble that passes, which is tried again like a provider's; any other code is a failure. The
answer is the end of what it printed, unless it writes `$GITMEM_OUTBOX/result.md`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable

from gitmem.agents.adapter import Adapter, Event, EventType, Reader, Source
from gitmem.core.states import Reason

_ANSWER_CHARS = 64 * 1024
_LINE_CHARS = 8 * 1024


class _Reader(Reader):
    def __init__(self) -> None:
        self._said: deque[str] = deque()
        self._size = 0
        self._complaints: deque[str] = deque(maxlen=20)

    def line(self, text: str, source: Source) -> Iterable[Event]:
        if source is Source.STDOUT:
            self._keep(text[-_LINE_CHARS:])
        elif text.strip():
            self._complaints.append(text[-_LINE_CHARS:])
        return (Event(EventType.OTHER, text),)

    def _keep(self, line: str) -> None:
        self._said.append(line)
        self._size += len(line) + 1
        while self._size > _ANSWER_CHARS:
            self._size -= len(self._said.popleft()) + 1

    def end(self, exit_code: int) -> Iterable[Event]:
        if exit_code == 0:
            return (Event(EventType.RESULT, "\n".join(self._said).strip()),)
        how = f"exited {exit_code}" if exit_code > 0 else f"died of signal {-exit_code}"
        words = "\n".join([how, *self._complaints])
        reason = Reason.PROVIDER_ERROR if exit_code == os.EX_TEMPFAIL else Reason.AGENT_FAILED
        return (Event(EventType.RESULT, words, reason=reason),)


ADAPTER = Adapter(
    name="command",
    executable="",  # the agent's `command` names it
    reader=lambda _job, _env: _Reader(),
    prints_at_start=False,
    version_argument=None,
)
