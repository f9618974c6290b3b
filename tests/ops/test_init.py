"""Making a workspace, and leaving everything else alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from gitmem.core.errors import ConflictError, GitmemError, IdentityError, UsageError
from gitmem.core.record import Kind
from gitmem.ops import init
from gitmem.ops.init import Maker, Wishes
from gitmem.store import document, schema
from gitmem.store.git import Git
from gitmem.store.reader import Reader
from gitmem.store.workspace import find
from tests.conftest import git, put


@pytest.fixture
def maker(now: Callable[[], datetime], entropy: Callable[[int], bytes]) -> Maker:
    return Maker(now, entropy, "0" * 32)


@pytest.fixture
def code(tmp_path: Path) -> Path:
    """A code repository with a commit, a staged file, a stash, a hook and an uncommitted edit."""
    folder = tmp_path / "web-app"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    put(folder, "app.py", "print(1)\n")
    put(folder, "stashed.py", "1\n")
    put(folder, "stashed.py", "2\n", commit=False)
    git(folder, "stash", "-q")
    put(folder, "app.py", "print(2)\n", commit=False)
    put(folder, "staged.py", "3\n", commit=False)
    git(folder, "add", "staged.py")
    hook = folder / ".git/hooks/post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/hook-ran\n")
    hook.chmod(0o755)
    return folder


@pytest.fixture
def code_git(code: Path) -> Iterator[Git]:
    with Git.discover(code) as opened:
        yield opened


def state(folder: Path) -> dict[str, str]:
    """All that is the user's in a repository."""
    return {
        "head": git(folder, "rev-parse", "HEAD", "--symbolic-full-name", "HEAD"),
        "status": git(folder, "status", "--porcelain=v1"),
        "stash": git(folder, "stash", "list"),
        "index": git(folder, "ls-files", "--stage"),
        "config": (folder / ".git/config").read_text(),
        "app": (folder / "app.py").read_text(),
        "trunk": git(folder, "rev-parse", "trunk"),
    }


def test_a_workspace_of_its_own_is_one_commit_with_nothing_left_over(maker: Maker, tmp_path: Path) -> None:
    made = init.make(maker, tmp_path / "memory", Wishes(name="Team memory"))
    assert git(made.root, "rev-list", "--count", "main").strip() == "1"
    assert git(made.root, "rev-parse", "HEAD").strip() == made.commit
    assert git(made.root, "status", "--short") == ""
    assert git(made.root, "fsck", "--strict", "--no-dangling") == ""
    with find(made.root) as ws, Reader(ws) as reader:
        assert (ws.config.id, ws.config.name, ws.branch) == (made.id, "Team memory", "main")
        assert reader.problems() == []
        assert [member.handle for member in reader.members()] == ["ana"]
        assert {agent.name for agent in reader.agents()} == {"claude", "codex", "runbook"}


def test_every_file_of_the_template_is_valid(maker: Maker, tmp_path: Path) -> None:
    made = init.make(maker, tmp_path / "memory", Wishes())
    with find(made.root) as ws, Reader(ws) as reader:
        for kind in Kind:
            for record in reader.records(kind):
                data = reader.data(record.path)
                parsed = document.parse(data, record.path)
                assert parsed.problems == ()
                assert schema.problems(kind, parsed, record.path) == [], record.path


def test_who_makes_it_is_a_member_whom_the_policy_trusts(maker: Maker, tmp_path: Path) -> None:
    made = init.make(maker, tmp_path / "memory", Wishes())
    policy = document.parse((made.root / "policy.yaml").read_bytes(), "policy.yaml").fields
    assert policy["trusted"] == ["member:ana"]
    member = document.parse((made.root / "members/ana.md").read_bytes(), "members/ana.md").fields
    assert member["emails"] == ["ana@example.org"]
    assert git(made.root, "log", "-1", "--format=%an <%ae>") == "Ana <ana@example.org>\n"
    assert "Gitmem-Action: init" in git(made.root, "log", "-1", "--format=%B")
    assert git(made.root, "reflog", "-1", "--format=%gs", "main").startswith("gitmem: ")


