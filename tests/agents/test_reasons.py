from __future__ import annotations

import pytest

from gitmem.agents import reasons
from gitmem.core.states import Reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        # As printed by the programs themselves.
        ("unexpected status 401 Unauthorized: bad key, url: http://x/v1/responses", Reason.AUTH),
        ("exceeded retry limit, last status: 429 Too Many Requests", Reason.RATE_LIMITED),
        ("unexpected status 529 <unknown status code>: x", Reason.PROVIDER_ERROR),
        (
            "We’re currently experiencing high demand, which may cause temporary errors.",
            Reason.PROVIDER_ERROR,
        ),
        ("stream disconnected before completion: stream closed before response.completed", Reason.NETWORK),
        ("Reconnecting... waiting for network (Connection failed: error sending request)", Reason.NETWORK),
        ("API Error: Connection refused — a firewall may be blocking it (ECONNREFUSED)", Reason.NETWORK),
        ("Failed to authenticate. API Error: 401 scripted 401", Reason.AUTH),
        ("API Error: Request rejected (429) · scripted", Reason.RATE_LIMITED),
        ("Not logged in · Please run /login", Reason.AUTH),
        ("Prompt is too long", Reason.CONTEXT_OVERFLOW),
        ("You've hit your usage limit. Try again in 3 hours.", Reason.QUOTA),
        ("You've hit your limit · resets 2pm", Reason.QUOTA),
        ("Your credit balance is too low to access the API", Reason.QUOTA),
        ("error: unknown option '--no-such-flag'", Reason.BAD_CONFIG),
        ("error: unexpected argument '--no-such-flag' found", Reason.BAD_CONFIG),
        ("Missing environment variable: `SCRIPTED_API_KEY`.", Reason.AUTH),
        ("cannot be used with root/sudo privileges for security reasons", Reason.BAD_CONFIG),
        ("the tests do not pass", None),
        ("", None),
    ],
)
def test_an_error_text_has_its_reason(text: str, reason: Reason | None) -> None:
    assert reasons.of_text(text) is reason


@pytest.mark.parametrize(
    ("status", "words", "reason"),
    [
        (401, "", Reason.AUTH),
        (402, "", Reason.QUOTA),
        (403, "", Reason.AUTH),
        (404, "", Reason.BAD_CONFIG),
        (413, "", Reason.CONTEXT_OVERFLOW),
        (429, "", Reason.RATE_LIMITED),
        (429, "insufficient_quota", Reason.QUOTA),
        (400, "prompt is too long", Reason.CONTEXT_OVERFLOW),
        (400, "no idea", Reason.BAD_CONFIG),
        (500, "", Reason.PROVIDER_ERROR),
        (529, "", Reason.PROVIDER_ERROR),
        (200, "", None),
    ],
)
def test_a_status_goes_before_words(status: int, words: str, reason: Reason | None) -> None:
    assert reasons.of_status(status, words) is reason
