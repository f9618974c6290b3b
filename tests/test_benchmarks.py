"""The benchmarks measure what they say: sound workspaces, honest limits."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from benchmarks.measure import interleaved
from benchmarks.report import Line, exceeded, table
from benchmarks.workspaces import make

from gitmem.core.record import Kind
from gitmem.store.reader import Reader
from gitmem.store.workspace import find
from tests.conftest import git


def test_a_generated_workspace_is_clean_and_has_no_problems(tmp_path: Path) -> None:
    made = make(tmp_path / "workspace", 60)
    assert git(made.root, "status", "--porcelain") == ""
    with find(made.root) as workspace, closing(Reader(workspace)) as reader:
        assert reader.problems() == []
        assert {issue.path for issue in reader.issues()} == {path for _, path in made.issues}
        assert set(reader.records(Kind.ISSUE)[0].fields) >= {"id", "title", "status", "touches", "created_by"}
    assert len({path.split("/")[1] for _, path in made.issues}) == 24


def test_the_same_seed_generates_the_same_issues(tmp_path: Path) -> None:
    assert make(tmp_path / "a", 5).issues == make(tmp_path / "b", 5).issues


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        (Line("x", 19, "ms", Line("floor", 10, "ms"), at_most=2), True),
        (Line("x", 21, "ms", Line("floor", 10, "ms"), at_most=2), False),
        (Line("x", 49, "ms", Line("ours", 10, "ms"), at_least=5), False),
        (Line("x", 151, "ms", at_most=150), False),
        (Line("x", 151, "ms"), True),
    ],
)
def test_a_limit_bounds_the_ratio_or_the_value_where_there_is_no_base(line: Line, holds: bool) -> None:
    assert line.holds is holds
    assert (exceeded([line]) == []) is holds
    assert ("exceeded" in table([line])) is not holds


def test_cases_take_turns_and_the_warm_up_does_not_count() -> None:
    order = []

    def case(name: str, seconds: float) -> float:
        order.append(name)
        return seconds if len(order) > 4 else 99.0

    medians = interleaved({"a": lambda: case("a", 1.0), "b": lambda: case("b", 2.0)}, rounds=3, warm_up=2)
    assert medians == {"a": 1.0, "b": 2.0}
    assert order == ["a", "b", "b", "a", "a", "b", "b", "a", "a", "b"]
