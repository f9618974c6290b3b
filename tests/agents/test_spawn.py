"""The spawner with real processes: streams of every kind, and ends that leave nothing."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitmem.agents import processes, subreaper
from gitmem.agents.adapter import Source
from gitmem.agents.boundedlog import BoundedLog
from gitmem.agents.spawn import Exited, Lines, Process, run
from tests.support.bell import Bell

ENV = {"PATH": os.environ["PATH"]}


def shell(script: str, folder: Path, **settings: object) -> Process:
    return Process(["/bin/sh", "-c", script], cwd=folder, env=ENV, **settings)  # type: ignore[arg-type]


def python(source: str, folder: Path, **settings: object) -> Process:
    return Process([sys.executable, "-c", source], cwd=folder, env=ENV, **settings)  # type: ignore[arg-type]


def all_lines(process: Process) -> Iterator[Lines]:
    output = process.next(60)
    while not isinstance(output, Exited):
        assert output is not None, "the process said nothing for a minute"
        if isinstance(output, Lines):
            yield output
        output = process.next(60)
    yield from process.rest()


def stdout_of(process: Process) -> list[str]:
    with process:
        return [line for out in all_lines(process) if out.source is Source.STDOUT for line in out.lines]


def test_there_is_no_shell_between(tmp_path: Path) -> None:
    process = Process(["/bin/echo", "$HOME; `id` | x"], cwd=tmp_path, env=ENV)
    assert stdout_of(process) == ["$HOME; `id` | x"]


def test_it_sees_only_the_environment_it_is_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_OF_OURS", "x")
    names = {line.partition("=")[0] for line in stdout_of(shell("/usr/bin/env", tmp_path))}
    assert names - {"PATH", "PWD", "SHLVL", "_", "OLDPWD"} == {"GITMEM_SPAWN"}


def test_stdin_may_stay_open_for_a_conversation_until_it_is_closed(tmp_path: Path) -> None:
    with python(
        "for line in open(0): print('heard', line, end='', flush=True)", tmp_path, stdin=None
    ) as process:
        process.send(b"one\n")
        assert process.next(60) == Lines(Source.STDOUT, ("heard one",))
        process.send(b"two\n")
        process.close()
        assert [line for out in all_lines(process) for line in out.lines] == ["heard two"]
        assert process.exit_code == 0


def test_a_conversation_that_is_left_open_ends_with_the_process(tmp_path: Path) -> None:
    with shell("exec sleep 600", tmp_path, stdin=None) as process:
        process.send(b"x" * 1_000_000)
    assert process.family() == []


def test_both_outputs_and_the_exit_code_arrive(tmp_path: Path) -> None:
    with shell("echo out; echo err >&2; exit 7", tmp_path) as process:
        got = {(out.source, line) for out in all_lines(process) for line in out.lines}
        assert got == {(Source.STDOUT, "out"), (Source.STDERR, "err")}
        assert process.exit_code == 7


def test_a_death_by_signal_is_a_negative_code(tmp_path: Path) -> None:
    with shell("kill -9 $$", tmp_path) as process:
        assert list(all_lines(process)) == []
        assert process.exit_code == -signal.SIGKILL


def test_a_line_of_40_mb_and_a_last_line_without_end_arrive_whole(tmp_path: Path) -> None:
    source = "import sys; sys.stdout.write('x' * 40_000_000 + '\\nlast')"
    assert [len(line) for line in stdout_of(python(source, tmp_path))] == [40_000_000, 4]


def test_bytes_that_are_no_utf_8_do_not_stop_the_stream(tmp_path: Path) -> None:
    assert stdout_of(shell(r"printf 'a\377b\nnext\r\n'", tmp_path)) == ["a\ufffdb", "next"]


def test_a_large_stdin_does_not_block_a_program_that_prints_first(tmp_path: Path) -> None:
    """Both pipes would be full at once, were stdin not written from a thread of its own."""
    source = "import sys; sys.stdout.write('y' * 1_000_000 + '\\n'); print(len(sys.stdin.read()))"
    lines = stdout_of(python(source, tmp_path, stdin=b"x" * 1_000_000))
    assert lines[1] == "1000000"


def test_a_program_that_does_not_read_its_stdin_ends_as_it_likes(tmp_path: Path) -> None:
    assert stdout_of(shell("echo done", tmp_path, stdin=b"x" * 10_000_000)) == ["done"]


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_flood_of_200_mb_fills_neither_memory_nor_disk(tmp_path: Path, stream: str) -> None:
    log = BoundedLog(tmp_path / "log")
    source = f"import sys\nfor _ in range(2000): sys.{stream}.write(('x' * 9_999 + '\\n') * 10)"
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    settings = {f"{stream}_log": log}
    with log, python(source, tmp_path, **settings) as process:
        count = sum(len(out.lines) for out in all_lines(process))
    assert count == 2000 * 10
    assert (tmp_path / "log").stat().st_size <= 16 * 1024 * 1024 + 100
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024 < 150_000_000
    assert b"bytes cut ...]\n" in (tmp_path / "log").read_bytes()


def test_an_endless_line_is_cut_at_the_limit_and_told(tmp_path: Path) -> None:
    source = "import sys; sys.stdout.write('x' * 1_000_000 + '\\nnext\\n')"
    with python(source, tmp_path, line_limit=1000) as process:
        got = list(all_lines(process))
    assert [len(line) for out in got for line in out.lines] == [1000, 4]
    assert sum(out.cut for out in got) == 999_000


ASKED = """
import signal, sys
def bye(*_):
    print("bye", flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, bye)
