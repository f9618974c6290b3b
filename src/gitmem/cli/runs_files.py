"""`gitmem runs events` and `snapshot`: what a run did, and what it was told."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from gitmem.cli.app import App, pass_app
from gitmem.cli.console import Column
from gitmem.cli.group import command
from gitmem.core.errors import NotFoundError
from gitmem.core.record import Kind
from gitmem.runner.eventlog import read_events
from gitmem.runner.pin import read_manifest
from gitmem.runner.rundir import find_log, run_dir

_POLL_S = 0.25


@command("events", "gitmem runs events 9d0k3v7p", "gitmem runs events 9d0k3v7p --json | jq .type")
@click.argument("run")
@click.option("--follow", is_flag=True, help="Go on as long as the run does.")
@pass_app
def events(app: App, run: str, follow: bool) -> None:
    """Show what an agent did in a run: messages, tools, errors.

    They lie on the machine that ran it until its run directory is cleaned up.
    """
    path = _events_file(app, run)
    for event in _followed(app, run, path) if follow else read_events(path):
        if app.console.json:
            app.console.emit(event)
        else:
            text = " ".join(str(event.get("text") or "").split())
            app.console.line(event.get("type"), event.get("tool"), text)


def _events_file(app: App, run: str) -> Path:
    """The log of an ended run, or of the one that a task or run id of a running one names."""
    config = app.workspace.config
    for held in _claims(app):
        if run in {held.run, held.task}:
            task = app.reader.task(held.task)
            agent = task.agent or config.default_agent or ""
            found = find_log(
                run_dir(config.id, app.reader.issue(task.issue).id, agent), held.run, "events.jsonl"
            )
            if found:
                return found
    record = app.reader.run(app.view.record(run, Kind.RUN).path)
    found = find_log(run_dir(config.id, record.issue, record.agent), record.id, "events.jsonl")
    if found is None:
        raise NotFoundError(
            f"the events of run {record.id} are not on this machine",
            f"it ran on {record.fields.get('runner') or 'another one'}; gitmem runs view {record.id}",
        )
    return found


def _claims(app: App) -> list[Any]:
    from gitmem.store import claims

    return claims.read_all(app.workspace.git)


def _followed(app: App, run: str, path: Path) -> Iterator[dict[str, Any]]:
    told = 0
    while True:
        running = any(run in {held.run, held.task} for held in _claims(app))
        found = list(read_events(path))
        yield from found[told:]
        told = len(found)
        app.console.flush()
        if not running:
            return
        time.sleep(_POLL_S)


@command("snapshot", "gitmem runs snapshot 9d0k3v7p", "gitmem runs snapshot 9d0k3v7p --json")
@click.argument("run")
@pass_app
def snapshot(app: App, run: str) -> None:
    """Show exactly what a run was told: each item, its cost, and what was left out.

    The files themselves are a commit: git show SNAPSHOT:PATH.
    """
    record = app.reader.run(app.view.record(run, Kind.RUN).path)
    manifest = read_manifest(app.workspace.git, record.snapshot)
    if not manifest:
        raise NotFoundError(
            f"the snapshot of run {record.id} is not in this clone",
            "git fetch origin 'refs/gitmem/snapshots/*:refs/gitmem/snapshots/*'",
        )
    if app.console.json:
        app.console.emit({**manifest, "snapshot": record.snapshot})
        return
    told = [{**item, "left": ""} for item in manifest.get("items", [])]
    left = [{**item, "left": "left out"} for item in manifest.get("left_out", [])]
    app.console.many([*told, *left], _ITEMS, dict)
    app.console.say(f"{manifest.get('tokens')} of {manifest.get('budget')} tokens; commit {record.snapshot}")


_ITEMS = (
    Column("TOKENS", lambda item: item.get("tokens")),
    Column("FORM", lambda item: item["left"] or item.get("form")),
    Column("REF", lambda item: item.get("ref")),
    Column("PATH", lambda item: item.get("path")),
    Column("WHY", lambda item: item.get("reason"), wide=True),
)