def test_other_programs_find_the_skills_through_links(maker: Maker, tmp_path: Path) -> None:
    made = init.make(maker, tmp_path / "memory", Wishes())
    for folder in (".agents/skills", ".claude/skills"):
        assert (made.root / folder / "hand-back-results/SKILL.md").is_file()
    assert git(made.root, "ls-files", "--stage", ".agents/skills").startswith("120000 ")


def test_the_editor_finds_every_schema_that_its_settings_name(maker: Maker, tmp_path: Path) -> None:
    made = init.make(maker, tmp_path / "memory", Wishes())
    settings = json.loads((made.root / ".vscode/settings.json").read_text())
    assert settings["yaml.schemas"]
    for path in settings["yaml.schemas"]:
        assert "$id" in json.loads((made.root / path).read_text())


def test_an_installed_agent_without_a_file_in_the_template_gets_one(maker: Maker, tmp_path: Path) -> None:
    made = init.make(maker, tmp_path / "memory", Wishes(adapters=["claude", "gemini"]))
    fields = document.parse((made.root / "agents/gemini.md").read_bytes(), "agents/gemini.md").fields
    assert (fields["name"], fields["adapter"]) == ("gemini", "gemini")


def test_the_clone_of_an_empty_repository_becomes_the_workspace(maker: Maker, tmp_path: Path) -> None:
    folder = tmp_path / "clone"
    git(tmp_path, "init", "-q", "--bare", "-b", "trunk", "hub.git")
    git(tmp_path, "clone", "-q", str(tmp_path / "hub.git"), str(folder))
    made = init.make(maker, folder, Wishes())
    assert made.branch == git(folder, "symbolic-ref", "--short", "HEAD").strip()
    assert f"branch: {made.branch}\n" in (folder / "gitmem.yaml").read_text()
    git(folder, "push", "-q", "origin", made.branch)


def test_inside_a_repository_the_two_ways_are_named_and_nothing_is_made(maker: Maker, code: Path) -> None:
    before = state(code)
    for folder in (code, code / "sub" / "folder"):
        with pytest.raises(GitmemError) as refused:
            init.make(maker, folder, Wishes())
        assert "--here" in str(refused.value.hint)
        assert "--beside" in str(refused.value.hint)
    assert state(code) == before


def test_files_of_the_user_are_never_overwritten(maker: Maker, tmp_path: Path) -> None:
    put(tmp_path / "memory", "README.md", "mine\n", commit=False)
    put(tmp_path / "memory", "issues", "a file in the place of a folder\n", commit=False)
    with pytest.raises(ConflictError, match=r"README\.md, issues"):
        init.make(maker, tmp_path / "memory", Wishes())
    assert (tmp_path / "memory/README.md").read_text() == "mine\n"
    assert not (tmp_path / "memory/.git").exists()


def test_a_link_out_of_the_folder_is_not_followed(maker: Maker, tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "memory/agents").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConflictError):
        init.make(maker, tmp_path / "memory", Wishes())
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_other_files_in_the_folder_stay_as_they_are(maker: Maker, tmp_path: Path) -> None:
    put(tmp_path / "memory", "notes.txt", "mine\n", commit=False)
    made = init.make(maker, tmp_path / "memory", Wishes())
    assert git(made.root, "status", "--short") == "?? notes.txt\n"


def test_a_second_init_says_that_there_is_one(maker: Maker, tmp_path: Path) -> None:
    init.make(maker, tmp_path / "memory", Wishes())
    with pytest.raises(ConflictError, match="a workspace already"):
        init.make(maker, tmp_path / "memory", Wishes())


def test_without_an_identity_nothing_is_made(maker: Maker, tmp_path: Path, hermetic: Path) -> None:
    (hermetic / ".gitconfig").write_text("")
    with pytest.raises(IdentityError):
        init.make(maker, tmp_path / "memory", Wishes())
    assert not (tmp_path / "memory").exists()


