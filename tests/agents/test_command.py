from __future__ import annotations

from dataclasses import replace

import pytest

from gitmem.agents.adapter import Event, EventType, Job
from gitmem.agents.registry import adapter_named
from gitmem.core.states import RETRYABLE, Reason
from tests.agents.conftest import Drive

COMMAND = adapter_named("command")


def sh(job: Job, script: str) -> Job:
    return replace(job, command=("sh", "-c", script))


def test_exit_0_is_success_and_the_answer_is_what_was_printed(job: Job, turn: Drive) -> None:
    verdict = turn(COMMAND, sh(job, "cat; echo; echo two; echo noise >&2"))
    assert (verdict.reason, verdict.text) == (None, "The prompt.\ntwo")


def test_it_runs_in_the_work_directory_and_is_told_where_the_outbox_is(job: Job, turn: Drive) -> None:
    job = replace(job, env={"GITMEM_TASK": "t1", "GITMEM_ISSUE": "i1", "GITMEM_RUN": "r1"})
    verdict = turn(
        COMMAND, sh(job, 'echo "$GITMEM_TASK $GITMEM_ISSUE $GITMEM_RUN"; pwd; echo "$GITMEM_OUTBOX"')
    )
    assert verdict.text.splitlines() == ["t1 i1 r1", str(job.work), str(job.work / ".gitmem/outbox")]


def test_another_exit_code_is_a_failure_with_its_complaints(job: Job, turn: Drive) -> None:
    verdict = turn(COMMAND, sh(job, "echo half; echo 'disk on fire' >&2; exit 3"))
    assert (verdict.reason, verdict.exit, verdict.text) == (Reason.AGENT_FAILED, 3, "")
    assert verdict.detail == "exited 3\ndisk on fire"


def test_exit_75_asks_to_be_tried_again(job: Job, turn: Drive) -> None:
    verdict = turn(COMMAND, sh(job, "exit 75"))
    assert verdict.reason is Reason.PROVIDER_ERROR
    assert verdict.reason in RETRYABLE


def test_a_death_by_signal_is_a_failure(job: Job, turn: Drive) -> None:
    verdict = turn(COMMAND, sh(job, "kill -9 $$"))
    assert (verdict.reason, verdict.detail) == (Reason.AGENT_FAILED, "died of signal 9")


def test_the_answer_is_the_bounded_end(job: Job, turn: Drive) -> None:
    text = turn(COMMAND, sh(job, "seq 1 30000")).text
    assert text.endswith("\n29999\n30000")
    assert len(text) <= 64 * 1024


def test_a_silent_program_is_under_the_idle_limit_not_the_start_limit(job: Job, turn: Drive) -> None:
    job = replace(sh(job, "sleep 0.6; echo done"), start_timeout_s=0.2)
    assert turn(COMMAND, job).text == "done"
    verdict = turn(COMMAND, replace(sh(job, "sleep 600"), idle_timeout_s=0.3))
    assert verdict.reason is Reason.TIMEOUT_IDLE


def test_complaints_are_signs_of_life(job: Job, turn: Drive) -> None:
    script = "for n in 1 2 3 4 5 6; do sleep 0.2; echo $n >&2; done; echo done"
    assert turn(COMMAND, replace(sh(job, script), idle_timeout_s=0.8)).text == "done"


@pytest.mark.parametrize("command", [(), ("no-such-program",)])
def test_without_a_program_it_is_not_installed(job: Job, turn: Drive, command: tuple[str, ...]) -> None:
    assert turn(COMMAND, replace(job, command=command)).reason is Reason.NOT_INSTALLED


def test_a_flood_of_lines_is_no_flood_of_events(job: Job, turn: Drive) -> None:
    heard: list[Event] = []
    script = "yes floodline | head -c 10000000; yes complaint | head -c 10000000 >&2; echo the end"
    verdict = turn(COMMAND, sh(job, script), on_event=heard.append)
    assert verdict.text.endswith("\nfloodline\nthe end")
    assert len(verdict.text) <= 64 * 1024
    assert len(heard) < 2000  # of two million lines; a read gives at most what a pipe holds
    assert max(len(event.text) for event in heard if event.type is EventType.OTHER) <= 8 * 1024


def test_lines_that_come_together_are_one_event_with_all_they_say(job: Job, turn: Drive) -> None:
    heard: list[Event] = []
    turn(COMMAND, sh(job, r"printf 'one\n\ntwo\n'"), on_event=heard.append)
    assert heard[0].text == "one\ntwo"
