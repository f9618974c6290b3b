"""Any program at all: it is given the prompt on stdin, and its exit code is its terminal event.

Exit 0 is success, 75 (EX_TEMPFAIL of sysexits.h: "the user is invited to retry later") a
trouble that passes, which is tried again like a provider's; any other code is a failure. The
answer is the end of what it printed, unless it writes `$GITMEM_OUTBOX/result.md`.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Sequence

from gitmem.agents.adapter import Adapter, Event, EventType, Reader, Source, signs_of_life
from gitmem.core.states import Reason

_ANSWER_CHARS = 64 * 1024
_LINE_CHARS = 8 * 1024


class _Reader(Reader):
    def __init__(self) -> None:
        self._said: deque[list[str]] = deque()
        self._sizes: deque[int] = deque()
        self._size = 0
        self._complaints: deque[str] = deque(maxlen=20)

    def line(self, text: str, source: Source) -> Iterable[Event]:
        return self.lines((text,), source)

    def lines(self, texts: Sequence[str], source: Source) -> Iterable[Event]:
        if source is Source.STDOUT:
            self._keep([text[-_LINE_CHARS:] for text in texts])
        else:
            self._complaints.extend(text[-_LINE_CHARS:] for text in texts if text.strip())
        return signs_of_life(texts) or (Event(EventType.OTHER),)

    def _keep(self, lines: list[str]) -> None:
        """Batches of lines, as many as the answer may need."""
        self._said.append(lines)
        self._sizes.append(sum(map(len, lines)) + len(lines))
        self._size += self._sizes[-1]
        while self._size - self._sizes[0] >= _ANSWER_CHARS:
            self._size -= self._sizes.popleft()
            self._said.popleft()

    def _answer(self) -> str:
        """The last whole lines that fit."""
        kept, room = deque[str](), _ANSWER_CHARS
        for line in reversed([line for lines in self._said for line in lines]):
            room -= len(line) + 1
            if room < 0:
                break
            kept.appendleft(line)
        return "\n".join(kept).strip()

    def end(self, exit_code: int) -> Iterable[Event]:
        if exit_code == 0:
            return (Event(EventType.RESULT, self._answer()),)
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
