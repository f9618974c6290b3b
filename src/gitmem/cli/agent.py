"""`gitmem agent`."""

from __future__ import annotations

import click

from gitmem.agents import registry
from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.body import body_options, read_body
from gitmem.cli.group import command
from gitmem.cli.limits import cut, limit_option
from gitmem.cli.written import written
from gitmem.core.record import Kind
from gitmem.ops import people
from gitmem.ops.people import NewAgent


@command(
    "create",
    "gitmem agent create claude",
    "gitmem agent create reviewer --adapter claude --model opus -b 'You review, you never write code.'",
    "gitmem agent create tests --adapter command --command make --command test",
)
@click.argument("name")
@click.option("--adapter", metavar="NAME", help="Drive it through this adapter; else the one of its name.")
@click.option("--model", metavar="NAME", help="Pass this model to the program.")
@click.option(
    "--command", "command_", metavar="WORD", multiple=True, help="The program and its arguments, in order."
)
@click.option("--skill", "skills", metavar="NAME", multiple=True, help="Give it a skill (repeatable).")
@click.option("--env", "env", metavar="VARIABLE", multiple=True, help="Let it see a variable (repeatable).")
@body_options
@pass_app
def create(
    app: App,
    name: str,
    adapter: str | None,
    model: str | None,
    command_: tuple[str, ...],
    skills: tuple[str, ...],
    env: tuple[str, ...],
    body: str | None,
    body_file: str | None,
) -> None:
    """Add an agent.

    The text is its instructions, which it is given in every run.
    """
    found = registry.adapter_named(adapter or name)
    new = NewAgent(
        name=name,
        adapter=found.name,
        model=model,
        command=command_,
        skills=skills,
        env=env,
        instructions=read_body(app, body, body_file) or "",
    )
    done = people.create_agent(app.desk(), new)
    if registry.locate(found, command_) is None and found.executable:
        app.console.say(f"the program {found.executable} is not on this machine's PATH")
    written(app, name, done.committed, views.agent(done.value), f"created {done.value.path}")


@command("list", "gitmem agent list", "gitmem agent list --json")
@limit_option
@pass_app
def list_(app: App, limit: int) -> None:
    """List agents."""
    found = app.view.keep(Kind.AGENT, app.reader.agents())
    app.console.many(cut(app, found, limit), views.AGENTS, views.agent)


@command("view", "gitmem agent view claude")
@click.argument("name")
@pass_app
def view(app: App, name: str) -> None:
    """Show an agent."""
    show(app, app.view.record(name, Kind.AGENT).path)


def show(app: App, path: str) -> None:
    """Print the agent at `path`, which the caller may read."""
    agent = app.reader.agent(path)
    if app.console.json:
        app.console.emit({**views.agent(agent), "body": agent.instructions})
    else:
        app.console.card(views.pairs(views.agent(agent)), agent.instructions)
