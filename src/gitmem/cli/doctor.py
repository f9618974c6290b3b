"""`gitmem doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import click

from gitmem.agents import registry
from gitmem.cli.app import App, pass_app, runs_dir
from gitmem.cli.findings import print_finding, shape
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
        console.emit([shape(check) for check in checks])
    else:
        for check in checks:
            print_finding(console, check)
    if any(check.status is Health.ERROR for check in checks):
        click.get_current_context().exit(1)


def _checks(app: App) -> Iterator[Check]:
    yield from ops.machine(app.directory, runs_dir(app.environ))
    try:
        workspace = app.workspace
    except GitmemError as missing:
        yield Check("workspace", Health.ERROR, missing.message, missing.hint)
        yield from _programs({})
        return
    yield from ops.repository(workspace, app.now())
    yield from _programs({agent.adapter: agent.command for agent in app.reader.agents()})


def _programs(wanted: Mapping[str, tuple[str, ...]]) -> Iterator[Check]:
    """The program behind each adapter, with its version; only one that an agent wants has to be there."""
    names = sorted({*registry.names(), *wanted})
    with ThreadPoolExecutor() as pool:  # some take seconds to say their version
        yield from pool.map(lambda name: _program(f"agent {name}", name, wanted.get(name)), names)


def _program(label: str, name: str, command: tuple[str, ...] | None) -> Check:
    try:
        adapter = registry.adapter_named(name)
    except GitmemError as unknown:
        return Check(label, Health.ERROR, unknown.message, unknown.hint)
    wanted = command is not None
    install = registry.missing_extra(adapter)
    if install and wanted:
        return Check(label, Health.WARN, "a part of gitmem is not installed", install)
    path = registry.locate(adapter, command or ())
    if path is None and not wanted:
        return Check(label, Health.OK, "not installed" if adapter.executable else "any program")
    if path is None:
        return Check(label, Health.WARN, "not on PATH", f"install {adapter.executable or name}")
    version = registry.version(adapter, command or ())
    old = registry.too_old(adapter, version) if version else None
    if old:
        return Check(label, Health.WARN, old, f"update {path}")
    return Check(label, Health.OK, f"{version or 'version unknown'}, {path}")
