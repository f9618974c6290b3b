"""One turn, driven: what is success, what each limit does, and that nothing is left behind."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from gitmem.agents.adapter import Event, EventType, Job
from gitmem.agents.drive import Pace
from gitmem.core.states import Reason
from tests.agents.conftest import Drive, events_of, scripted
from tests.support.bell import Bell

DONE = "say('result', text='The answer.', exit=0)"


def processes_in(work: Path) -> list[str]:
    """Living processes whose working directory is `work`."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and (folder / "cwd").readlink() == work:
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                found += [] if state == "Z" else [folder.name]
        except OSError:
            continue
    return found


def test_a_positive_terminal_event_is_success(job: Job, turn: Drive) -> None:
    verdict = turn(scripted(DONE), job)
    assert (verdict.reason, verdict.text, verdict.exit) == (None, "The answer.", 0)


def test_exit_0_without_a_terminal_event_is_no_success(job: Job, turn: Drive) -> None:
    verdict = turn(scripted("say('start'); say('message', text='All done!')"), job)
    assert verdict.reason is Reason.NO_TERMINAL_EVENT
    assert verdict.text == ""
    assert "exited 0 without saying how the turn ended" in verdict.detail


def test_a_failed_terminal_event_is_a_failure_whatever_the_exit_code(job: Job, turn: Drive) -> None:
    verdict = turn(scripted("say('message', text='Narration'); say('result', text='It broke.', exit=1)"), job)
    assert (verdict.reason, verdict.exit) == (Reason.AGENT_FAILED, 0)
    assert (verdict.text, verdict.detail) == ("", "It broke.")


def test_what_stderr_says_explains_an_end_without_result(job: Job, turn: Drive) -> None:
    verdict = turn(
        scripted("sys.stderr.write('Error: connect ECONNREFUSED 127.0.0.1:9\\n'); sys.exit(1)"), job
    )
    assert verdict.reason is Reason.NETWORK
    assert "ECONNREFUSED" in verdict.detail


def test_a_failing_exit_after_the_result_does_not_undo_the_work(job: Job, turn: Drive) -> None:
    verdict = turn(scripted(DONE + "; sys.exit(9)"), job)
    assert (verdict.reason, verdict.exit) == (None, 9)
    assert verdict.detail == "exited 9 after its result"


def test_the_prompt_arrives_on_stdin_whole(job: Job, turn: Drive) -> None:
    job = replace(job, prompt="ä" * 500_000)
    verdict = turn(scripted("say('result', text=str(len(sys.stdin.read())), exit=0)"), job)
    assert verdict.text == "500000"


def test_a_program_that_never_exits_after_its_result_is_stopped_and_has_succeeded(
    job: Job, turn: Drive
) -> None:
    verdict = turn(scripted(DONE + "; subprocess.Popen(['sleep', '600']); time.sleep(600)"), job)
    assert (verdict.reason, verdict.text) == (None, "The answer.")
    assert verdict.detail == "stopped: it did not exit after its result"
    assert processes_in(job.work) == []


def test_a_tool_after_the_result_withdraws_it(job: Job, turn: Drive) -> None:
    verdict = turn(scripted(DONE + "; say('tool_start', tool='sh', call='1'); sys.exit(0)"), job)
    assert verdict.reason is Reason.NO_TERMINAL_EVENT
    assert verdict.tool_ran


def test_silence_from_the_start_ends_at_the_start_limit(job: Job, turn: Drive) -> None:
    verdict = turn(scripted("time.sleep(600)"), replace(job, start_timeout_s=0.5))
    assert verdict.reason is Reason.TIMEOUT_START
    assert verdict.detail == "no output for 0.5 s"
    assert processes_in(job.work) == []


def test_silence_after_an_event_ends_at_the_idle_limit(job: Job, turn: Drive) -> None:
    verdict = turn(scripted("say('start'); time.sleep(600)"), replace(job, idle_timeout_s=0.5))
    assert verdict.reason is Reason.TIMEOUT_IDLE
    assert processes_in(job.work) == []


