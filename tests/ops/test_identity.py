from __future__ import annotations

import pytest

from gitmem.core.model import Member
from gitmem.ops.desk import trace_id
from gitmem.ops.identity import handle_for, member_for
from gitmem.store.git import Signature

ANA = Member(handle="ana", emails=("ana@example.org", "Ana@Work.example"), role=None, path="members/ana.md")


@pytest.mark.parametrize("email", ["ana@example.org", "ANA@example.org", "ana@work.example"])
def test_a_member_is_known_by_any_address_in_any_case(email: str) -> None:
    assert str(member_for(Signature("Whoever", email), [ANA])) == "member:ana"


def test_who_is_not_known_is_named_after_themselves() -> None:
    assert str(member_for(Signature("Bo Ek", "bo@example.org"), [ANA])) == "member:bo-ek"


@pytest.mark.parametrize(
    ("name", "email", "handle"),
    [
        ("Zoë Müller", "z@example.org", "zoe-muller"),
        ("李雷", "li.lei@example.org", "li-lei"),
        ("李雷", "李@example.org", "me"),
    ],
)
def test_a_handle_is_ascii_whatever_the_name(name: str, email: str, handle: str) -> None:
    assert handle_for(Signature(name, email)) == handle


def test_a_trace_is_kept_only_if_it_is_one() -> None:
    given = "4bf92f3577b34da6a3ce929d0e0e4736"
    assert trace_id(given, lambda n: b"\0" * n) == given
    assert trace_id("not\na trace", lambda n: b"\1" * n) == "01" * 16
