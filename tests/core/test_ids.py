from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core import ids
from gitmem.core.errors import AmbiguousError, NotFoundError, UsageError

ID = st.text(ids.ALPHABET, min_size=8, max_size=8)


@given(st.binary(min_size=5, max_size=5))
def test_a_new_id_is_eight_characters_of_crockford_base32(five: bytes) -> None:
    made = ids.new_id(lambda n: five[:n])
    assert ids.is_id(made)
    assert not set(made) & set("ilou")


@given(st.binary(min_size=5, max_size=5), st.binary(min_size=5, max_size=5))
def test_different_bytes_give_different_ids(a: bytes, b: bytes) -> None:
    assert (a == b) == (ids.new_id(lambda _: a) == ids.new_id(lambda _: b))


def test_a_hundred_thousand_new_ids_do_not_meet() -> None:
    entropy = random.Random(1).randbytes
    assert len({ids.new_id(entropy) for _ in range(100_000)}) == 100_000


def test_a_derived_id_depends_on_where_its_parts_end() -> None:
    assert ids.derived_id("a", "bc") == ids.derived_id("a", "bc")
    assert ids.derived_id("a", "bc") != ids.derived_id("ab", "c")


@pytest.mark.parametrize("text", ["7k3q9d2", "7k3q9d2mm", "7K3Q9D2M", "7k3q9d2l", "", "7k3q9d2m\n"])
def test_what_is_no_id_is_refused(text: str) -> None:
    assert not ids.is_id(text)


@pytest.mark.parametrize("text", ["member:ana", "agent:claude-2", "system:runner"])
def test_an_actor_survives_being_written_and_read(text: str) -> None:
    assert str(ids.parse_actor(text)) == text


@pytest.mark.parametrize(
    "text",
    ["ana", "member:", "robot:x", "member:Ana", "agent:../x", "member:ana ", "member:-rf", "member:a\nb"],
)
def test_what_is_no_actor_is_a_usage_error(text: str) -> None:
    with pytest.raises(UsageError, match="not an actor"):
        ids.parse_actor(text)


@given(st.text(max_size=30))
def test_reading_an_actor_never_fails_otherwise(text: str) -> None:
    with contextlib.suppress(UsageError):
        assert str(ids.parse_actor(text)) == text


@pytest.mark.parametrize("text", ["issue:7k3q9d2m", "knowledge:workspace/auth-decisions", "run:abc"])
def test_a_typed_reference_survives_being_written_and_read(text: str) -> None:
    ref = ids.parse_ref(text)
    assert str(ref) == text


@pytest.mark.parametrize(
    "text", ["7k3q9d2m", "issue:", "issue:  ", "https://example.org", "docs/a.md", "note: x"]
)
def test_free_text_is_no_reference(text: str) -> None:
    assert ids.parse_ref(text) is None


def test_a_bare_id_loses_only_its_own_kind() -> None:
    assert ids.bare_id("issue:7k3q9d2m") == "7k3q9d2m"
    assert ids.bare_id("7k3q9d2m") == "7k3q9d2m"
    assert ids.bare_id("skill:x") == "skill:x"
    assert ids.bare_id("agent:claude", "agent") == "claude"


@given(st.lists(ID, min_size=1, unique=True), st.data())
def test_any_unique_prefix_names_its_id(known: list[str], data: st.DataObject) -> None:
    target = data.draw(st.sampled_from(known))
    prefix = target[: data.draw(st.integers(1, 8))]
    hits = [name for name in known if name.startswith(prefix)]
    if len(hits) == 1:
        assert ids.match_prefix(prefix, known, "issue") == target
    else:
        with pytest.raises(AmbiguousError) as caught:
            ids.match_prefix(prefix, known, "issue")
        assert caught.value.details["candidates"] == sorted(hits)


def test_a_whole_name_wins_over_longer_ones() -> None:
    assert ids.match_prefix("retry", ["retry", "retry-twice"], "skill") == "retry"


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(NotFoundError) as caught:
        ids.match_prefix("retyr-twice", ["retry-twice", "other"], "skill")
    assert caught.value.hint == "did you mean retry-twice?"


def test_an_empty_prefix_matches_nothing() -> None:
    with pytest.raises(NotFoundError):
        ids.match_prefix("", ["7k3q9d2m"], "issue")
