"""Commands are run only where a trusted member is proved to have written them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gitmem.core.model import Member
from gitmem.core.policy import Policy
from gitmem.runner.trust import distrusted
from gitmem.store.workspace import Workspace, find
from tests.conftest import git, put

ISSUE = "issues/a.md"
TEXT = "---\ntitle: Clean up\n\nstatus: todo\n---\n```sh\necho hello\n```\n"
ANA = Member("ana", ("ana@example.org",), None, "members/ana.md")
EVE = Member("eve", ("eve@example.org",), None, "members/eve.md")
POLICY = Policy(trusted=frozenset({"member:ana"}))


def ask(ws: Workspace, *, policy: Policy = POLICY, uncommitted: bool = False) -> str | None:
    return distrusted(ws, ws.tip(), ISSUE, policy, [ANA, EVE], uncommitted=uncommitted)


def test_a_trusted_member_at_their_own_machine_is_believed(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    assert ask(ws) is None


def test_a_member_who_is_not_trusted_is_not(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    assert "no trusted member" in (ask(ws, policy=Policy(trusted=frozenset())) or "")


def test_what_the_file_says_of_itself_proves_nothing(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT.replace("status", "created_by: member:ana\n\nstatus"), commit=False)
    git(repo, "add", ISSUE)
    git(repo, "-c", "user.email=eve@example.org", "commit", "-q", "-m", "x")
    assert "eve@example.org" in (ask(ws) or "")


def test_a_commit_from_elsewhere_in_a_trusted_name_proves_nothing(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repo), "theirs")
    put(tmp_path / "theirs", ISSUE, TEXT)  # committed there as ana@example.org
    git(repo, "pull", "-q", str(tmp_path / "theirs"), "main")
    with find(repo) as ws:
        assert "neither made on this machine" in (ask(ws) or "")


def test_a_pulled_commit_that_is_rebased_here_is_still_not_ours(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repo), "theirs")
    put(tmp_path / "theirs", ISSUE, TEXT)
    put(repo, "mine.txt", "x")
    git(repo, "fetch", "-q", str(tmp_path / "theirs"), "main")
    git(repo, "cherry-pick", "FETCH_HEAD")
    with find(repo) as ws:
        assert ask(ws) is not None


def test_another_persons_later_edit_of_the_commands_ends_the_trust(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    put(repo, ISSUE, TEXT.replace("hello", "evil"), commit=False)
    git(repo, "-c", "user.email=eve@example.org", "commit", "-q", "-am", "x")
    assert ask(ws) is not None


def test_another_actors_move_of_the_status_does_not(repo: Path, ws: Workspace) -> None:
    put(repo, ISSUE, TEXT)
    put(repo, ISSUE, TEXT.replace("todo", "done"), commit=False)
    git(repo, "-c", "user.email=eve@example.org", "commit", "-q", "-am", "x")
    assert ask(ws) is None


def test_an_uncommitted_edit_is_the_local_persons_but_not_what_lies_under_it(
    repo: Path, ws: Workspace
) -> None:
    assert ask(ws, uncommitted=True) is None
    assert ask(ws, policy=Policy(trusted=frozenset()), uncommitted=True) is not None
    put(repo, ISSUE, TEXT, commit=False)
    git(repo, "add", ISSUE)
    git(repo, "-c", "user.email=eve@example.org", "commit", "-q", "-m", "x")
    assert ask(ws, uncommitted=True) is not None


@pytest.mark.parametrize(("signer", "believed"), [("ana@example.org", True), ("eve@example.org", False)])
def test_a_verified_signature_of_a_trusted_member_is_believed(
    repo: Path, tmp_path: Path, hermetic: Path, signer: str, believed: bool
) -> None:
    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = tmp_path / "allowed"
    allowed.write_text(f"{signer} {key.with_suffix('.pub').read_text()}")
    for name, value in {"gpg.format": "ssh", "gpg.ssh.allowedSignersFile": str(allowed)}.items():
        git(repo, "config", "--global", name, value)
    git(tmp_path, "clone", "-q", str(repo), "theirs")
    put(tmp_path / "theirs", ISSUE, TEXT, commit=False)
    git(tmp_path / "theirs", "add", ISSUE)
    git(tmp_path / "theirs", "-c", f"user.signingkey={key}", "commit", "-q", "-S", "-m", "signed")
    git(repo, "pull", "-q", str(tmp_path / "theirs"), "main")
    with find(repo) as ws:
        assert (ask(ws) is None) is believed
