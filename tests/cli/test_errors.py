from __future__ import annotations

import errno
import json
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

import click
import pytest

from gitmem.cli.console import Console
from gitmem.cli.errors import failure_of, report
from gitmem.core import errors
from tests.cli.conftest import Cli

KINDS = [
    (errors.NotFoundError("no issue 'x'", "gitmem issue list"), "not_found", 1),
    (errors.AmbiguousError("ambiguous"), "ambiguous", 1),
    (errors.IllegalMoveError("no"), "illegal_move", 1),
    (errors.IdentityError("who"), "identity", 1),
    (errors.StorageError("full"), "storage", 1),
    (errors.UsageError("what"), "usage", 2),
    (click.UsageError("what"), "usage", 2),
    (errors.NotAWorkspaceError("where"), "not_a_workspace", 10),
    (errors.LockedError("held"), "locked", 11),
    (errors.InvalidDocumentError("broken"), "invalid", 12),
    (errors.UnsupportedFormatError("newer"), "unsupported_format", 12),
    (errors.ConflictError("changed"), "conflict", 13),
    (errors.NotPermittedError("no"), "not_permitted", 14),
    (KeyboardInterrupt(), "interrupted", 130),
    (OSError(errno.ENOSPC, "No space left on device", "/x"), "storage", 1),
    (OSError(errno.EROFS, "Read-only file system"), "storage", 1),
]


@pytest.mark.parametrize(("error", "kind", "code"), KINDS, ids=[type(e).__name__ for e, _, _ in KINDS])
def test_every_expected_error_has_a_kind_and_an_exit_code(error: BaseException, kind: str, code: int) -> None:
    failure = failure_of(error)
    assert failure is not None
    assert (failure.kind, failure.exit_code) == (kind, code)


def printed(error: BaseException, tmp_path: Path, *, as_json: bool = False) -> tuple[int, str]:
    err = StringIO()
    console = Console(StringIO(), err, {})
    console.json = as_json
    when = datetime(2026, 11, 30, tzinfo=UTC)
    code = report(error, console, now=when, state=tmp_path, argv=["issue", "list"])
    return code, err.getvalue()


def test_an_error_is_a_line_and_a_hint_after_a_blank_line(tmp_path: Path) -> None:
    error = errors.NotFoundError("no issue 'x'", "gitmem issue list")
    assert printed(error, tmp_path) == (1, "error: no issue 'x'\n\nhint: gitmem issue list\n")


def test_a_bug_leaves_a_report_and_shows_no_traceback(tmp_path: Path) -> None:
    try:
        raise ZeroDivisionError("by nought")
    except ZeroDivisionError as bug:
        code, said = printed(bug, tmp_path)
    assert code == 3
    assert "Traceback" not in said
    (path,) = (tmp_path / "log").iterdir()
    assert str(path) in said
    report_text = path.read_text()
    assert "Traceback" in report_text
    assert "gitmem issue list" in report_text


def test_a_bug_whose_report_cannot_be_written_is_told_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("in the way")
    code, said = printed(ZeroDivisionError("by nought"), tmp_path)
    assert code == 3
    assert "by nought" in said


def test_details_of_an_error_are_part_of_its_json(tmp_path: Path) -> None:
    error = errors.AmbiguousError("ambiguous", candidates=["a", "b"])
    _, said = printed(error, tmp_path, as_json=True)
    assert json.loads(said) == {
        "error": {
            "kind": "ambiguous",
            "message": "ambiguous",
            "hint": None,
            "exit_code": 1,
            "candidates": ["a", "b"],
        }
    }


def test_a_usage_error_is_json_too_wherever_json_is_asked_for(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    for args in (["--json", "bogus"], ["issue", "list", "--bogus", "--json"], ["issue", "view", "--json"]):
        result = cli(*args)
        assert result.code == 2
        assert result.out == ""
        assert result.error["kind"] == "usage"
        assert result.error["exit_code"] == 2
    monkeypatch.setenv("GITMEM_JSON", "1")
    assert cli("bogus").error["kind"] == "usage"


def test_outside_a_workspace_the_code_is_10_and_the_way_in_is_named(cli: Cli, tmp_path: Path) -> None:
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    refused = cli("issue", "list", within=outside)
    assert refused.code == 10
    assert "gitmem init" in refused.err
    assert cli("issue", "list", within=tmp_path / "absent").code == 2


def test_a_newer_format_is_refused_politely(cli: Cli) -> None:
    config = cli.folder / "gitmem.yaml"
    config.write_text(config.read_text().replace("format: 1", "format: 2"))
    refused = cli("issue", "list", "--json")
    assert (refused.code, refused.error["kind"]) == (12, "unsupported_format")


def test_without_an_identity_the_lines_to_type_are_told(cli: Cli, hermetic: Path) -> None:
    (hermetic / ".gitconfig").write_text("[user]\n\tuseConfigOnly = true\n")
    refused = cli("issue", "create", "Title")
    assert refused.code == 1
    assert 'git config --global user.name "Your Name"' in refused.err
    assert "git config --global user.email" in refused.err
    assert cli("issue", "list").code == 0


def test_no_hint_in_the_source_destroys_anything() -> None:
    source = Path(__file__).resolve().parents[2] / "src" / "gitmem"
    forbidden = ("rm -", "reset --hard", "push --force", "push -f", "clean -f", "checkout -f", "branch -D")
    for file in (*source.glob("cli/*.py"), *source.glob("ops/*.py"), *source.glob("store/*.py")):
        text = file.read_text()
        assert not [word for word in forbidden if word in text], file


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        ("issue view zzzzzzzz", "gitmem issue list -s all"),
        ("queue view zzzzzzzz", "gitmem queue list"),
        ("runs view zzzzzzzz", "gitmem runs list"),
        ("skill view zzzzzzzz", "gitmem skill list"),
        ("agent view zzzzzzzz", "there are claude, codex"),
        ("agent view laude", "did you mean claude?"),
        ("member view zzzzzzzz", "there is ana"),
        ("agent create zzzzzzzz", "gitmem doctor"),
        ("show zzzzzzzz", "<kind>:<name>"),
        ("issue create x --assign zzzzzzzz", "there are ana, claude, codex"),
        ("issue create x --repo zzzzzzzz", "gitmem.yaml lists the repositories"),
    ],
)
def test_what_is_not_found_comes_with_the_nearest_or_the_way_to_all(cli: Cli, words: str, hint: str) -> None:
    failed = cli(*words.split(), "--json")
    assert (failed.code, failed.error["kind"]) == (1, "not_found")
    assert hint in failed.error["hint"]


def test_a_missing_argument_keeps_its_name(cli: Cli) -> None:
    assert cli("issue", "view").err.startswith("error: ISSUE is missing\n")


@pytest.mark.parametrize(
    ("option", "near"), [("--lable", "--label"), ("--stat", "--status"), ("--latest", None), ("--by", None)]
)
def test_an_unknown_option_is_answered_only_with_a_near_one(cli: Cli, option: str, near: str | None) -> None:
    hint = cli("issue", "list", option, "x", "--json").error["hint"]
    assert hint == (f"did you mean {near}?" if near else "gitmem issue list --help")