print("up", file=open(sys.argv[1], "w"), flush=True)
signal.pause()
"""


def test_a_program_is_asked_to_end_before_it_is_killed(tmp_path: Path, bell: Bell) -> None:
    argv = [sys.executable, "-c", ASKED, str(bell.path)]
    with Process(argv, cwd=tmp_path, env=ENV, stop_grace_s=20) as process:
        bell.wait()
        assert process.stop() == []
        assert [line for out in process.rest() for line in out.lines] == ["bye"]
        assert process.exit_code == 3


def test_a_program_that_takes_no_term_is_killed_after_the_grace(tmp_path: Path, bell: Bell) -> None:
    script = f"trap '' TERM; echo up > {bell.path}; while :; do sleep 60; done"
    with shell(script, tmp_path, stop_grace_s=0.1) as process:
        bell.wait()
        assert process.stop() == []
        list(process.rest())
        assert process.exit_code == -signal.SIGKILL


def test_a_stopped_program_is_stopped_for_good(tmp_path: Path, bell: Bell) -> None:
    script = f"echo up > {bell.path}; kill -STOP $$; sleep 60"
    with shell(script, tmp_path, stop_grace_s=20) as process:
        bell.wait()
        assert process.stop() == []
        list(process.rest())
        assert process.exit_code == -signal.SIGTERM


FAMILY = """
import os, subprocess, sys, signal, time
# A child in the session, one in a session of its own, a daemon whose parent is gone, and one
# that has closed every pipe of ours.
subprocess.Popen(["sleep", "600"])
subprocess.Popen(["sleep", "601"], start_new_session=True)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.execvp("sleep", ["sleep", "602"])
    os._exit(0)
