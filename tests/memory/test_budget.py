from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.tokens import estimate
from gitmem.memory.budget import HEAD_MIN, SHARES, Form, Piece, Section, pack


def piece(section: Section, name: str, words: int) -> Piece:
    return Piece(section, name, f"{name}.md", "b", f".gitmem/{name}", "because", "word " * words)


def refs(section: Section, pieces: list[Piece], budget: int) -> list[str]:
    items, _ = pack(pieces, budget)
    return [item.piece.ref for item in items if item.piece.section is section]


def test_the_shares_are_the_whole_budget() -> None:
    assert sum(SHARES.values()) == 100
    assert set(SHARES) == set(Section)


def test_what_fits_is_told_whole_in_the_order_of_the_sections() -> None:
    items, left = pack([piece(Section.COMMENTS, "c", 10), piece(Section.CONTEXT, "x", 10)], 1000)
    assert [item.piece.ref for item in items] == ["x", "c"]
    assert {item.form for item in items} == {Form.WHOLE}
    assert not left


def test_a_long_issue_does_not_push_out_a_recalled_skill() -> None:
    pieces = [piece(Section.ISSUE, "issue", 10_000), piece(Section.RECALLED_SKILLS, "skill", 100)]
    items, _ = pack(pieces, 2000)
    assert [(item.piece.ref, item.form) for item in items] == [("issue", Form.HEAD), ("skill", Form.WHOLE)]


def test_what_a_section_leaves_over_goes_to_those_that_want_more() -> None:
    items, _ = pack([piece(Section.ISSUE, "issue", 1800)], 2000)
    assert items[0].form is Form.WHOLE


def test_the_newest_comments_are_the_ones_that_are_kept() -> None:
    newest_first = [piece(Section.COMMENTS, f"c{n:03}", 90) for n in range(100)]
    kept = refs(Section.COMMENTS, newest_first, 2000)
    assert kept == [f"c{n:03}" for n in range(len(kept))]
    assert 15 < len(kept) < 25


def test_a_pasted_log_is_cut_and_the_comments_before_it_are_still_told() -> None:
    comments = [piece(Section.COMMENTS, "log", 50_000), piece(Section.COMMENTS, "older", 50)]
    items, left = pack(comments, 2000)
    assert [(item.piece.ref, item.form, item.tokens) for item in items] == [
        ("log", Form.HEAD, 100),
        ("older", Form.WHOLE, 50),
    ]
    assert not left


def test_instructions_do_not_depend_on_what_else_is_told() -> None:
    alone, _ = pack([piece(Section.INSTRUCTIONS, "me", 1000)], 2000)
    beside, _ = pack([piece(Section.INSTRUCTIONS, "me", 1000), piece(Section.ISSUE, "issue", 10_000)], 2000)
    assert alone[0].text == next(item.text for item in beside if item.piece.ref == "me")


def test_what_finds_no_room_is_given_back_with_its_cost() -> None:
    pieces = [piece(Section.REFS, f"issue:r{n}", 200) for n in range(9)]
    items, left = pack(pieces, 1000)
    assert [one.ref for one, _ in left] == [one.ref for one in pieces[len(items) :]]
    assert {cost for _, cost in left} == {200}


pieces_of_any_size = st.lists(
    st.builds(piece, st.sampled_from(list(Section)), st.sampled_from("abcdef"), st.integers(0, 400)),
    max_size=25,
)


@given(pieces_of_any_size, st.integers(0, 3000))
def test_the_budget_holds_and_nothing_is_lost(pieces: list[Piece], budget: int) -> None:
    items, left = pack(pieces, budget)
    assert sum(item.tokens for item in items) <= budget
    assert len(items) + len(left) == len(pieces)
    for item in items:
        assert estimate(item.text) <= item.tokens + 1
        assert (item.form is Form.WHOLE) == (item.text == item.piece.text)


@given(pieces_of_any_size, st.integers(200, 3000))
def test_no_piece_is_skipped_in_favour_of_one_behind_it(pieces: list[Piece], budget: int) -> None:
    items, _ = pack(pieces, budget)
    for section in Section:
        order = [id(p) for p in pieces if p.section is section]
        kept = [id(item.piece) for item in items if item.piece.section is section]
        assert kept == order[: len(kept)]


@given(st.integers(400, 3000), st.sampled_from(list(Section)))
def test_every_section_gets_its_share_whatever_the_others_want(budget: int, section: Section) -> None:
    greedy = [piece(other, f"{other}", 3000) for other in Section if other is not section]
    small = piece(section, "small", budget * SHARES[section] // 100 - 1)
    if estimate(small.text) >= HEAD_MIN and estimate(small.text) * 20 <= budget:
        assert "small" in refs(section, [*greedy, small], budget)
