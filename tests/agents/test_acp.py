"""The client's side of the Agent Client Protocol, against an agent of a few lines on the other end."""

from __future__ import annotations

import json
import sys
import threading
from dataclasses import replace

import pytest

from gitmem.agents import registry
from gitmem.agents.acp import ADAPTER
from gitmem.agents.adapter import Adapter, Job, Usage
from gitmem.agents.hermes import ADAPTER as HERMES
from gitmem.core.states import Reason
from tests.agents.conftest import Drive
from tests.support.bell import Bell

AGENT = """
import json, sys

heard = []


def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(name, **fields):
    params = {"sessionId": "s-1", "update": {"sessionUpdate": name, **fields}}
    send(method="session/update", params=params)


def text(words):
    return {"type": "text", "text": words}


def says(words):
    update("agent_message_chunk", content=text(words))


def complains(words):
    print(words, file=sys.stderr, flush=True)


def ask(method, **params):
    send(id="q", method=method, params=params)
    return next(m for m in messages if m.get("id") == "q")


def end(reason="end_turn", **fields):
    send(id=asked["id"], result={"stopReason": reason, **fields})


def refuse(code, message, **fields):
    send(id=asked["id"], error={"code": code, "message": message, **fields})


ANSWERS = {
    "initialize": {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}},
    "session/new": {"sessionId": "s-1"},
    "session/load": {},
}
messages = (json.loads(line) for line in sys.stdin)
turn = compile(sys.argv[1], "turn", "exec")
for asked in messages:
    heard.append(asked)
    if asked["method"] in ON:
        exec(ON[asked["method"]])
    elif asked["method"] == "session/prompt":
        exec(turn)
    else:
        send(id=asked["id"], result=ANSWERS.get(asked["method"]))
"""


@pytest.fixture
def talk(turn: Drive, job: Job) -> Drive:
    """One turn with an agent that does `source` when it is prompted, and `on` for other requests."""

    def talk(source: str, adapter: Adapter = ADAPTER, on: dict[str, str] | None = None, **changes: object):  # type: ignore[no-untyped-def]
        program = f"ON = {on or {}!r}\n{AGENT}"
        command = (sys.executable, "-c", program, source)
        plain = replace(adapter, arguments=lambda _job: [])
        return turn(plain, replace(job, command=command, **changes))  # type: ignore[arg-type]

    return talk


def test_a_turn_is_a_session_a_prompt_and_the_words_after_the_last_tool(talk: Drive, job: Job) -> None:
    verdict = talk("""
says("I will "); says("look first.")
update("tool_call", toolCallId="t1", title="ls", kind="execute", status="pending")
printed = [{"type": "content", "content": text("a b")}]
update("tool_call_update", toolCallId="t1", status="completed", content=printed)
says("Two "); says("files.")
counts = {"inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 30, "thoughtTokens": 5}
end(usage={**counts, "totalTokens": 150})
""")
    assert (verdict.reason, verdict.text, verdict.session_id) == (None, "Two files.", "s-1"), verdict
    assert verdict.tool_ran
    assert verdict.exit == 0
    assert verdict.usage == Usage(input=100, cached=30, output=20, reasoning=5)
    kinds = [json.loads(line)["type"] for line in (job.run_dir / "events.jsonl").read_text().splitlines()]
    assert [kind for kind in kinds if kind != "other"] == [
        "start", "message", "tool_start", "tool_end", "message", "result",
    ]  # fmt: skip


def test_input_that_the_total_shows_to_contain_the_cached_is_counted_without(talk: Drive) -> None:
    counted = {"inputTokens": 100, "outputTokens": 20, "cachedReadTokens": 30, "totalTokens": 120}
    assert talk(f"says('x'); end(usage={counted})").usage == Usage(input=70, cached=30, output=20)


def test_tokens_that_are_not_told_are_unknown(talk: Drive) -> None:
    assert talk("says('x'); end()").usage == Usage()


def test_the_prompt_arrives_whole_and_in_the_working_directory(talk: Drive, job: Job) -> None:
    prompt = f"§ {'lorem ipsum ' * 17_000}\n"
    verdict = talk(
        "said = asked['params']['prompt'][0]['text']\n"
        "new = next(m for m in heard if m['method'] == 'session/new')\n"
        "says(f\"{len(said)} {said[0]} {new['params']['cwd']}\"); end()",
        prompt=prompt,
    )
    assert verdict.text == f"{len(prompt)} § {job.work}"


