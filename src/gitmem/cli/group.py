"""Commands and groups: imported when called, with the shared options after every verb, and examples."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from gitmem.cli.app import App
from gitmem.cli.table import ALIASES, Entry
from gitmem.core.errors import UsageError

HELP_NAMES = ("-h", "--help")

F = TypeVar("F", bound=Callable[..., Any])


def _apply(ctx: click.Context, param: click.Parameter, value: Any) -> None:
    """Note a shared option; an option after the verb adds to what stands before it."""
    app = ctx.find_object(App)
    if app is None or not value:
        return
    match param.name:
        case "dir":
            app.directory = app.directory / Path(value)
        case "as":
            app.actor = value
        case "no_input":
            app.no_input = True
        case "no_color":
            app.console.plain = True
        case name:
            setattr(app.console, str(name), True)


def shared_options(*, root: bool) -> list[click.Option]:
    """The options of every command. Only before the verb do they have environment twins: `GITMEM_RUN_DIR`
    and the like belong to the environment of a run, not to an option of `gitmem run`."""

    def option(*names: str, show: bool = False, **attrs: Any) -> click.Option:
        twin = f"GITMEM_{names[-1].lstrip('-').replace('-', '_').upper()}" if root else None
        return click.Option(
            names,
            callback=_apply,
            expose_value=False,
            hidden=not (root or show),
            envvar=twin,
            allow_from_autoenv=False,
            **attrs,
        )

    return [
        option("-C", "dir", metavar="DIR", help="Work as if started in DIR."),
        option("--as", "as", metavar="ACTOR", help="Act as member:<handle> or agent:<name>."),
        option("--json", is_flag=True, show=True, help="Print JSON."),
        option("-q", "--quiet", is_flag=True, help="Print data and errors only."),
        option("-v", "--verbose", is_flag=True, help="Print more words."),
        option("--no-color", is_flag=True, help="Print without colour; NO_COLOR does the same."),
        option("--no-input", is_flag=True, help="Never ask and never open an editor."),
    ]


class Command(click.Command):
    """A verb: takes the shared options too and shows its examples."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = tuple(examples)
        self.params.extend(shared_options(root=False))

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(HELP_NAMES)  # click remembers those of the first context, which may be a bare one

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"  {example}\n")


def command(name: str, *examples: str) -> Callable[[Callable[..., Any]], Command]:
    """Make a function a verb; its docstring is the help."""

    def decorate(function: Callable[..., Any]) -> Command:
        return click.command(name, cls=Command, examples=examples)(function)

    return decorate


def choice(kind: Iterable[str], *more: str) -> click.Choice[str]:
    """The words of an enum, as they stand in files, in any case."""
    return click.Choice([*map(str, kind), *more], case_sensitive=False)


class LazyGroup(click.Group):
    """A group whose commands stand in a table and are imported when they are called."""

    def __init__(self, name: str, entries: Mapping[str, Entry], help_text: str, **attrs: Any) -> None:
        super().__init__(
            name, help=help_text, invoke_without_command=True, subcommand_metavar="COMMAND ...", **attrs
        )
        self.entries = entries
        self.callback = click.pass_context(_help_or_nothing)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.entries)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        entry = self.entries.get(cmd_name) or self.entries.get(ALIASES.get(cmd_name, ""))
        if entry is None:
            return None
        if not isinstance(entry.target, str):
            return Noun(cmd_name, entry.target, entry.help)
        module, _, attribute = entry.target.partition(":")
        loaded = getattr(importlib.import_module(module), attribute)
        assert isinstance(loaded, click.Command)
        return loaded

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        found = self.get_command(ctx, args[0])
        if found is None and not args[0].startswith("-"):
            raise unknown_command(ctx.command_path, args[0], self.entries)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.shown().items()])

    def shown(self) -> Mapping[str, Entry]:
        return self.entries


class Noun(LazyGroup):
    """`gitmem issue`: a group that takes the shared options as well."""

    def __init__(self, name: str, entries: Mapping[str, Entry], help_text: str) -> None:
        super().__init__(name, entries, help_text)
        self.params.extend(shared_options(root=False))


def _help_or_nothing(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is not None:
        return
    app = ctx.find_object(App)
    assert app is not None
    if app.console.json:
        raise UsageError("a command is missing", f"{ctx.command_path} --help lists them")
    app.console.out.write(ctx.get_help() + "\n")


def unknown_command(path: str, name: str, known: Mapping[str, Entry]) -> UsageError:
    """The error for a misspelt command; the hint offers the nearest."""
    from difflib import get_close_matches  # late: 6 ms, only on this path

    near = get_close_matches(name, [*known, *ALIASES], n=1, cutoff=0.5)
    best = ALIASES.get(near[0], near[0]) if near and near[0] not in known else near[0] if near else None
    hint = f"did you mean `{path} {best}`?" if best in known else f"{path} --help lists the commands"
    return UsageError(f"{path} has no command {name!r}", hint)
