"""Writes docs/agents.md from what the suite found: python -m tests.conformance.table

Every test of an agent program notes how it ended in the test cache; the latest note counts.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gitmem.agents.registry import names
from tests.conformance.programs import PROGRAMS, Program, cache

PAGE = Path(__file__).parents[2] / "docs" / "agents.md"

HEAD = """\
# Agents

<!-- Written by `make conformance-all` (tests/conformance/table.py); do not edit. -->

Each program below is installed from its registry in exactly this version and driven through its adapter
against a model server on loopback, in a home of its own. `ok`: every test of the cell passed; a number:
the cell does not apply, for the reason below; `fails`: a test of it does not pass yet; `-`: not run.
`gitmem agent test NAME` does the cheap half of it with your own login, `gitmem doctor` lists what is
installed.

"""

TAIL = """
## Adapters without a program to install

| adapter | how it is tested |
|---|---|
| `acp` | any agent of the Agent Client Protocol, with `pip install 'gitmem-workspace[acp]'`. Against a \
scripted agent in `tests/agents/test_acp.py`, and as `hermes`, which runs on it |
| `command` | any program, `tests/agents/test_command.py` |
| `cursor` | its program cannot be installed from a registry: on a stream of the recorded shape only |
| `runbook` | part of gitmem, `tests/agents/test_runbook.py` |

## Adding a program

One that speaks the Agent Client Protocol needs no adapter: `gitmem agent create NAME --adapter acp
--command PROGRAM --command ARGUMENT`. Any other is one file in `src/gitmem/agents/` and one line in
`src/gitmem/agents/registry.py`:

1. an `ADAPTER`, the facts: executable, arguments, variables, folders of its own below a home, names of its
   instruction files, folders of its skills (`src/gitmem/agents/adapter.py` says what each means);
2. a `Reader`, which turns each line that the program prints into events. What counts as success, the final
   text, usage and the limits are common to all: the reader tells a `RESULT` only where the program itself
   says how its turn ended, a `MESSAGE` for words that are whole, `TOOL_START` and `TOOL_END` with the
   program's id of the call, an `ERROR` with a reason for trouble that it may get over, and usage with input
   counted without what was cached. `src/gitmem/agents/codex.py` is a short one to start from.

