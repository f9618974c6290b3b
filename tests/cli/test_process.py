"""Whole processes: pipes, terminals, signals."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

from tests.cli.conftest import Cli
from tests.conftest import git, put

GITMEM = [sys.executable, "-m", "gitmem.cli.main"]


def command(cli: Cli, *args: str) -> list[str]:
    return [*GITMEM, "-C", str(cli.folder), *args]


def test_the_installed_command_answers() -> None:
    script = Path(sys.executable).with_name("gitmem")
    done = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("gitmem ")


def test_a_reader_that_has_enough_is_no_error(cli: Cli) -> None:
    put(cli.folder, "issues/long.md", "---\nid: 7k3q9d2m\ntitle: long\n---\n" + "x\n" * 200_000)
    process = subprocess.Popen(
        command(cli, "issue", "view", "7k3q9d2m"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.wait() == 0
    assert process.stderr.read() == b""
    process.stderr.close()


def test_a_full_disk_behind_stdout_is_an_error(cli: Cli, issue: str) -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            command(cli, "issue", "list", "--json"),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 1
    assert json.loads(done.stderr)["error"]["kind"] == "output"
    for words in (["--help"], ["issue"], ["issue", "list", "-h"], ["--version"]):
        assert "the output cannot be written" in redirected(cli, ">/dev/full", *words).stderr


def redirected(cli: Cli, redirection: str, *args: str) -> subprocess.CompletedProcess[str]:
    """The installed command under a shell's redirection."""
    argv = [str(Path(sys.executable).with_name("gitmem")), "-C", str(cli.folder), *args]
    script = ["sh", "-c", f'exec "$@" {redirection}', "sh", *argv]
    return subprocess.run(script, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False)


def test_a_change_that_only_could_not_be_printed_is_told_as_made(cli: Cli) -> None:
    done = redirected(cli, ">/dev/full", "issue", "create", "once", "-b", "x", "--json")
    error = json.loads(done.stderr)["error"]
    assert (done.returncode, error["kind"], error["hint"]) == (1, "output", None)
    assert error["commit"] == git(cli.folder, "rev-parse", "main").strip()
    assert "the change was made" in error["message"]
    done = redirected(cli, ">/dev/full 2>&1", "issue", "create", "twice", "-b", "x")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
    assert len(cli.json("issue", "list")) == 2


def test_closed_outputs_are_outputs_that_lead_nowhere(cli: Cli) -> None:
    for redirection in (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"):
        for words in (["issue", "create", redirection, "-b", "x"], ["issue", "list"], ["check"], ["--help"]):
            done = redirected(cli, redirection, *words)
            assert (done.returncode, "Traceback" in done.stderr) == (0, False), (redirection, words)
    assert len(cli.json("issue", "list")) == 4
    assert redirected(cli, ">&- 2>&-", "issue", "view", "zzzzzzzz").returncode == 1


def test_a_closed_standard_input_is_no_body(cli: Cli) -> None:
    assert redirected(cli, "<&-", "issue", "create", "No body").returncode == 0
    done = redirected(cli, "<&-", "issue", "create", "A body", "-F", "-")
    assert (done.returncode, done.stderr) == (2, "error: cannot read -: Bad file descriptor\n")


def test_standard_input_is_a_body(cli: Cli) -> None:
    done = subprocess.run(
        command(cli, "issue", "create", "From stdin", "-F", "-", "--json"),
        input="Grüße aus der Röhre\n".encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(done.stdout)["body"] == "Grüße aus der Röhre\n"
    assert done.stderr == b""


def test_an_argument_that_is_no_utf8_is_a_usage_error(cli: Cli) -> None:
    words = [os.fsencode(word) for word in command(cli, "issue", "view")]
    done = subprocess.run([*words, b"\xff\xfe"], capture_output=True, check=False)
    assert done.returncode == 2
    assert b"not UTF-8" in done.stderr


def on_a_terminal(argv: list[str], **env: str) -> str:
    """What the command writes to a terminal of its own."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        argv, stdin=theirs, stdout=theirs, stderr=theirs, env={**os.environ, **env}, start_new_session=True
    )
    os.close(theirs)
    shown = b""
    while True:
        try:
            chunk = os.read(ours, 65536)
        except OSError:  # Linux: the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(ours)
    process.wait()
    return shown.decode()


def test_on_a_terminal_issues_are_a_table_and_their_text_is_harmless(cli: Cli) -> None:
    put(cli.folder, "issues/evil.md", '---\nid: 7k3q9d2m\ntitle: "red \\x1b[31m"\n---\n\x1b]0;owned\x07\n')
    env = {"TERM": "xterm", "COLUMNS": "100"}
    table = on_a_terminal(command(cli, "--no-color", "issue", "list"), **env)
    assert table.split()[:2] == ["id", "status"]
    shown = on_a_terminal(command(cli, "--no-color", "issue", "view", "7k3q9d2m"), **env) + table
    assert "\x1b" not in shown
    assert "\\x1b]0;owned\\x07" in shown


def test_a_missing_body_opens_the_editor_on_a_terminal_only(cli: Cli, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nprintf "Typed in the editor.\\n" > "$1"\n')
    editor.chmod(0o755)
    env = {"EDITOR": str(editor), "VISUAL": str(editor), "TERM": "xterm"}
    on_a_terminal(command(cli, "issue", "create", "Edited"), **env)
    on_a_terminal(command(cli, "--no-input", "issue", "create", "Not asked"), **env)
    bodies = {i["title"]: cli.json("issue", "view", i["id"])["body"] for i in cli.json("issue", "list")}
    assert bodies == {"Edited": "Typed in the editor.\n", "Not asked": ""}


def test_follow_prints_what_happens_until_it_is_interrupted(cli: Cli, issue: str) -> None:
    process = subprocess.Popen(
        command(cli, "log", "--follow", "-n", "1", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    first = json.loads(process.stdout.readline())
    assert (first["type"], first["action"]) == ("event", "issue.create")
    cli.ok("issue", "comment", issue, "-b", "Hello")
    assert json.loads(process.stdout.readline())["action"] == "comment.create"
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    assert "Traceback" not in process.stderr.read()
    process.stdout.close()
    process.stderr.close()
