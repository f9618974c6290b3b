from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.tokens import estimate, head

# (text, its tokens in the o200k vocabulary, measured once)
MEASURED = [
    ("The login test fails about once in twenty runs on CI, never on a laptop.", 17),
    ("def utc_now() -> datetime:\n    return datetime.now(UTC)\n", 14),
    ('{"type": "result", "is_error": false, "session_id": "7k3q9d2m"}', 26),
    ("修复登录测试的不稳定问题。", 8),
]


@pytest.mark.parametrize(("text", "tokens"), MEASURED)
def test_the_estimate_is_close_to_a_real_vocabulary(text: str, tokens: int) -> None:
    assert 0.75 * tokens <= estimate(text) <= 1.65 * tokens


def test_nothing_costs_nothing() -> None:
    assert estimate("") == 0


def test_a_head_ends_at_a_line() -> None:
    text = "one two three\nfour five six\nseven eight nine\n"
    assert head(text, 9) == "one two three\nfour five six\n"


def test_a_text_that_fits_is_its_own_head() -> None:
    assert head("one two three", 3) == "one two three"


@given(st.text(), st.integers(0, 40))
def test_a_head_is_a_beginning_within_its_limit(text: str, limit: int) -> None:
    cut = head(text, limit)
    assert text.startswith(cut)
    assert estimate(cut) <= limit or cut == text
    assert estimate(cut) <= limit + 1


@given(st.text(), st.text())
def test_a_longer_text_never_costs_less(a: str, b: str) -> None:
    assert estimate(a) <= estimate(a + "\n" + b) + 1
