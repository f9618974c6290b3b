"""What only Google's service says: which of its quotas is spent.

The answer has the shape that the service gives, google.rpc.QuotaFailure and RetryInfo
(https://cloud.google.com/apis/design/errors#error_details), with the quota's name as
https://ai.google.dev/gemini-api/docs/rate-limits counts it: a day's, or a minute's.
"""

from __future__ import annotations

import pytest

from gitmem.core.states import Reason
from tests.conformance.conftest import Bench
from tests.support.modelserver import Fail, ModelServer

pytestmark = [pytest.mark.conformance, pytest.mark.parametrize("bench", ["gemini"], indirect=True)]

_WORDS = "You exceeded your current quota, please check your plan and billing details."


def _spent(window: str, retry: str) -> Fail:
    violation = {
        "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
        "quotaId": f"GenerateRequestsPer{window}PerProjectPerModel-FreeTier",
    }
    failure = {"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [violation]}
    wait = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": retry}
    return Fail(429, _WORDS, {"details": [failure, wait]})


@pytest.mark.parametrize(
    ("window", "reason"), [("Day", Reason.QUOTA), ("Minute", Reason.RATE_LIMITED)], ids=["day", "minute"]
)
def test_the_quota_of_a_day_is_another_thing_than_that_of_a_minute(
    bench: Bench, window: str, reason: Reason
) -> None:
    with ModelServer(_spent(window, "1s")) as server:
        verdict = bench.turn(bench.job(server.url))
    assert verdict.reason is reason, verdict