os.wait()
subprocess.Popen(["sleep", "603"], start_new_session=True, stdin=subprocess.DEVNULL,
                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("up", file=open(sys.argv[1], "w"))
"""


@pytest.mark.parametrize("end", ["time.sleep(600)", "os._exit(0)"], ids=["running", "ended"])
def test_nothing_of_the_family_is_left(tmp_path: Path, bell: Bell, end: str) -> None:
    argv = [sys.executable, "-c", FAMILY + end, str(bell.path)]
    with Process(argv, cwd=tmp_path, env=ENV, stop_grace_s=0.2) as process:
        bell.wait()
        family = process.family()
        assert len(family) >= 4
        if end == "os._exit(0)":
            list(all_lines(process))
        else:
            assert process.stop() == []
    assert [entry for entry in family if processes.is_alive(entry)] == []
    assert process.exit_code == (0 if "exit" in end else -signal.SIGTERM)


def test_leaving_the_block_on_an_error_stops_the_program(tmp_path: Path, bell: Bell) -> None:
    with (  # noqa: PT012
        pytest.raises(ZeroDivisionError),
        shell(f"echo up > {bell.path}; sleep 600", tmp_path) as process,
    ):
        bell.wait()
        family = process.family()
        raise ZeroDivisionError
    assert [entry for entry in family if processes.is_alive(entry)] == []


def test_a_child_born_during_the_stop_is_stopped_too(tmp_path: Path, bell: Bell) -> None:
    born = "setsid sleep 600 & setsid sleep 601 & exit"
    script = f"trap '{born}' TERM; echo up > {bell.path}; while :; do sleep 0.05; done"
    with shell(script, tmp_path, stop_grace_s=0.5) as process:
        bell.wait()
        assert process.stop() == []
        assert process.family() == []


def test_the_stop_never_reaches_ourselves_nor_our_neighbours(tmp_path: Path, bell: Bell) -> None:
    neighbour = subprocess.Popen(["sleep", "600"], cwd=tmp_path)
    try:
        with shell(f"echo up > {bell.path}; sleep 600", tmp_path) as process:
            bell.wait()
            pids = {entry.pid for entry in process.family()}
            assert pids.isdisjoint({os.getpid(), os.getppid(), neighbour.pid, 1})
            assert os.getpgid(process.pid) != os.getpgid(0)
            process.stop()
        assert neighbour.poll() is None
    finally:
        neighbour.kill()
        neighbour.wait()


def test_a_reused_pid_is_not_signalled() -> None:
    neighbour = subprocess.Popen(["sleep", "600"])
    try:
        now = processes.entry_of(neighbour.pid)
        assert now is not None
        earlier = processes.Entry(now.pid, now.parent, now.session, start="1")
        assert not processes.is_alive(earlier)
        processes.send(earlier, signal.SIGKILL)
        assert processes.stop(lambda: [earlier], grace_s=0) == []
        assert neighbour.poll() is None
        processes.send(now, signal.SIGKILL)
        assert neighbour.wait(60) == -signal.SIGKILL
    finally:
        neighbour.kill()
        neighbour.wait()


def test_without_proc_the_same_processes_are_found(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bell: Bell
) -> None:
    with shell(f"sleep 600 & echo up > {bell.path}; wait", tmp_path) as process:
        bell.wait()
        expected = {entry.pid for entry in process.family()}
        assert len(expected) == 2
        with monkeypatch.context() as patch:
            patch.setattr(processes, "_PROC", tmp_path / "no-proc")
            assert {entry.pid for entry in process.family()} == expected
            assert process.stop() == []
        assert process.family() == []


def test_a_program_that_is_not_there_is_an_oserror(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Process([str(tmp_path / "nothing")], cwd=tmp_path, env=ENV)


def test_where_no_subreaper_can_be_started_the_program_runs_without(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(subreaper, "__file__", str(tmp_path / "nothing"))
    with shell("sleep 600 & echo up; exit 7", tmp_path) as process:
        assert [line for out in all_lines(process) for line in out.lines] == ["up"]
        assert process.exit_code == 7
    assert process.family() == []


def test_run_gives_the_end_of_what_was_printed(tmp_path: Path) -> None:
    done = run(["/bin/sh", "-c", "seq 1000; exit 4"], cwd=tmp_path, env=ENV, timeout_s=60, keep_lines=2)
    assert (done.exit, done.output, done.timed_out) == (4, "999\n1000", False)


def test_run_stops_at_its_time_limit(tmp_path: Path) -> None:
    done = run(["/bin/sh", "-c", "echo up; sleep 600"], cwd=tmp_path, env=ENV, timeout_s=0.3)
    assert (done.exit, done.timed_out) == (None, True)


def test_run_says_why_a_program_did_not_start(tmp_path: Path) -> None:
    done = run([str(tmp_path / "nothing")], cwd=tmp_path, env=ENV, timeout_s=1)
    assert done.exit is None
    assert "No such file" in done.output


def test_run_does_not_wait_for_a_daemon_that_keeps_the_pipe(tmp_path: Path) -> None:
    done = run(["/bin/sh", "-c", "echo up; sleep 600 &"], cwd=tmp_path, env=ENV, timeout_s=60)
    assert (done.exit, done.output) == (0, "up")
