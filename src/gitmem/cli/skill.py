"""`gitmem skill`."""

from __future__ import annotations

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.body import body_options, read_body
from gitmem.cli.group import command
from gitmem.cli.limits import cut, limit_option
from gitmem.cli.problems import report
from gitmem.cli.written import written, written_many
from gitmem.core.record import Kind, Problem
from gitmem.ops import skills


@command(
    "create",
    "gitmem skill create retry-login --description 'How to retry a login test' -F steps.md",
    "gitmem skill create retry-login --description '...' -F - --attach claude < steps.md",
)
@click.argument("name")
@click.option("--description", required=True, metavar="TEXT", help="Say what it does and when to use it.")
@body_options
@click.option(
    "--attach", "agents", metavar="AGENT", multiple=True, help="Give it to this agent (repeatable)."
)
@pass_app
def create(
    app: App, name: str, description: str, body: str | None, body_file: str | None, agents: tuple[str, ...]
) -> None:
    """Write a new skill."""
    text = read_body(app, body, body_file) or ""
    done = skills.create(app.desk(), name, description, text, agents)
    shape = views.skill(done.value, {name: sorted(agents)})
    written(app, name, done.committed, shape, f"created {done.value.path}")


@command("list", "gitmem skill list", "gitmem skill list --agent claude --json")
@click.option("--agent", metavar="NAME", help="Only skills that this agent is given.")
@click.option("-s", "--status", metavar="STATUS", help="Only skills with this status.")
@limit_option
@pass_app
def list_(app: App, agent: str | None, status: str | None, limit: int) -> None:
    """List skills."""
    attached = skills.attached_to(app.reader.agents())
    found = app.view.keep(Kind.SKILL, app.reader.skills())
    if agent:
        name = app.reader.agent(agent).name
        found = [skill for skill in found if name in attached.get(skill.name, ())]
    if status:
        found = [skill for skill in found if skill.status == status]
    app.console.many(cut(app, found, limit), views.SKILLS, lambda skill: views.skill(skill, attached))


@command("view", "gitmem skill view retry-login")
@click.argument("name")
@pass_app
def view(app: App, name: str) -> None:
    """Show a skill and its files."""
    show(app, app.view.record(name, Kind.SKILL).path)


def show(app: App, path: str) -> None:
    """Print the skill at `path`, which the caller may read."""
    skill = app.reader.skill(path)
    shape = views.skill(skill, skills.attached_to(app.reader.agents()))
    shape["files"] = app.reader.files(path.rsplit("/", 1)[0])
    if app.console.json:
        app.console.emit({**shape, "body": skill.body})
    else:
        app.console.card(views.pairs(shape), skill.body)


@command("lint", "gitmem skill lint", "gitmem skill lint retry-login", "gitmem skill lint ./new-skill")
@click.argument("names", nargs=-1, metavar="[NAME | FOLDER]...")
@pass_app
def lint(app: App, names: tuple[str, ...]) -> None:
    """Check skills against the Agent Skills specification.

    Without a name every skill of the workspace is checked; a folder may be anywhere. Ends with
    code 12 where there are errors.
    """
    folders = [name for name in names if "/" in name and app.path(name).is_dir()]
    problems: list[Problem] = []
    for folder in folders:
        problems += skills.lint_folder(app.path(folder))
    inside = [name.removeprefix("skill:") for name in names if name not in folders]
    if inside or not folders:
        problems += skills.lint(app.reader, app.workspace.git, inside)
    report(app, problems)


@command("attach", "gitmem skill attach retry-login claude codex")
@click.argument("skill")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@pass_app
def attach(app: App, skill: str, agents: tuple[str, ...]) -> None:
    """Give a skill to an agent.

    It is told about it in every run.
    """
    _attach(app, skill, agents, detach=False)


@command("detach", "gitmem skill detach retry-login codex")
@click.argument("skill")
@click.argument("agents", nargs=-1, required=True, metavar="AGENT...")
@pass_app
def detach(app: App, skill: str, agents: tuple[str, ...]) -> None:
    """Take a skill from an agent."""
    _attach(app, skill, agents, detach=True)


def _attach(app: App, skill: str, agents: tuple[str, ...], *, detach: bool) -> None:
    done = skills.attach(app.desk(), skill, agents, detach=detach)
    names = [agent.name for agent in done.value]
    words = f"{'taken from' if detach else 'given to'} {', '.join(names)}"
    written_many(app, names, done.committed, [views.agent(agent) for agent in done.value], words)
