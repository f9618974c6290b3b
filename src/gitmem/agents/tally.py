"""What a run's events add up to: the rules that hold for every agent program.

Success needs a positive terminal event. The answer is the last message after the last tool
call. Usage is the terminal event's, else the sum of the parts. Trouble counts until the next
sign of progress.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from gitmem.agents import reasons
from gitmem.agents.adapter import Event, EventType, Usage, Verdict
from gitmem.core.states import Reason

_DETAIL_CHARS = 2000
_PROGRESS = frozenset({EventType.MESSAGE, EventType.THINKING, EventType.TOOL_START, EventType.TOOL_END})


class Tally:
    """Folds events; what it keeps does not grow with their number."""

    def __init__(self) -> None:
        self.result: Event | None = None
        self.trouble: Event | None = None
        self.tools_running: set[str] = set()
        self._session_id: str | None = None
        self._answer = ""
        self._parts = Usage()
        self._total: Usage | None = None
        self._closed = False
        self._tool_ran = False
        self._retry_at: str | None = None
        self._resume_rejected = False
        self._stderr: deque[str] = deque(maxlen=20)
        self._first_on_stderr = ""

    def add(self, event: Event) -> None:
        self._session_id = event.session_id or self._session_id
        self._retry_at = event.retry_at or self._retry_at
        self._resume_rejected |= event.resume_rejected
        if event.type in _PROGRESS:
            self.trouble = None
        if event.type is EventType.RESULT:
            self._end(event)
        elif event.usage:
            self._parts += event.usage
        if event.type is EventType.ERROR:
            self.trouble = event
        elif event.type is EventType.MESSAGE:
            self._answer = event.text
        elif event.type in {EventType.TOOL_START, EventType.TOOL_END}:
            self._tool(event)

    def close(self) -> None:
        """From now on nothing that the program says of its end counts: we are ending it."""
        self._closed = True

    def _end(self, event: Event) -> None:
        self._total = event.usage or self._total
        self.tools_running.clear()
        if not self._closed:
            self.result = event

    def _tool(self, event: Event) -> None:
        self._tool_ran = True
        self._answer = ""  # what was said before a tool ran is narration
        if event.type is EventType.TOOL_START:
            if not self._closed:
                self.result = None  # work after the end: it was not the end
            self.tools_running.add(event.call or "")
        else:
            self.tools_running.discard(event.call or "")

    def stderr(self, lines: Iterable[str]) -> None:
        for line in lines:
            if line.strip():
                self._first_on_stderr = self._first_on_stderr or line[:_DETAIL_CHARS]
                self._stderr.append(line[-_DETAIL_CHARS:])

    def verdict(self, exit_code: int | None, stopped: Reason | None = None, detail: str = "") -> Verdict:
        """The verdict; `stopped` says that we ended the program without its result, and why."""
        if self.result and self.result.reason is None:
            return self._verdict(None, detail or _late_exit(exit_code), exit_code, self._final_text())
        if self.result:
            return self._failed(self.result, exit_code)
        if stopped is Reason.CANCELLED:
            return self._verdict(stopped, detail, exit_code)
        if self.trouble:
            reason = self.trouble.reason or stopped or Reason.NO_TERMINAL_EVENT
            return self._verdict(reason, _join(detail, self.trouble.text), exit_code)
        words = "\n".join(self._stderr)
        if stopped:
            return self._verdict(stopped, _join(detail, words), exit_code)
        detail = f"{_how_it_ended(exit_code)} without saying how the turn ended"
        if reasons.of_words(self._first_on_stderr) is Reason.BAD_CONFIG:
            words = self._first_on_stderr  # a page of usage follows, whose words mean nothing
        return self._verdict(
            reasons.of_text(words) or Reason.NO_TERMINAL_EVENT, _join(detail, words), exit_code
        )

    def _failed(self, result: Event, exit_code: int | None) -> Verdict:
        """A vague end is explained by the trouble right before it."""
        reason, words = result.reason, result.text
        if self.trouble:
            words = words or self.trouble.text
            reason = self.trouble.reason or reason if reason is Reason.AGENT_FAILED else reason
        return self._verdict(reason, words, exit_code)

    def _final_text(self) -> str:
        return (self.result.text if self.result else "") or self._answer

    def _verdict(self, reason: Reason | None, detail: str, exit_code: int | None, text: str = "") -> Verdict:
        return Verdict(
            reason=reason,
            detail=detail[-_DETAIL_CHARS:],
            text=text,
            session_id=self._session_id,
            usage=self._total or self._parts,
            exit=exit_code,
            tool_ran=self._tool_ran,
            retry_at=self._retry_at if reason else None,
            resume_rejected=self._resume_rejected,
        )


def _late_exit(exit_code: int | None) -> str:
    """A program that fails after its result has done its work: doing it again would do it twice."""
    return f"{_how_it_ended(exit_code)} after its result" if exit_code else ""


def _how_it_ended(exit_code: int | None) -> str:
    if exit_code is None:
        return "ended"
    return f"exited {exit_code}" if exit_code >= 0 else f"died of signal {-exit_code}"


def _join(first: str, second: str) -> str:
    return f"{first}: {second}" if first and second else first or second