def test_a_permission_is_given_once_and_everything_else_is_not_served(talk: Drive) -> None:
    verdict = talk("""
options = [{"optionId": k, "name": k, "kind": k} for k in ("reject_once", "allow_always", "allow_once")]
tool = {"toolCallId": "t1"}
asks = {"sessionId": "s-1", "toolCall": tool, "options": options}
given = ask("session/request_permission", **asks)["result"]["outcome"]
none = ask("session/request_permission", **{**asks, "options": options[:1]})["result"]["outcome"]
file = ask("fs/read_text_file", sessionId="s-1", path="/etc/hostname")["error"]["code"]
says(f"{given['outcome']} {given['optionId']}, {none['outcome']}, {file}")
end()
""")
    assert verdict.text == "selected allow_once, cancelled, -32601"


def test_a_session_is_loaded_and_what_it_replays_is_not_this_turns(talk: Drive) -> None:
    replay = "says('An old answer.'); send(id=asked['id'], result={})"
    verdict = talk("says('A new one.'); end()", on={"session/load": replay}, session_id="s-1")
    assert (verdict.reason, verdict.text, verdict.session_id) == (None, "A new one.", "s-1"), verdict


LOST = {
    "an error": {"session/load": "refuse(-32602, 'Session not found: s-0')"},
    "the words are in its data": {"session/load": "refuse(-32603, 'Internal error', data='Unknown session')"},
    "it refuses the prompt": {"session/load": "send(id=asked['id'], result=None)"},
    "it cannot load": {"initialize": "send(id=asked['id'], result={'protocolVersion': 1})"},
    "told at the prompt": {"session/prompt": "refuse(-32002, 'Resource not found: s-0')"},
}


@pytest.mark.parametrize("how", LOST)
def test_a_session_that_is_lost_is_told_and_nothing_has_run(talk: Drive, how: str) -> None:
    verdict = talk("end('refusal')", on=LOST[how], session_id="s-0")
    assert verdict.reason is Reason.NO_TERMINAL_EVENT
    assert verdict.resume_rejected
    assert not verdict.tool_ran


FAILURES = {
    "session/new": [
        ("refuse(-32000, 'Authentication required')", Reason.AUTH),
        ("refuse(-32603, 'Internal error', data={'details': 'no such model: x'})", Reason.AGENT_FAILED),
        ("send(id=asked['id'], result={})", Reason.INVALID_OUTPUT),
    ],
    "initialize": [("send(id=asked['id'], result={'protocolVersion': 2})", Reason.BAD_CONFIG)],
    "session/prompt": [
        ("refuse(-32603, 'HTTP 429: Too Many Requests')", Reason.RATE_LIMITED),
        ("send(id=asked['id'], result={})", Reason.INVALID_OUTPUT),
        ("says('half'); end('max_tokens')", Reason.AGENT_FAILED),
        ("says('half'); end('refusal')", Reason.AGENT_FAILED),
        ("sys.exit(3)", Reason.NO_TERMINAL_EVENT),
    ],
}


@pytest.mark.parametrize(
    ("method", "does", "reason"),
    [(method, *case) for method, cases in FAILURES.items() for case in cases],
)
def test_a_turn_that_fails_has_its_reason_and_no_answer(
    talk: Drive, method: str, does: str, reason: Reason
) -> None:
    verdict = talk("", on={method: does})
    assert verdict.reason is reason, verdict
    assert verdict.text == ""
    assert verdict.detail


def test_a_failed_call_of_the_model_stands_on_stderr_only(talk: Drive) -> None:
    verdict = talk("""
complains("2026-12-01 05:02:57 [ERROR] loop: API call failed after 3 retries. HTTP 429: slow down")
says("API call failed after 3 retries: HTTP 429"); end()
""")
    assert (verdict.reason, verdict.text) == (Reason.RATE_LIMITED, ""), verdict
    assert verdict.detail == "API call failed after 3 retries. HTTP 429: slow down"


def test_words_of_the_prompt_in_the_log_are_no_complaint(talk: Drive) -> None:
    log = "2026-12-01 05:02:57 [INFO] loop: msg='API call failed after 3 retries'"
    assert talk(f"complains({log!r}); says('x'); end()").reason is None


HERMES_CUT = "⚠️  Stream interrupted by network error (finish_reason='length' on partial-stream-stub)"
HERMES_CALL = "2026-12-01 05:02:24 [INFO] agent.conversation_loop: API call #2: model=scripted in=1444"