def test_a_tool_in_flight_is_not_idle_but_has_a_limit_of_its_own(job: Job, turn: Drive) -> None:
    source = "say('tool_start', tool='sh', call='1'); time.sleep(0.6); say('tool_end', call='1');" + DONE
    assert turn(scripted(source), replace(job, idle_timeout_s=0.3)).reason is None
    source = "say('tool_start', tool='sh', call='1'); time.sleep(600)"
    verdict = turn(scripted(source), replace(job, idle_timeout_s=0.1, tool_timeout_s=0.5))
    assert verdict.reason is Reason.TIMEOUT_IDLE
    assert verdict.detail == "no progress for 0.5 s while a tool ran"
    assert verdict.tool_ran


def test_a_busy_program_ends_at_the_wall_limit(job: Job, turn: Drive) -> None:
    source = "say('start')\nwhile True:\n  say('other'); time.sleep(0.01)"
    verdict = turn(scripted(source), replace(job, timeout_s=0.7))
    assert verdict.reason is Reason.TIMEOUT_WALL
    assert processes_in(job.work) == []


def test_a_flood_of_events_cannot_outrun_the_wall_limit(job: Job, turn: Drive) -> None:
    source = "line = json.dumps({'type': 'other'}) + '\\n'\nwhile True: sys.stdout.write(line * 1000)"
    assert turn(scripted(source), replace(job, timeout_s=0.7)).reason is Reason.TIMEOUT_WALL


def test_reports_of_trouble_are_no_progress_and_name_the_reason(job: Job, turn: Drive) -> None:
    """A program that retries for ever would otherwise live until the wall limit."""
    source = "say('start')\nwhile True:\n  say('error', text='waiting for network'); time.sleep(0.05)"
    adapter = scripted(source)
    verdict = turn(adapter, replace(job, idle_timeout_s=0.6))
    assert verdict.reason is Reason.TIMEOUT_IDLE
    assert "waiting for network" in verdict.detail


def test_cancelling_stops_the_program_and_all_its_children(job: Job, turn: Drive, bell: Bell) -> None:
    source = f"""say('start')
subprocess.Popen(['sleep', '600'], start_new_session=True)
open({str(bell.path)!r}, 'w').write('up'); time.sleep(600)"""
    cancel = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(turn, scripted(source), job, cancel)
        bell.wait()
        assert len(processes_in(job.work)) == 2
        cancel.set()
        verdict = ended.result(60)
    assert (verdict.reason, verdict.detail) == (Reason.CANCELLED, "cancelled")
    assert processes_in(job.work) == []


def test_a_result_printed_before_the_cancellation_stands(job: Job, turn: Drive) -> None:
    cancel = threading.Event()

    def cancel_at_once(_event: Event) -> None:
        cancel.set()

    verdict = turn(scripted(DONE + "; time.sleep(600)"), job, cancel, cancel_at_once)
    assert (verdict.reason, verdict.text) == (None, "The answer.")


def test_a_result_printed_because_we_stop_the_program_does_not_count(job: Job, turn: Drive) -> None:
    source = (
        "signal.signal(signal.SIGTERM, lambda *_: (say('result', text='Fine!', exit=0), sys.exit(0)))\n"
        "say('start'); time.sleep(600)"
    )
    verdict = turn(scripted(source), replace(job, idle_timeout_s=0.3), pace=Pace(stop_grace_s=30))
    assert (verdict.reason, verdict.text, verdict.exit) == (Reason.TIMEOUT_IDLE, "", 0)


def test_a_daemon_left_by_a_finished_program_is_stopped(job: Job, turn: Drive) -> None:
    source = "subprocess.Popen(['sleep', '600'], start_new_session=True);" + DONE
    assert turn(scripted(source), job).reason is None
    assert processes_in(job.work) == []


# Nothing but its descent tells whose it is: its parent, its session, its variables are gone.
HIDDEN = "subprocess.call(['sh', '-c', '(setsid env -i sleep 272 >/dev/null 2>&1 &)']);"


def test_a_daemon_with_a_cleaned_environment_in_its_own_session_is_stopped(job: Job, turn: Drive) -> None:
    for _ in range(3):
        assert turn(scripted(HIDDEN + DONE), job).reason is None
        assert processes_in(job.work) == []


