"""`gitmem init`."""

from __future__ import annotations

from pathlib import Path

import click

from gitmem.agents import registry
from gitmem.cli.app import App, pass_app
from gitmem.cli.group import command
from gitmem.core.errors import GitError, UsageError
from gitmem.ops import init as ops
from gitmem.ops.init import Made, Maker, Wishes
from gitmem.store.git import Git


@command(
    "init",
    "gitmem init team-memory",
    "gitmem init --beside ../team-memory    # from a code repository",
    "gitmem init --here                     # a branch of its own in this repository",
)
@click.argument("folder", required=False, metavar="[DIR]")
@click.option("--name", metavar="TEXT", help="Name the workspace; else after its folder.")
@click.option("--template", metavar="PATH", help="Start from the files in this folder.")
@click.option("--here", is_flag=True, help="Use a branch of its own in this code repository.")
@click.option("--beside", metavar="DIR", help="Make it in DIR, for the code repository you are in.")
@pass_app
def init(
    app: App, folder: str | None, name: str | None, template: str | None, here: bool, beside: str | None
) -> None:
    """Make a workspace.

    Everything is made in one commit. Agents whose programs are found on PATH get a file in
    agents/, and you become a member whom policy.yaml trusts.
    """
    if sum(map(bool, (folder, here, beside))) > 1:
        raise UsageError("DIR, --here and --beside exclude each other", "gitmem init --help")
    maker = Maker(app.now, app.entropy, app.trace)
    wishes = Wishes(name=name, template=app.path(template) if template else None, adapters=_found())
    if not here and not beside:
        _tell(app, ops.make(maker, app.path(folder or "."), wishes))
        return
    with _code(app) as code:
        if beside:
            made = ops.make_beside(maker, code, app.path(beside), wishes)
        else:
            made = ops.make_here(maker, code, wishes)
    _tell(app, made)


def _found() -> list[str]:
    """The adapters whose program is on PATH; those that are programs of gitmem come with the template."""
    found = []
    for name in registry.names():
        adapter = registry.adapter_named(name)
        if adapter.own_version is None and adapter.executable and registry.locate(adapter):
            found.append(name)
    return found


def _code(app: App) -> Git:
    try:
        return Git.discover(app.directory)
    except GitError:
        raise UsageError(
            f"{app.directory.resolve()} is in no code repository", "gitmem init DIR makes one of its own"
        ) from None


def _tell(app: App, made: Made) -> None:
    app.console.committed = made.commit
    if app.console.json:
        app.console.emit(
            {
                "id": made.id,
                "name": made.name,
                "branch": made.branch,
                "path": str(made.root),
                "repository": made.repository,
                "commit": made.commit,
            }
        )
        return
    app.console.line(made.id, made.commit)
    app.console.say(f"workspace {made.name} in {made.root}, branch {made.branch}")
    inside = Path.cwd() == made.root or made.repository is not None
    go = "" if inside else f"cd {made.root}\n  "
    app.console.say(
        f"next:\n  {go}gitmem issue create 'My first issue' --assign claude --queue\n  gitmem doctor"
    )
