"""What every agent program must do through its adapter: the same tests for each."""

from __future__ import annotations

import os
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gitmem.agents.adapter import Event, EventType
from gitmem.agents.registry import version
from gitmem.core.states import Reason
from tests.conformance.conftest import Bench
from tests.support.bell import Bell
from tests.support.modelserver import Cut, Fail, Hang, ModelServer, Say, Shell, Slow, Step
from tests.support.modelserver_wires import CACHED, FRESH, OUTPUT

pytestmark = pytest.mark.conformance

WRITE = Shell(
    "echo hello > out.txt; printf -- '---\\noutcome: done\\n---\\nWritten.\\n' > .gitmem/outbox/result.md"
)


def test_a_turn_with_a_tool_call_writes_files_and_gives_the_final_answer(bench: Bench) -> None:
    with ModelServer(WRITE, Say("The file is written.")) as server:
        verdict = bench.turn(bench.job(server.url))
        assert len(server.turns) == 2
    assert (verdict.reason, verdict.text) == (None, "The file is written."), verdict
    assert verdict.session_id
    assert verdict.tool_ran
    assert verdict.exit == 0
    assert (bench.work / "out.txt").read_text() == "hello\n"
    assert "Written." in (bench.outbox / "result.md").read_text()
    kinds = [event.type for event in bench.events]
    assert kinds[0] is EventType.START
    assert kinds[-1] is EventType.RESULT
    assert kinds.count(EventType.TOOL_START) == kinds.count(EventType.TOOL_END) == 1


def test_usage_is_input_without_cached_whatever_the_protocol_counts(bench: Bench) -> None:
    with ModelServer(Shell("true"), Say("done")) as server:
        usage = bench.turn(bench.job(server.url)).usage
    assert (usage.input, usage.cached, usage.output) == (2 * FRESH, 2 * CACHED, 2 * OUTPUT)


def test_narration_before_a_tool_is_not_the_answer(bench: Bench) -> None:
    with ModelServer(Shell("true"), Say("The answer.")) as server:
        assert bench.turn(bench.job(server.url)).text == "The answer."


def test_the_brief_and_the_prompt_reach_the_model(bench: Bench) -> None:
    (bench.work / bench.adapter.briefs[0]).write_text("The codeword of this project is heliotrope.\n")
    with ModelServer(Say("done")) as server:
        bench.turn(bench.job(server.url, "Mind the § gap."))
        asked = server.turns[0].text
    assert "heliotrope" in asked
    assert "Mind the § gap." in asked


def test_skills_reach_the_model(bench: Bench) -> None:
    for folder in bench.adapter.skill_folders:
        skill = bench.work / folder / "polish-brass"
        skill.mkdir(parents=True)
        skill.joinpath("SKILL.md").write_text(
            "---\nname: polish-brass\ndescription: Use when the door handles look dull.\n---\nRub.\n"
        )
    with ModelServer(Say("done")) as server:
        bench.turn(bench.job(server.url))
        assert "door handles look dull" in server.turns[0].text


def test_every_brief_that_the_adapter_names_is_read(bench: Bench) -> None:
    for brief in bench.adapter.briefs:
        (bench.work / brief).write_text(f"This is the codeword of {brief}.\n")
    with ModelServer(Say("done")) as server:
        bench.turn(bench.job(server.url))
        asked = server.turns[0].text
    assert [b for b in bench.adapter.briefs if f"codeword of {b}" not in asked] == []


def test_a_resumed_session_carries_the_earlier_turn_and_counts_only_its_own_tokens(bench: Bench) -> None:
    with ModelServer(Say("The first answer.")) as server:
        first = bench.turn(bench.job(server.url, "The first question."))
        server.play(Say("The second answer."))
        job = bench.job(server.url, "The second question.", session_id=first.session_id)
        second = bench.turn(job)
        asked = server.turns[-1].text
    assert (second.reason, second.text) == (None, "The second answer."), second
    assert "The first question." in asked
    assert "The first answer." in asked
    assert (second.usage.input, second.usage.cached, second.usage.output) == (FRESH, CACHED, OUTPUT)
    assert second.session_id == first.session_id