def test_hermes_says_on_stderr_that_a_stream_was_cut_and_that_it_went_on(talk: Drive) -> None:
    assert talk(f"complains({HERMES_CUT!r}); says('Ha'); end()", HERMES).reason is Reason.NETWORK
    went_on = talk(f"complains({HERMES_CUT!r}); complains({HERMES_CALL!r}); says('Ha'); end()", HERMES)
    assert (went_on.reason, went_on.text) == (None, "Ha"), went_on


def test_words_and_complaints_that_come_after_the_end_count(talk: Drive) -> None:
    assert talk("says('The first '); end(); says('and the last.')").text == "The first and the last."
    late = talk("says('x'); end(); complains('API call failed after 3 retries. HTTP 500')")
    assert late.reason is Reason.PROVIDER_ERROR


OPTION = {
    "id": "m",
    "name": "Model",
    "category": "model",
    "type": "select",
    "currentValue": "a",
    "options": [],
}


@pytest.mark.parametrize(
    ("session", "asked"),
    [
        ({"configOptions": [OPTION]}, "session/set_config_option m opus"),
        ({"models": {}}, "session/set_model None None"),
    ],
)
def test_the_model_is_chosen_as_the_agent_offers_it(
    talk: Drive, session: dict[str, object], asked: str
) -> None:
    verdict = talk(
        "m = heard[-2]; p = m['params']\n"
        "says(f\"{m['method']} {p.get('configId')} {p.get('value')}\"); end()",
        on={"session/new": f"send(id=asked['id'], result={ {'sessionId': 's-1', **session}!r})"},
        model="opus",
    )
    assert verdict.text == asked


def test_a_model_that_it_does_not_have_is_bad_configuration(talk: Drive) -> None:
    verdict = talk("", on={"session/set_model": "refuse(-32602, 'Invalid params')"}, model="opus")
    assert verdict.reason is Reason.BAD_CONFIG
    assert "model opus" in verdict.detail


NOISE = {
    "no JSON": "print('Welcome!', flush=True)",
    "an unknown update": "update('brand_new', x=1)",
    "an update that is none": "send(method='session/update', params=[1])",
    "an unknown notification": "send(method='_vendor/thing', params={})",
    "an answer to nobody": "send(id=77, result={}); send(id=None, result={}); send(id=[1], result={})",
    "a picture": "update('agent_message_chunk', content={'type': 'image', 'data': '', 'mimeType': 'x/y'})",
    "no UTF-8": r"sys.stdout.buffer.write(b'{\"x\": \"\xff\xfe\"}\n'); sys.stdout.flush()",
    "40 MB": "update('brand_new', x='x' * 40_000_000)",
    "deep": "print('[' * 100_000, flush=True)",
}


@pytest.mark.parametrize("noise", NOISE)
def test_what_is_not_understood_does_no_harm(talk: Drive, noise: str) -> None:
    verdict = talk(f"{NOISE[noise]}\nsays('fine'); end()")
    assert (verdict.reason, verdict.text) == (None, "fine"), verdict


def test_an_agent_that_does_not_exit_at_the_end_has_answered_all_the_same(talk: Drive) -> None:
    verdict = talk("says('x'); end()\nimport time\ntime.sleep(600)")
    assert (verdict.reason, verdict.text) == (None, "x")
    assert verdict.exit is not None


def test_cancelling_a_conversation_stops_the_agent(turn: Drive, job: Job, bell: Bell) -> None:
    source = f"open({str(bell.path)!r}, 'w').write('prompted')\nimport time\ntime.sleep(600)"
    command = (sys.executable, "-c", f"ON = {{}}\n{AGENT}", source)
    cancel = threading.Event()
    waiter = threading.Thread(target=lambda: (bell.wait(), cancel.set()))
    waiter.start()
    verdict = turn(ADAPTER, replace(job, command=command), cancel)
    waiter.join()
    assert verdict.reason is Reason.CANCELLED
    assert verdict.session_id == "s-1"


def test_without_the_extra_the_verdict_names_it(
    talk: Drive, monkeypatch: pytest.MonkeyPatch, job: Job
) -> None:
    monkeypatch.setattr(registry.importlib.util, "find_spec", lambda _name: None)
    verdict = talk("says('x'); end()")
    assert verdict.reason is Reason.NOT_INSTALLED
    assert "pip install 'gitmem-workspace[acp]'" in verdict.detail
