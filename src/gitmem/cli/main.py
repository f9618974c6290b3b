"""The `gitmem` command: parses, runs one command, and turns whatever happens into an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TextIO

import click

from gitmem import __version__
from gitmem.cli.app import App, state_dir
from gitmem.cli.console import Console
from gitmem.cli.errors import report
from gitmem.cli.group import HELP_NAMES, LazyGroup, shared_options
from gitmem.cli.table import COMMANDS, COMPLETE_VARIABLE
from gitmem.core.clock import Clock
from gitmem.core.errors import UsageError
from gitmem.core.ids import Entropy

if TYPE_CHECKING:
    from gitmem.store.git_status import Look


class Root(LazyGroup):
    """`gitmem` itself: its help shows the commands of a working day."""

    def shown(self) -> dict[str, object]:  # type: ignore[override]
        return {name: entry for name, entry in COMMANDS.items() if entry.daily}

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        formatter.write_paragraph()
        formatter.write_text(
            "`gitmem help all` lists every command; `gitmem help environment`, `exit-codes` and "
            "`formatting` explain what holds for all of them."
        )


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        app = ctx.find_object(App)
        assert app is not None
        app.console.out.write(f"gitmem {__version__}\n")
        ctx.exit()


def root() -> Root:
    """The top of the command tree."""
    version = click.Option(
        ["--version"],
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_print_version,
        help="Print the version.",
        allow_from_autoenv=False,
    )
    return Root(
        "gitmem",
        COMMANDS,
        "Shared memory and a work queue for coding agents, in a git repository.",
        params=[*shared_options(root=True), version],
        context_settings={
            "help_option_names": list(HELP_NAMES),
            "auto_envvar_prefix": "GITMEM",
            "max_content_width": 100,
        },
    )


def _utc_now() -> datetime:
    return datetime.now(UTC)


def main(
    argv: Sequence[str] | None = None,
    *,
    now: Clock = _utc_now,
    entropy: Entropy = os.urandom,
    out: TextIO | None = None,
    err: TextIO | None = None,
    look: Look | None = None,
) -> int:
    """Run one command; returns the exit code (docs/commands.md, "Exit codes") and never raises.

    `look` is a look at the uncommitted files that is under way already.
    """
    args = list(sys.argv[1:] if argv is None else argv)
    if COMPLETE_VARIABLE in os.environ:
        from click.shell_completion import shell_complete  # late: the shell asks for this, people do not

        return shell_complete(root(), {}, "gitmem", COMPLETE_VARIABLE, os.environ[COMPLETE_VARIABLE])
    console = Console(out or sys.stdout, err or sys.stderr, os.environ)
    # A parse error comes before the options are read, and its reader asked for JSON all the same.
    asked_for_json = "--json" in args or bool(os.environ.get("GITMEM_JSON"))
    app = App(console, now, entropy, os.environ, look=look)
    try:
        code = _run(app, args)
        console.flush()
    except BrokenPipeError:
        console.settle()
        return 0  # the reader has all it wanted, as in `gitmem log | head`
    except BaseException as error:
        console.json = console.json or asked_for_json
        code = report(error, console, now=now(), state=state_dir(os.environ), argv=args)
        console.settle()
    return code


def _run(app: App, args: list[str]) -> int:
    _check_text(args)
    try:
        # Click prints the help itself.
        with redirect_stdout(app.console.out), root().make_context("gitmem", args, obj=app) as ctx:
            ctx.command.invoke(ctx)
    except click.exceptions.Exit as done:
        return done.exit_code
    finally:
        app.close()
    return 0


def _check_text(args: list[str]) -> None:
    """Raise UsageError for bytes that are no UTF-8: Python brings them as lone surrogates."""
    for arg in args:
        if any("\ud800" <= char <= "\udfff" for char in arg):
            raise UsageError(
                f"the argument {arg!r} is not UTF-8 text", "give a text from a file with -F FILE"
            )


if __name__ == "__main__":
    sys.exit(main())
