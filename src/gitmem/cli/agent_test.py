"""`gitmem agent test`."""

from __future__ import annotations

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.findings import print_finding, shape
from gitmem.cli.group import command
from gitmem.core.record import Kind
from gitmem.ops.doctor import Health
from gitmem.runner.rehearsal import Rehearsal


@command("test", "gitmem agent test claude", "gitmem agent test claude --json")
@click.argument("name")
@click.option(
    "--timeout", "timeout_s", metavar="S", type=click.FloatRange(min=1), default=120.0, show_default=True,
    help="Stop the turn after S seconds.",
)  # fmt: skip
@pass_app
def test(app: App, name: str, timeout_s: float) -> None:
    """Try an agent on this machine.

    Looks for its program and version, then has it answer one line in exactly the environment
    of its runs; that costs a few tokens. Ends with code 1 where something is wrong.
    """
    path = app.view.record(name, Kind.AGENT).path
    agent = app.reader.agent(path)
    checks = []
    for check in Rehearsal(app.workspace, app.reader, agent, timeout_s).checks():
        checks.append(check)
        if not app.console.json:
            print_finding(app.console, check)
    if app.console.json:
        app.console.emit({**views.agent(agent), "checks": [shape(check) for check in checks]})
    if checks[-1].status is Health.ERROR:
        click.get_current_context().exit(1)
