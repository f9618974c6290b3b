from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.agents.lines import LineSplitter


def split(data: bytes, sizes: list[int]) -> list[str]:
    splitter, lines, at = LineSplitter(), [], 0
    for size in [*sizes, len(data)]:
        lines += splitter.feed(data[at : at + size])
        at += size
    return lines + splitter.end()


@given(
    lines=st.lists(st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]))),
    ending=st.sampled_from(["\n", "\r\n"]),
    sizes=st.lists(st.integers(1, 7), max_size=60),
)
def test_lines_come_out_as_they_went_in_however_the_bytes_are_cut(
    lines: list[str], ending: str, sizes: list[int]
) -> None:
    assert split("".join(line + ending for line in lines).encode(), sizes) == lines


def test_a_last_line_without_an_end_is_a_line() -> None:
    assert split(b"one\ntwo", [2]) == ["one", "two"]


def test_an_empty_stream_has_no_line() -> None:
    assert split(b"", []) == []


def test_bytes_that_are_no_utf_8_are_replaced_and_the_line_is_kept() -> None:
    assert split(b'{"a": "\xff\xe2\x82"}\n', [9]) == ['{"a": "\ufffd\ufffd"}']


def test_a_character_cut_between_two_reads_is_whole() -> None:
    assert split("€\n".encode(), [1, 1]) == ["€"]


def test_a_carriage_return_inside_a_line_stays() -> None:
    assert split(b"10%\r20%\r\n", []) == ["10%\r20%"]


def test_a_line_of_40_mb_is_whole() -> None:
    line = b"x" * 40_000_000
    assert [len(got) for got in split(line + b"\nnext\n", [65536] * 700)] == [40_000_000, 4]


def test_beyond_the_limit_a_line_is_cut_and_the_next_one_is_whole() -> None:
    splitter = LineSplitter(limit=10)
    assert splitter.feed(b"0123456") == []
    assert splitter.feed(b"789abcdef\nnext\n") == ["0123456789", "next"]
    assert splitter.cut == 6


@given(data=st.binary(max_size=60), sizes=st.lists(st.integers(1, 9), max_size=20))
def test_bytes_decoded_at_once_are_those_decoded_line_by_line(data: bytes, sizes: list[int]) -> None:
    *ended, rest = data.split(b"\n")
    lines = [
        line.removesuffix(b"\r").decode(errors="replace") for line in [*ended, *([rest] if rest else [])]
    ]
    assert split(data, sizes) == lines
