"""`gitmem check`."""

from __future__ import annotations

import click

from gitmem.cli.app import App, pass_app
from gitmem.cli.group import command
from gitmem.cli.problems import report
from gitmem.ops import check as ops


@command("check", "gitmem check", "gitmem check issues/2026-11 --json", "gitmem check --fix")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", is_flag=True, help="First mend what needs no judgement, in one commit.")
@pass_app
def check(app: App, paths: tuple[str, ...], fix: bool) -> None:
    """Find every problem in files and links.

    Uncommitted files are checked as they stand. Ends with code 12 where there is an error, for CI.
    """
    wanted = [_from_root(app, path) for path in paths]
    if fix:
        desk = app.desk()
        fixed = ops.fix(desk.ws, wanted, actor=desk.actor, now=desk.now(), trace=desk.trace)
        if fixed:
            app.console.committed = fixed.committed.oid
            app.console.say(f"mended {', '.join(fixed.paths)} in {fixed.committed.oid[:10]}")
            for warning in fixed.committed.warnings:
                app.console.warn(warning)
        else:
            app.console.say("nothing can be mended without judgement")
    report(app, ops.check(app.workspace, wanted))


def _from_root(app: App, path: str) -> str:
    """`path` as seen from the workspace root, where people who stand in a folder below mean that."""
    root = app.workspace.root
    place = app.path(path).absolute()
    if root is None or not place.exists() or not place.is_relative_to(root):
        return path
    return place.relative_to(root).as_posix()
