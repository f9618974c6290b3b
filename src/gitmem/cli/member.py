"""`gitmem member`."""

from __future__ import annotations

import click

from gitmem.cli import views
from gitmem.cli.app import App, pass_app
from gitmem.cli.body import body_options, read_body
from gitmem.cli.group import command
from gitmem.cli.limits import cut, limit_option
from gitmem.cli.written import written
from gitmem.core.record import Kind
from gitmem.ops import people
from gitmem.ops.people import NewMember


@command(
    "create",
    "gitmem member create ana --name 'Ana Lima' --email ana@example.org --role maintainer",
)
@click.argument("handle")
@click.option("--name", metavar="TEXT", help="The name in full.")
@click.option(
    "--email", "emails", metavar="ADDRESS", multiple=True, help="An address of their commits (repeatable)."
)
@click.option("--role", metavar="ROLE", help="A role of policy.yaml, or a built-in one such as maintainer.")
@body_options
@pass_app
def create(
    app: App,
    handle: str,
    name: str | None,
    emails: tuple[str, ...],
    role: str | None,
    body: str | None,
    body_file: str | None,
) -> None:
    """Add a person.

    The text says how to work with them.
    """
    text = read_body(app, body, body_file, ask=False) or ""
    new = NewMember(handle=handle, name=name, emails=emails, role=role, body=text)
    done = people.create_member(app.desk(), new)
    written(app, handle, done.committed, views.member(done.value), f"created {done.value.path}")


@command("list", "gitmem member list")
@limit_option
@pass_app
def list_(app: App, limit: int) -> None:
    """List people."""
    found = app.view.keep(Kind.MEMBER, app.reader.members())
    app.console.many(cut(app, found, limit), views.MEMBERS, views.member)


@command("view", "gitmem member view ana")
@click.argument("handle")
@pass_app
def view(app: App, handle: str) -> None:
    """Show a person."""
    show(app, app.view.record(handle, Kind.MEMBER).path)


def show(app: App, path: str) -> None:
    """Print the person at `path`, whom the caller may read about."""
    member = app.reader.member(path)
    if app.console.json:
        app.console.emit({**views.member(member), "body": member.body})
    else:
        app.console.card(views.pairs(views.member(member)), member.body)
