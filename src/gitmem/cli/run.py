"""`gitmem run`: the runner, and what it tells while it works."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Mapping
from typing import Any

import click

from gitmem.cli.app import App, pass_app
from gitmem.cli.console import Style
from gitmem.cli.group import command
from gitmem.core.errors import UsageError
from gitmem.runner.loop import Runner
from gitmem.runner.options import Notice, Options

_UNITS = {"s": 1, "m": 60, "h": 3600, "": 1}

# As a shell reports a program that SIGINT ended (docs/commands.md, "Exit codes").
INTERRUPTED = 130


def _seconds(_ctx: click.Context, _param: click.Parameter, text: str | None) -> float | None:
    """`90`, `90s`, `30m` or `8h` as seconds."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smh]?)", text)
    if not found:
        raise UsageError(f"{text!r} is not a length of time", "write 90s, 30m or 8h")
    return float(found[1]) * _UNITS[found[2]]


@command("run", "gitmem run", "gitmem run --once", "gitmem run --agent claude --jobs 2 --max-time 8h")
@click.option("--once", is_flag=True, help="Work on what is ready, then end; fails if a run failed.")
@click.option("--agent", "agents", metavar="NAME", multiple=True, help="Only tasks of this agent.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Agents at once; else the workspace's.")
@click.option("--max-time", callback=_seconds, metavar="T", help="End after 90s, 30m or 8h.")
@click.option("--dry-run", is_flag=True, help="Say what would start and change nothing.")
@pass_app
def run(
    app: App,
    once: bool,
    agents: tuple[str, ...],
    jobs: int | None,
    max_time: float | None,
    dry_run: bool,
) -> None:
    """Watch the queue and work on it.

    Each task is claimed, its context is snapshotted, its agent runs, and what it hands back
    becomes one commit. Ctrl-C stops: agents are ended and their tasks go back to the queue.
    With --json every event is one object on a line.
    """
    for name in agents:
        app.reader.agent(name)
    desk = app.desk()
    options = Options(jobs or 0, frozenset(agents), once or dry_run, dry_run, max_time)
    teller = app.console.emit if app.console.json else _Teller(app)
    runner = Runner(
        app.workspace,
        desk.actor,
        options,
        now=app.now,
        entropy=app.entropy,
        tell=lambda notice: _tell(app, teller, notice),
    )
    interrupted = _stop_on_signals(runner)
    summary = runner.run()
    if interrupted:
        raise click.exceptions.Exit(INTERRUPTED)
    if once and not summary.all_well:
        raise click.exceptions.Exit(1)


def _tell(app: App, teller: Callable[[dict[str, Any]], None], notice: Notice) -> None:
    teller(notice.as_dict())
    app.console.flush()


def _stop_on_signals(runner: Runner) -> list[int]:
    """Stop gracefully at the first signal; the second ends us as usual. Returns the signals that came."""
    came: list[int] = []

    def stop(number: int, _frame: object) -> None:
        came.append(number)
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
        runner.stop()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    return came


class _Teller:
    """Notices as lines for people: ends of runs are data, everything else is words."""

    def __init__(self, app: App) -> None:
        self._console = app.console

    def __call__(self, notice: Mapping[str, Any]) -> None:
        handler = getattr(self, f"_{notice['type']}", None)
        if handler is not None:
            handler(notice)

    def _runner(self, notice: Mapping[str, Any]) -> None:
        self._console.say(f"runner {notice['runner']} works on branch {notice['branch']}; Ctrl-C stops it")

    def _started(self, notice: Mapping[str, Any]) -> None:
        self._console.say(f"run {notice['run']}: {notice['agent']} starts on issue {notice['issue']}")

    def _event(self, notice: Mapping[str, Any]) -> None:
        if notice["event"] in {"message", "tool_start", "error"}:
            what = f"{notice['tool']}: " if notice["tool"] else ""
            self._console.detail(f"run {notice['run']}: {what}{' '.join(notice['text'].split())[:200]}")

    def _delivered(self, notice: Mapping[str, Any]) -> None:
        good = notice["outcome"] in {"succeeded", "review", "blocked"}
        outcome = self._console.paint(notice["outcome"], Style.GOOD if good else Style.BAD)
        why = f" ({notice['reason']})" if notice["reason"] else ""
        if self._console.terminal:
            where = f", waits for review on {notice['branch']}" if notice["branch"] else ""
            place = f"issue {notice['issue']} by {notice['agent']}, commit {notice['commit'][:10]}{where}"
            self._console.line(f"run {notice['run']}", outcome, f"{place}{why}")
        else:
            cells = ("run", "outcome", "reason", "issue", "agent", "commit", "branch")
            self._console.line(*(notice[cell] for cell in cells))
        if notice["detail"] and not good:
            self._console.say(f"  {notice['detail']}")
        if notice["retry_at"]:
            self._console.say(f"  tried again at {notice['retry_at']}")

    def _held(self, notice: Mapping[str, Any]) -> None:
        self._console.say(f"task {notice['task']} does not start: {notice['reason']}")

    def _adopted(self, notice: Mapping[str, Any]) -> None:
        self._console.say(f"task {notice['task']}: taken from the queue folder as it was dropped")

    def _answered(self, notice: Mapping[str, Any]) -> None:
        self._console.say(f"task {notice['task']}: a person has answered; queued again")

    def _taken_over(self, notice: Mapping[str, Any]) -> None:
        self._console.say(f"run {notice['run']}: its runner is gone; taken over")

    def _handed_back(self, notice: Mapping[str, Any]) -> None:
        self._console.say(f"run {notice['run']}: stopped; task {notice['task']} is back in the queue")

    def _would_start(self, notice: Mapping[str, Any]) -> None:
        self._console.line(notice["task"], notice["issue"], notice["agent"])

    def _warning(self, notice: Mapping[str, Any]) -> None:
        self._console.warn(notice["message"])
        if notice.get("hint"):
            self._console.say(f"  hint: {notice['hint']}")