def test_a_template_of_ones_own_is_taken_over(maker: Maker, tmp_path: Path) -> None:
    template = tmp_path / "template"
    put(template, "gitmem.yaml", "# ours\nformat: 1\nid: null\nlimits: {jobs: 9}\n", commit=False)
    put(template, "scripts/go.sh", "#!/bin/sh\n", commit=False).chmod(0o755)
    put(template, ".git/config", "not a file of the template\n", commit=False)
    made = init.make(maker, tmp_path / "memory", Wishes(template=template))
    assert (made.root / "gitmem.yaml").read_text().startswith("# ours\n")
    assert git(made.root, "ls-files", "--stage", "scripts/go.sh").startswith("100755 ")
    with pytest.raises(UsageError, match="no template"):
        init.make(maker, tmp_path / "other", Wishes(template=tmp_path))


def test_here_is_a_branch_of_its_own_and_the_code_stays_as_it_is(
    maker: Maker, code: Path, code_git: Git, tmp_path: Path
) -> None:
    before = state(code)
    made = init.make_here(maker, code_git, Wishes())
    assert state(code) == before
    assert made.root == code / ".gitmem"
    assert made.branch == "gitmem"
    assert git(code, "rev-list", "--count", "gitmem").strip() == "1"
    assert git(code, "merge-base", "trunk", "gitmem", ok=False) == ""
    assert git(made.root, "status", "--short") == ""
    assert not (tmp_path / "hook-ran").exists()
    with find(code) as ws:
        assert (ws.config.id, ws.root) == (made.id, made.root)
        assert ws.config.repositories[0]["name"] == "web-app"
        assert ws.config.repositories[0]["base"] == "trunk"


def test_here_twice_is_refused_and_in_another_clone_the_branch_is_checked_out(
    maker: Maker, code: Path, code_git: Git, tmp_path: Path
) -> None:
    made = init.make_here(maker, code_git, Wishes())
    with pytest.raises(ConflictError):
        init.make_here(maker, code_git, Wishes())
    git(tmp_path, "clone", "-q", str(code), "clone")
    config = (tmp_path / "clone/.git/config").read_text()
    with Git.discover(tmp_path / "clone") as clone:
        again = init.make_here(maker, clone, Wishes())
    assert (again.id, again.commit) == (made.id, None)
    assert (tmp_path / "clone/.gitmem/gitmem.yaml").is_file()
    assert (tmp_path / "clone/.git/config").read_text() == config


def test_here_leaves_a_branch_of_the_same_name_alone(maker: Maker, code: Path, code_git: Git) -> None:
    git(code, "branch", "gitmem")
    with pytest.raises(ConflictError, match="holds no workspace"):
        init.make_here(maker, code_git, Wishes())


def test_beside_registers_the_code_and_is_found_from_it(
    maker: Maker, code: Path, code_git: Git, tmp_path: Path
) -> None:
    git(code, "remote", "add", "origin", "https://ana:token@example.org/team/web.git")
    before = state(code)
    made = init.make_beside(maker, code_git, tmp_path / "memory", Wishes())
    assert state(code) == before
    with find(code / ".") as ws:
        assert ws.config.id == made.id
        assert ws.config.repositories == (
            {"name": "web-app", "url": "https://example.org/team/web.git", "base": "trunk"},
        )
    assert "ana:token" not in git(made.root, "show", "--format=", "HEAD")


def test_beside_keeps_what_the_user_wrote_into_their_configuration(
    maker: Maker, code: Path, code_git: Git, tmp_path: Path, hermetic: Path
) -> None:
    config = put(hermetic, ".config/gitmem/config.yaml", "# mine\nnotify: 'say hi'\n", commit=False)
    made = init.make_beside(maker, code_git, tmp_path / "memory", Wishes())
    text = config.read_text()
    assert text.startswith("# mine\nnotify: 'say hi'\n")
    known = document.parse(text.encode(), "config.yaml").fields["workspaces"]
    assert known == {str(code): str(made.root)}


def test_beside_within_the_code_or_beside_a_workspace_that_is_known_is_refused(
    maker: Maker, code: Path, code_git: Git, tmp_path: Path
) -> None:
    with pytest.raises(UsageError, match="inside the code repository"):
        init.make_beside(maker, code_git, code / "memory", Wishes())
    init.make_beside(maker, code_git, tmp_path / "memory", Wishes())
    with pytest.raises(ConflictError, match="has its workspace in"):
        init.make_beside(maker, code_git, tmp_path / "second", Wishes())
    assert not (tmp_path / "second").exists()