def test_of_two_turns_at_once_each_stops_its_own_hidden_daemons(
    job: Job, turn: Drive, bell: Bell, tmp_path: Path
) -> None:
    other = replace(job, work=tmp_path / "other", run_dir=tmp_path / "run")
    for folder in (other.work, other.run_dir):
        folder.mkdir()
    cancel = threading.Event()
    stays = f"{HIDDEN}open({str(bell.path)!r}, 'w').write('up'); time.sleep(600)"
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(turn, scripted(stays), other, cancel)
        bell.wait()
        left = processes_in(other.work)
        assert turn(scripted(HIDDEN + DONE), job).reason is None
        assert processes_in(job.work) == []
        assert len(left) == 2
        assert processes_in(other.work) == left
        cancel.set()
        assert ended.result(60).reason is Reason.CANCELLED
    assert processes_in(other.work) == []


def test_when_the_listener_fails_the_program_is_stopped(job: Job, turn: Drive) -> None:
    def fail(_event: Event) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        turn(scripted("say('start'); time.sleep(600)"), job, on_event=fail)
    assert processes_in(job.work) == []


def test_events_and_both_outputs_are_kept_in_the_run_directory(job: Job, turn: Drive) -> None:
    heard: list[Event] = []
    source = "say('start'); print('noise'); sys.stderr.write('complaint\\n');" + DONE
    turn(scripted(source), job, on_event=heard.append)
    kept = events_of(job)
    assert [event["type"] for event in kept] == ["start", "other", "result"]
    assert [event.type for event in heard] == [EventType.START, EventType.OTHER, EventType.RESULT]
    assert kept[1]["text"] == "noise"
    assert "noise\n" in (job.run_dir / "stdout.log").read_text()
    assert (job.run_dir / "stderr.log").read_text() == "complaint\n"


def test_a_long_text_is_cut_in_the_kept_events_and_whole_in_the_verdict(job: Job, turn: Drive) -> None:
    verdict = turn(scripted("say('message', text='x' * 5_000_000); say('result', exit=0)"), job)
    assert len(verdict.text) == 5_000_000
    assert len(str(events_of(job)[0]["text"])) < 20_000


def test_a_flood_of_events_is_bounded_on_disk_and_stays_json_lines(job: Job, turn: Drive) -> None:
    source = f"for n in range(1500): say('other', text='x' * 16_000)\n{DONE}"
    assert turn(scripted(source), job).reason is None
    assert (job.run_dir / "events.jsonl").stat().st_size <= 17 * 1024 * 1024
    kept = events_of(job)
    assert [event for event in kept if event["type"] == "cut"]
    assert kept[-1]["type"] == "result"


def test_a_program_that_is_not_installed_is_told_by_name(job: Job, turn: Drive) -> None:
    verdict = turn(scripted("", executable="no-such-agent"), job)
    assert (verdict.reason, verdict.exit) == (Reason.NOT_INSTALLED, None)
    assert verdict.detail == "no program 'no-such-agent' on PATH"


def test_a_file_that_no_system_can_run_is_bad_configuration(job: Job, turn: Drive, tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(b"\x00\x01\x02")
    odd.chmod(0o755)
    verdict = turn(scripted(""), replace(job, command=(str(odd),)))
    assert verdict.reason is Reason.BAD_CONFIG


def test_command_replaces_the_executable_and_adds_leading_arguments(job: Job, turn: Drive) -> None:
    job = replace(job, command=("sh", "-c", 'printf \'{"type": "result", "exit": 0, "text": "%s"}\' "$0 $#"'))
    assert turn(scripted("ignored"), job).text == "-c 1"


@pytest.mark.parametrize("session", ["--dangerous", "a b", "../x", ""])
def test_a_session_id_that_could_be_a_flag_starts_nothing(job: Job, turn: Drive, session: str) -> None:
    verdict = turn(scripted(DONE), replace(job, session_id=session))
    assert verdict.reason is Reason.NO_TERMINAL_EVENT
    assert verdict.resume_rejected
    assert not (job.run_dir / "events.jsonl").exists()


def test_a_model_that_could_be_a_flag_starts_nothing(job: Job, turn: Drive) -> None:
    assert turn(scripted(DONE), replace(job, model="--yolo")).reason is Reason.BAD_CONFIG


def test_an_isolated_home_is_made_with_the_programs_own_folders(
    job: Job, turn: Drive, tmp_path: Path
) -> None:
    source = "say('result', text=os.environ['HOME'] + ' ' + os.environ['TOOL_HOME'], exit=0)"
    home = tmp_path / "home"
    verdict = turn(scripted(source, home_variables={"TOOL_HOME": ".tool"}), replace(job, home=home))
    assert verdict.text == f"{home} {home}/.tool"
    assert (home / ".tool").is_dir()