Then an entry in `tests/conformance/programs.py` with an exact version and the settings that point it at a
model on loopback; `make conformance-all` drives it and writes its column. A test that cannot apply gets the
reason, as seen with that version, in `tests/conformance/differs.py`.
"""

_TURN = "test_a_turn_with_a_tool_call_writes_files_and_gives_the_final_answer"
_FAILS = "test_a_failure_of_the_model_has_its_reason_and_no_answer[{}]".format
_DELIVERED_FAILS = "test_of_a_failed_call_nothing_is_delivered_and_the_reason_is_right[{}]".format

# Each cell and the tests that fill it, as `name` or `name[case]`.
CELLS: Mapping[str, tuple[str, ...]] = {
    "a tool call writes a file and the outbox": (_TURN,),
    "delivered": ("test_what_the_models_tool_calls_wrote_is_delivered_in_one_commit",),
    "brief and prompt reach the model": (
        "test_the_brief_and_the_prompt_reach_the_model",
        "test_every_brief_that_the_adapter_names_is_read",
    ),
    "skills reach the model": ("test_skills_reach_the_model",),
    "final text": (_TURN, "test_a_slow_answer_is_an_answer"),
    "session id": (_TURN,),
    "usage": ("test_usage_is_input_without_cached_whatever_the_protocol_counts",),
    "resume": ("test_a_resumed_session_carries_the_earlier_turn_and_counts_only_its_own_tokens",),
    "lost session": ("test_a_lost_session_is_told_and_nothing_has_run",),
    "401": (_FAILS("401"), _DELIVERED_FAILS("401")),
    "429": (_FAILS("429"),),
    "500": (
        _FAILS("500"),
        _DELIVERED_FAILS("500"),
        "test_a_failure_after_a_tool_says_that_a_tool_ran",
    ),
    "overloaded": (_FAILS("529"),),
    "prompt too long": (_FAILS("too-long"),),
    "connection refused": (
        "test_a_refused_connection_ends_as_network_trouble",
        "test_a_refused_connection_is_a_failure_of_the_network",
    ),
    "stream cut": (_FAILS("cut"), _DELIVERED_FAILS("cut in the middle")),
    "no terminal event": ("test_a_program_that_is_killed_has_not_succeeded",),
    "model hangs": ("test_a_model_that_never_answers_ends_at_the_idle_limit",),
    "a line of 40 MB": ("test_a_tool_that_prints_a_line_of_40_mb_does_no_harm",),
    "invalid UTF-8": ("test_a_tool_that_prints_no_utf_8_does_no_harm",),
    "prompt of 200 kB": ("test_a_prompt_of_200_kb_arrives_whole",),
    "cancel while the model hangs": ("test_cancelling_while_the_model_hangs_stops_everything",),
    "cancel while a tool runs": ("test_cancelling_while_a_tool_runs_leaves_no_process",),
    "missing": ("test_a_program_that_is_not_there_is_not_installed",),
    "unknown flag": ("test_a_flag_that_it_does_not_know_is_bad_configuration",),
    "model": ("test_the_model_that_is_asked_for_is_the_one_of_the_job",),
    "version": ("test_its_version_is_read",),
}


@dataclass(frozen=True)
class Note:
    """How one test of one program ended: passed, failed, or skipped and why."""

    test: str
    adapter: str
    version: str
    outcome: str
    why: str = ""


def note(found: Note) -> None:
    """Keep it for the table; workers append whole lines to one file."""
    notes().parent.mkdir(parents=True, exist_ok=True)
    with notes().open("a", encoding="utf-8") as file:
        file.write(json.dumps(vars(found)) + "\n")


def notes() -> Path:
    return cache() / "conformance.jsonl"


def latest(lines: Iterable[str]) -> dict[tuple[str, str], Note]:
    """By adapter and test; what an older version of a program did is not this one's."""
    found = (Note(**json.loads(line)) for line in lines)
    return {
        (one.adapter, one.test): one
        for one in found
        if one.adapter in PROGRAMS and one.version == PROGRAMS[one.adapter].version
    }


def render(found: Mapping[tuple[str, str], Note]) -> str:
    programs = [PROGRAMS[name] for name in sorted(PROGRAMS)]
    reasons: dict[str, int] = {}
    rows = [["cell", *(f"`{program.adapter}` {program.version}" for program in programs)]]
    rows.append(["---"] * len(rows[0]))
    for cell, tests in CELLS.items():
        rows.append([cell, *(_cell(program, tests, found, reasons) for program in programs)])
    table = "".join(f"| {' | '.join(row)} |\n" for row in rows)
    said = "".join(f"{number}. {why}\n" for why, number in reasons.items())
    return f"{HEAD}{table}\n{said}{TAIL}"


def _cell(
    program: Program,
    tests: Iterable[str],
    found: Mapping[tuple[str, str], Note],
    reasons: dict[str, int],
) -> str:
    ends = [found.get((program.adapter, test)) for test in tests]
    if any(end is not None and end.outcome == "failed" for end in ends):
        return "fails"
    why = next((end.why for end in ends if end is not None and end.outcome == "skipped"), None)
    if why:
        return str(reasons.setdefault(why, len(reasons) + 1))
    return "ok" if all(ends) else "-"


def missing(page: str) -> list[str]:
    """The adapters and cells that a page does not have."""
    wanted = [f"`{name}`" for name in names()] + [f"\n| {cell} |" for cell in CELLS]
    return [words for words in wanted if words not in page]


def main() -> None:
    lines = notes().read_text(encoding="utf-8").splitlines() if notes().exists() else []
    PAGE.write_text(render(latest(lines)), encoding="utf-8")


if __name__ == "__main__":
    main()
