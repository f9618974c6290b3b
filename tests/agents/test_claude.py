from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from gitmem.agents.adapter import Event, EventType, Job, Usage
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from tests.agents.replay import read, replay


def events(job: Job, *records: dict[str, Any]) -> list[Event]:
    return read("claude", [json.dumps(record) for record in records], job)


def result(**fields: Any) -> dict[str, Any]:
    return {"type": "result", "subtype": "success", "is_error": False, "result": "Done.", **fields}


def test_the_command_line(job: Job) -> None:
    plain = ["-p", "--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"]
    arguments = adapter_named("claude").arguments
    assert arguments(job) == plain
    job = replace(job, model="opus", session_id="s-1")
    assert arguments(job) == [*plain, "--model", "opus", "--resume", "s-1"]


def test_a_recorded_turn(job: Job) -> None:
    verdict = replay("claude-done", job, 0)
    assert verdict.reason is None
    assert verdict.text.startswith("FAKE-FINAL: wrote ")
    assert verdict.session_id == "15017516-db92-40c2-a15e-e3948fab526e"
    assert verdict.usage == Usage(2222, 666, 44, 0, 0.0099012)
    assert verdict.tool_ran


def test_a_recorded_resumed_turn_counts_only_itself(job: Job) -> None:
    """`modelUsage` and `total_cost_usd` of this stream are those of the whole session."""
    usage = replay("claude-resumed", replace(job, session_id="s"), 0).usage
    assert usage == Usage(2222, 666, 44, 0, 0.0099012)


@pytest.mark.parametrize(
    ("name", "exit_code", "reason"),
    [
        ("claude-401", 1, Reason.AUTH),
        ("claude-429", 1, Reason.RATE_LIMITED),
        ("claude-500", 1, Reason.PROVIDER_ERROR),
        ("claude-refused", 1, Reason.NETWORK),
        ("claude-interrupted", 0, Reason.NO_TERMINAL_EVENT),
        ("claude-terminated", 143, Reason.NO_TERMINAL_EVENT),
    ],
)
def test_recorded_failures(job: Job, name: str, exit_code: int, reason: Reason) -> None:
    verdict = replay(name, job, exit_code)
    assert (verdict.reason, verdict.text) == (reason, "")
    assert verdict.session_id


def test_success_in_name_only_is_a_failure(job: Job) -> None:
    [event] = events(
        job, result(is_error=True, terminal_reason="prompt_too_long", result="Prompt is too long")
    )
    assert event.reason is Reason.CONTEXT_OVERFLOW


@pytest.mark.parametrize("subtype", ["error_max_turns", "error_during_execution", None])
def test_any_other_subtype_is_a_failure(job: Job, subtype: str | None) -> None:
    [event] = events(job, result(subtype=subtype, errors=["something broke"]))
    assert event.reason is Reason.AGENT_FAILED


def test_a_spent_quota_tells_when_to_come_back(job: Job) -> None:
    limit = {"status": "rejected", "resetsAt": 1778565600, "rateLimitType": "five_hour"}
    trouble, end = events(
        job,
        {"type": "rate_limit_event", "rate_limit_info": limit},
        result(is_error=True, api_error_status=429, result="You've reached it · resets 2pm"),
    )
    assert (trouble.type, trouble.reason) == (EventType.ERROR, Reason.QUOTA)
    assert trouble.retry_at == "2026-05-12T06:00:00Z"
    assert end.reason is Reason.QUOTA


@pytest.mark.parametrize("status", ["allowed", "allowed_warning"])
def test_news_of_the_quota_is_no_trouble(job: Job, status: str) -> None:
    info = {"status": status, "resetsAt": 1778565600, "overageStatus": "rejected"}
    [event] = events(job, {"type": "rate_limit_event", "rate_limit_info": info})
    assert (event.type, event.retry_at) == (EventType.OTHER, None)


@pytest.mark.parametrize("words", ["(no content)", "No response requested."])
def test_a_placeholder_is_no_answer(job: Job, words: str) -> None:
    message = {"type": "assistant", "message": {"content": [{"type": "text", "text": words}]}}
    got = events(job, message, result(result=words))
    assert [(event.type, event.text) for event in got if event.type is not EventType.THINKING] == [
        (EventType.RESULT, "")
    ]


def test_words_of_the_program_itself_are_no_message(job: Job) -> None:
    content = [{"type": "text", "text": "API Error: 500"}]
    [event] = events(job, {"type": "assistant", "message": {"model": "<synthetic>", "content": content}})
    assert event.type is EventType.OTHER


def test_words_of_a_sub_agent_are_no_message(job: Job) -> None:
    message = {"content": [{"type": "text", "text": "I looked."}]}
    [event] = events(job, {"type": "assistant", "message": message, "parent_tool_use_id": "toolu_1"})
    assert event.type is EventType.THINKING


def test_usage_of_a_message_in_several_lines_counts_once(job: Job) -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 4, "cache_read_input_tokens": 3}
    line = {"id": "m1", "usage": usage, "content": [{"type": "text", "text": "a"}]}
    got = events(job, *({"type": "assistant", "message": line} for _ in range(3)))
    assert [event.usage for event in got] == [Usage(input=14, cached=3), None, None]


def test_usage_of_several_models_and_results_is_added_up(job: Job) -> None:
    model = {"inputTokens": 5, "outputTokens": 2, "cacheReadInputTokens": 1, "costUSD": 0.5}
    end = result(model_usage_since_last_result={"big": model, "small": model})
    first, second = events(job, end, end)
    assert first.usage == Usage(10, 2, 4, None, 1.0)
    assert second.usage == Usage(20, 4, 8, None, 2.0)


def test_without_usage_per_model_that_of_the_result_counts(job: Job) -> None:
    usage = {"input_tokens": 7, "cache_read_input_tokens": 2, "output_tokens": 1}
    [event] = events(job, result(usage=usage, total_cost_usd=0.25))
    assert event.usage == Usage(7, 2, 1, None, 0.25)
    [event] = events(replace(job, session_id="s"), result(usage=usage, total_cost_usd=0.25))
    assert event.usage == Usage(7, 2, 1, None, None)  # the cost is that of all turns


def test_a_lost_session_is_rejected_and_can_be_tried_afresh(job: Job) -> None:
    words = "No conversation found with session ID: x"
    [event] = events(
        job, result(subtype="error_during_execution", is_error=True, result=None, errors=[words])
    )
    assert (event.reason, event.resume_rejected) == (Reason.NO_TERMINAL_EVENT, True)


def test_an_answer_about_lost_sessions_is_an_answer(job: Job) -> None:
    [event] = events(job, result(result="I fixed the message 'No conversation found'."))
    assert (event.reason, event.resume_rejected) == (None, False)
