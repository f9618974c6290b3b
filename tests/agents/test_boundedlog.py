from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.agents.boundedlog import BoundedLog


def written(path: Path, pieces: list[bytes], head: int = 40, tail: int = 40) -> bytes:
    with BoundedLog(path, head=head, tail=tail) as log:
        for piece in pieces:
            log.write(piece)
    return path.read_bytes()


@given(pieces=st.lists(st.binary(max_size=30), max_size=3))
def test_what_fits_is_kept_byte_for_byte(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]
) -> None:
    path = tmp_path_factory.mktemp("log") / "log"
    assert written(path, pieces, head=45, tail=45) == b"".join(pieces)


@given(sizes=st.lists(st.integers(1, 200), min_size=1, max_size=20))
def test_head_and_tail_are_whole_lines_and_the_cut_is_told(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int]
) -> None:
    whole = b"".join(b"line %04d\n" % number for number in range(300))
    pieces, at = [], 0
    for size in [*sizes, len(whole)]:
        pieces.append(whole[at : at + size])
        at += size
    got = written(tmp_path_factory.mktemp("log") / "log", pieces)
    assert got == (
        b"line 0000\nline 0001\nline 0002\nline 0003\n[... 2930 bytes cut ...]\n"
        b"line 0297\nline 0298\nline 0299\n"
    )


def test_a_flood_of_one_write_is_bounded(tmp_path: Path) -> None:
    got = written(tmp_path / "log", [b"x" * 1_000_000])
    assert len(got) < 200


def test_while_it_is_open_the_file_never_grows_beyond_its_bound(tmp_path: Path) -> None:
    with BoundedLog(tmp_path / "log", head=40, tail=40) as log:
        for _ in range(100):
            log.write(b"0123456789\n")
            assert (tmp_path / "log").stat().st_size <= 80


def test_a_full_disk_ends_the_log_and_not_the_writer() -> None:
    with BoundedLog(Path("/dev/full")) as log:
        log.write(b"nowhere to go")
        log.write(b"again")
    assert log.failed is not None