def test_a_lost_session_is_told_and_nothing_has_run(bench: Bench) -> None:
    with ModelServer(Say("never asked")) as server:
        job = bench.job(server.url, session_id="0199ffff-0000-7000-8000-00000000abcd")
        verdict = bench.turn(job)
        assert server.turns == []
    assert verdict.reason is Reason.NO_TERMINAL_EVENT
    assert verdict.resume_rejected
    assert not verdict.tool_ran


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (Fail(401), Reason.AUTH),
        (Fail(429, "Rate limit reached for requests"), Reason.RATE_LIMITED),
        (Fail(500), Reason.PROVIDER_ERROR),
        (Fail(529), Reason.PROVIDER_ERROR),
        (Fail(400, "prompt is too long: 300000 tokens > 200000 maximum"), Reason.CONTEXT_OVERFLOW),
        (Cut(Say("These words never arrive whole.")), Reason.NETWORK),
    ],
    ids=["401", "429", "500", "529", "too-long", "cut"],
)
def test_a_failure_of_the_model_has_its_reason_and_no_answer(
    bench: Bench, step: Step, reason: Reason
) -> None:
    with ModelServer(step) as server:
        verdict = bench.turn(bench.job(server.url))
    assert verdict.reason is reason, verdict
    assert verdict.text == ""
    assert verdict.detail
    assert not verdict.tool_ran


def test_a_failure_after_a_tool_says_that_a_tool_ran(bench: Bench) -> None:
    with ModelServer(WRITE, Fail(500)) as server:
        verdict = bench.turn(bench.job(server.url))
    assert verdict.reason is Reason.PROVIDER_ERROR
    assert verdict.tool_ran
    assert verdict.session_id


def test_a_refused_connection_ends_as_network_trouble(bench: Bench, closed_port: str) -> None:
    verdict = bench.turn(bench.job(closed_port, idle_timeout_s=bench.program.refused_s))
    assert verdict.reason is Reason.NETWORK, verdict


def test_a_model_that_never_answers_ends_at_the_idle_limit(bench: Bench) -> None:
    with ModelServer(Hang()) as server:
        verdict = bench.turn(bench.job(server.url, idle_timeout_s=3))
        assert server.hanging.is_set()
    assert verdict.reason is Reason.TIMEOUT_IDLE, verdict
    assert _left_of(bench) == []


def test_a_slow_answer_is_an_answer(bench: Bench) -> None:
    with ModelServer(Slow(Say("It took a while."), pause_s=0.2)) as server:
        assert bench.turn(bench.job(server.url)).text == "It took a while."


def test_a_program_that_is_killed_has_not_succeeded(bench: Bench) -> None:
    with ModelServer(Hang()) as server, ThreadPoolExecutor(1) as pool:
        turn = pool.submit(bench.turn, bench.job(server.url))
        assert server.hanging.wait(60)
        for folder in Path("/proc").iterdir():
            if _works_in(folder, bench.work):
                with suppress(ProcessLookupError):
                    os.kill(int(folder.name), signal.SIGKILL)
        verdict = turn.result(60)
    assert verdict.reason is Reason.NO_TERMINAL_EVENT, verdict
    assert verdict.text == ""


def test_a_tool_that_prints_a_line_of_40_mb_does_no_harm(bench: Bench) -> None:
    with ModelServer(Shell("head -c 40000000 /dev/zero | tr '\\0' x"), Say("It was long.")) as server:
        verdict = bench.turn(bench.job(server.url))
    assert (verdict.reason, verdict.text) == (None, "It was long."), verdict


def test_a_tool_that_prints_no_utf_8_does_no_harm(bench: Bench) -> None:
    with ModelServer(Shell(r"printf 'a\377\376b\n'"), Say("It was odd.")) as server:
        verdict = bench.turn(bench.job(server.url))
    assert (verdict.reason, verdict.text) == (None, "It was odd."), verdict


