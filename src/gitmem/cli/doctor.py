"""`gitmem doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from gitmem.agents import registry
from gitmem.cli import views
from gitmem.cli.app import App, pass_app, runs_dir
from gitmem.cli.group import command
from gitmem.core.errors import GitmemError
from gitmem.ops import doctor as ops
from gitmem.ops.doctor import Check, Health


@command("doctor", "gitmem doctor", "gitmem doctor --json")
@pass_app
def doctor(app: App) -> None:
    """Check git, identity, agents, locks and remote.

    Ends with code 1 where something is wrong; `gitmem check` is for the files.
    """
    checks = list(_checks(app))
    console = app.console
    if console.json:
        console.emit([_shape(check) for check in checks])
    else:
        for check in checks:
            _print(app, check)
    if any(check.status is Health.ERROR for check in checks):
        click.get_current_context().exit(1)


def _checks(app: App) -> Iterator[Check]:
    yield from ops.machine(app.directory, runs_dir(app.environ))
    try:
        workspace = app.workspace
    except GitmemError as missing:
        yield Check("workspace", Health.ERROR, missing.message, missing.hint)
        yield from _programs(dict.fromkeys(registry.names(), ()))
        return
    yield from ops.repository(workspace, app.now())
    yield from _programs({agent.adapter: agent.command for agent in app.reader.agents()})


def _programs(wanted: dict[str, tuple[str, ...]]) -> Iterator[Check]:
    """The program behind each adapter, with its version."""
    for name, command_ in sorted(wanted.items()):
        yield _program(f"agent {name}", name, command_)


def _program(label: str, name: str, command_: tuple[str, ...]) -> Check:
    try:
        adapter = registry.adapter_named(name)
    except GitmemError as unknown:
        return Check(label, Health.ERROR, unknown.message, unknown.hint)
    path = registry.locate(adapter, command_)
    if path is None:
        return Check(label, Health.WARN, "not on PATH", f"install {adapter.executable or name}")
    version = registry.version(adapter, command_)
    old = registry.too_old(adapter, version) if version else None
    if old:
        return Check(label, Health.ERROR, old, f"update {path}")
    return Check(label, Health.OK, f"{version or 'version unknown'}, {path}")


def _shape(check: Check) -> dict[str, Any]:
    return {"name": check.name, "status": str(check.status), "message": check.message, "cure": check.cure}


def _print(app: App, check: Check) -> None:
    console = app.console
    if not console.terminal:
        console.line(check.status, check.name, check.message, check.cure)
        return
    word = console.paint(f"{check.status:<5}", views.style_of(check.status))
    console.line(word, f"{check.name:<14}", check.message)
    if check.cure:
        console.line("     ", " " * 14, f"cure: {check.cure}")
