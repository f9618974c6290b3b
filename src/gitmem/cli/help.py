"""`gitmem help`: every command, one command, or a topic."""

from __future__ import annotations

from collections.abc import Iterator

import click

from gitmem.cli.app import App, pass_app
from gitmem.cli.group import LazyGroup, command, unknown_command
from gitmem.cli.table import COMMANDS
from gitmem.cli.topics import TOPICS


@command("help", "gitmem help all", "gitmem help exit-codes", "gitmem help issue create")
@click.argument("what", nargs=-1, metavar="[COMMAND... | TOPIC]")
@click.pass_context
@pass_app
def help_(app: App, ctx: click.Context, what: tuple[str, ...]) -> None:
    """Explain a command or a topic.

    Topics: all, environment, exit-codes, formatting.
    """
    top = ctx.find_root()
    if not what:
        app.console.text(top.get_help())
    elif what == ("all",):
        app.console.text("\n".join(_every_command()))
    elif len(what) == 1 and what[0] in TOPICS:
        app.console.text(TOPICS[what[0]])
    else:
        app.console.text(_context_of(top, what).get_help())


def _every_command() -> Iterator[str]:
    yield "Commands whose shape is frozen are marked with *; the others may still change."
    yield ""
    for name, entry in COMMANDS.items():
        mark = "*" if entry.daily else " "
        if isinstance(entry.target, str):
            yield f"{mark} {name:<20} {entry.help}"
        else:
            for verb, leaf in entry.target.items():
                yield f"{mark} {f'{name} {verb}':<20} {leaf.help}"


def _context_of(top: click.Context, names: tuple[str, ...]) -> click.Context:
    """The context of the command that `names` lead to."""
    ctx = top
    for name in names:
        group = ctx.command
        found = group.get_command(ctx, name) if isinstance(group, LazyGroup) else None
        if found is None:
            known = group.entries if isinstance(group, LazyGroup) else {}
            raise unknown_command(ctx.command_path, name, known)
        ctx = click.Context(found, info_name=name, parent=ctx)
    return ctx
