"""`gitmem completion`."""

from __future__ import annotations

import click
from click.shell_completion import ShellComplete, get_completion_class

from gitmem.cli.app import App, pass_app
from gitmem.cli.group import command
from gitmem.cli.table import COMPLETE_VARIABLE


@command(
    "completion",
    'eval "$(gitmem completion bash)"    # in ~/.bashrc',
    'eval "$(gitmem completion zsh)"     # in ~/.zshrc',
    "gitmem completion fish > ~/.config/fish/completions/gitmem.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
@pass_app
def completion(app: App, ctx: click.Context, shell: str) -> None:
    """Print the completion script for a shell."""
    kind = get_completion_class(shell)
    assert kind is not None
    script = kind(ctx.find_root().command, {}, "gitmem", COMPLETE_VARIABLE)
    # The base class: bash's own asks the installed bash for its version, and there may be none.
    app.console.text(ShellComplete.source(script))
