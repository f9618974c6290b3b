"""Cells of the table that do not apply to a program, with what was seen of the version under test.

By adapter, then by the name of the test; `name[case]` is one case of it.
"""

from __future__ import annotations

from collections.abc import Mapping

_FAILS = "test_a_failure_of_the_model_has_its_reason_and_no_answer[{}]".format
_FAILS_DELIVERED = "test_of_a_failed_call_nothing_is_delivered_and_the_reason_is_right[{}]".format

_SILENT = "it asks again without a word, so that the idle limit ends it and no reason is known"
_COMPACTS = "it makes a summary and asks again, for as long as only the summary is answered"
_CUT = "it takes a stream that breaks off for a whole answer: `completion`, exit 0"
_SCREEN = "a flag before `exec` starts its screen, which gives up without a word on stderr"
_NO_SESSION = "`agent exec` is one turn without a session to go on from"

DIFFERS: Mapping[str, Mapping[str, str]] = {
    "droid": {
        _FAILS("429"): _SILENT,
        _FAILS("500"): _SILENT,
        _FAILS("529"): _SILENT,
        _FAILS_DELIVERED("500"): _SILENT,
        "test_a_failure_after_a_tool_says_that_a_tool_ran": _SILENT,
        _FAILS("cut"): _CUT,
        _FAILS_DELIVERED("cut in the middle"): _CUT,
        "test_a_lost_session_is_told_and_nothing_has_run": "it begins a session of that id instead",
        "test_a_flag_that_it_does_not_know_is_bad_configuration": _SCREEN,
    },
    "opencode": {_FAILS("too-long"): _COMPACTS},
    "hermes": {
        "test_skills_reach_the_model": "it reads skills from its home only; "
        "`.gitmem/SKILLS.md`, which the prompt names, leads it to those of a run",
    },
    "openclaw": {
        "test_a_resumed_session_carries_the_earlier_turn_and_counts_only_its_own_tokens": _NO_SESSION,
        "test_a_lost_session_is_told_and_nothing_has_run": _NO_SESSION,
    },
}