def test_cancelling_while_the_model_hangs_stops_everything(bench: Bench) -> None:
    with ModelServer(Hang()) as server, ThreadPoolExecutor(1) as pool:
        cancel = threading.Event()
        turn = pool.submit(bench.turn, bench.job(server.url), cancel)
        assert server.hanging.wait(60)
        cancel.set()
        verdict = turn.result(60)
    assert verdict.reason is Reason.CANCELLED
    assert verdict.session_id or bench.program.tells_at_end
    assert _left_of(bench) == []


def test_cancelling_while_a_tool_runs_leaves_no_process(bench: Bench) -> None:
    """The tool forks, starts a session of its own, and takes no TERM."""
    running = Bell(bench.work / "running")
    tool = Shell("sh -c \"trap '' TERM; sleep 600 & setsid sleep 601 & echo started > running; sleep 602\"")
    with closing(running), ModelServer(tool, Say("done")) as server, ThreadPoolExecutor(1) as pool:
        cancel, told = threading.Event(), threading.Event()

        def watch(event: Event) -> None:
            if event.type is EventType.TOOL_START:
                told.set()

        turn = pool.submit(bench.turn, bench.job(server.url), cancel, watch)
        assert running.wait() == "started"
        # Some tell it after the tool has begun, one only when it has ended.
        assert bench.program.tells_tools_late or bench.program.tells_at_end or told.wait(60)
        assert len(_left_of(bench)) >= 3
        cancel.set()
        verdict = turn.result(60)
    assert verdict.reason is Reason.CANCELLED
    assert verdict.tool_ran or bench.program.tells_at_end
    assert _left_of(bench) == []


def test_a_program_that_is_not_there_is_not_installed(bench: Bench) -> None:
    bench.path = "/nonexistent"
    verdict = bench.turn(bench.job("http://127.0.0.1:9"))
    assert verdict.reason is Reason.NOT_INSTALLED
    assert verdict.exit is None


def test_a_flag_that_it_does_not_know_is_bad_configuration(bench: Bench) -> None:
    command = (bench.adapter.executable, "--no-such-flag")
    verdict = bench.turn(bench.job("http://127.0.0.1:9", command=command))
    assert verdict.reason is Reason.BAD_CONFIG, verdict


def test_a_prompt_of_200_kb_arrives_whole(bench: Bench) -> None:
    prompt = f"BEGIN-OF-PROMPT {'lorem ipsum ' * 17_000} END-OF-PROMPT"
    with ModelServer(Say("read")) as server:
        verdict = bench.turn(bench.job(server.url, prompt))
        asked = server.turns[0].text
    assert verdict.reason is None, verdict
    if bench.adapter.prompt_on_stdin:
        assert prompt in asked
    else:
        assert "Your task is in the file .gitmem/PROMPT.md" in asked
        assert (bench.work / ".gitmem" / "PROMPT.md").read_text() == prompt


def test_the_model_that_is_asked_for_is_the_one_of_the_job(bench: Bench) -> None:
    with ModelServer(Say("done")) as server:
        bench.turn(bench.job(server.url, model=bench.program.model))
        assert server.turns[0].body["model"] == "scripted-model-7"


def test_its_version_is_read(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", bench.path)
    assert version(bench.adapter) == bench.program.version


def test_nothing_is_written_to_the_home_of_the_user(bench: Bench) -> None:
    with ModelServer(Say("done")) as server:
        bench.turn(bench.job(server.url))
    assert not (bench.folder / "no-home").exists()


def _left_of(bench: Bench) -> list[str]:
    """Processes whose working directory is the run's: all that it started."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if _works_in(folder, bench.work):
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                found += [] if state == "Z" else [(folder / "cmdline").read_text()]
        except OSError:
            continue
    return found


def _works_in(process: Path, work: Path) -> bool:
    try:
        return process.name.isdigit() and (process / "cwd").readlink() == work
    except OSError:
        return False
