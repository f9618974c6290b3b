from __future__ import annotations

import importlib

import click
import pytest

from gitmem.cli.group import Command, LazyGroup
from gitmem.cli.main import root
from gitmem.cli.table import COMMANDS, Entry
from tests.cli.conftest import Cli


def leaves() -> list[tuple[str, Entry]]:
    found = []
    for name, entry in COMMANDS.items():
        if isinstance(entry.target, str):
            found.append((name, entry))
        else:
            found += [(f"{name} {verb}", leaf) for verb, leaf in entry.target.items()]
    return found


def loaded(entry: Entry) -> click.Command:
    module, _, attribute = str(entry.target).partition(":")
    return getattr(importlib.import_module(module), attribute)


@pytest.mark.parametrize(("name", "entry"), leaves(), ids=[name for name, _ in leaves()])
def test_every_command_is_documented_with_an_example(name: str, entry: Entry) -> None:
    command = loaded(entry)
    assert isinstance(command, Command)
    assert command.name == name.split()[-1]
    assert (command.help or "").split("\n\n")[0].strip() == entry.help
    assert command.examples
    assert all("gitmem" in example for example in command.examples)
    for param in command.params:
        if isinstance(param, click.Option):
            assert param.help, f"{name} {param.opts}"
            assert param.help.endswith("."), f"{name} {param.opts}"


def test_the_first_level_shows_the_working_day_and_help_all_the_rest(cli: Cli) -> None:
    first = cli.ok("--help")
    for name, entry in COMMANDS.items():
        assert (f"\n  {name} " in cli.ok().out) == entry.daily, name
    assert first.code == 0
    everything = cli.ok("help", "all").out
    for name, _ in leaves():
        assert f" {name} " in everything


@pytest.mark.parametrize("topic", ["environment", "exit-codes", "formatting"])
def test_help_explains_topics(cli: Cli, topic: str) -> None:
    assert topic.split("-")[0] in cli.ok("help", topic).out.lower()


def test_help_of_a_command_is_its_own_help(cli: Cli) -> None:
    assert "gitmem issue create" in cli.ok("help", "issue", "create").out
    assert cli("help", "issue", "crate").code == 2
    assert "create" in cli("help", "issue", "crate").err


def test_a_noun_alone_shows_its_verbs(cli: Cli) -> None:
    assert "Manage issues." in cli.ok("issue").out


def test_a_misspelt_command_offers_the_nearest(cli: Cli) -> None:
    assert "did you mean `gitmem issue`?" in cli("isue").err
    assert "did you mean `gitmem issue list`?" in cli("issue", "lits").err
    assert "did you mean --label?" in cli("issue", "list", "--lable", "x").err


def options_with_twins(command: click.Command, prefix: str) -> dict[str, str]:
    """Environment variable → command, of every option below `command`."""
    found = {}
    ctx = click.Context(command, info_name=prefix)
    for param in command.params:
        if isinstance(param, click.Option):
            if isinstance(param.envvar, str):
                found[param.envvar] = prefix
            elif param.allow_from_autoenv:
                found[f"{prefix}_{param.name}".upper().replace("-", "_")] = prefix
    if isinstance(command, LazyGroup):
        for name in command.list_commands(ctx):
            sub = command.get_command(ctx, name)
            assert sub is not None
            found |= options_with_twins(sub, f"{prefix}_{name}")
    return found


# What `runner.starting` and `agents.environment` set for a run, and what the programs read.
RUN_ENVIRONMENT = {
    "GITMEM_AGENT",
    "GITMEM_ATTACHED_SKILLS",
    "GITMEM_ISSUE",
    "GITMEM_OUTBOX",
    "GITMEM_PORT",
    "GITMEM_RUN",
    "GITMEM_RUNS",
    "GITMEM_SPAWN",
    "GITMEM_TASK",
    "GITMEM_TRACE",
    "GITMEM_WORKSPACE_ID",
}


def test_no_variable_of_a_run_is_taken_for_an_option() -> None:
    twins = options_with_twins(root(), "GITMEM")
    assert "GITMEM_ISSUE_LIST_LIMIT" in twins
    assert not RUN_ENVIRONMENT & set(twins)
    assert not [
        name for name in twins if name.startswith("GITMEM_RUN_") and name.endswith(("_DIR", "_AS", "_ID"))
    ]


def test_every_option_has_a_twin_in_the_environment(
    cli: Cli, issue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("issue", "create", "Second")
    monkeypatch.setenv("GITMEM_ISSUE_LIST_LIMIT", "1")
    assert len(cli.ok("issue", "list").rows) == 1
    assert len(cli.ok("issue", "list", "--limit", "2").rows) == 2
    monkeypatch.setenv("GITMEM_JSON", "1")
    assert len(cli.ok("issue", "list").json) == 1
    monkeypatch.setenv("GITMEM_AS", "agent:codex")
    assert cli.ok("issue", "comment", issue, "-b", "x").json["author"] == "agent:codex"


def test_shared_options_may_stand_before_and_after_the_verb(cli: Cli) -> None:
    for args in (["--json", "issue", "list"], ["issue", "--json", "list"], ["issue", "list", "--json"]):
        assert cli.ok(*args).json == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_a_script_for_the_shell(cli: Cli, shell: str) -> None:
    assert "_GITMEM_COMPLETE" in cli.ok("completion", shell).out


def test_the_shell_is_given_commands_to_complete(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], cli: Cli
) -> None:
    monkeypatch.setenv("_GITMEM_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "gitmem issue cre")
    monkeypatch.setenv("COMP_CWORD", "2")
    assert cli().code == 0
    assert "create" in capsys.readouterr().out
