"""Skills, agents, members, runs, show, status, log, doctor."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.agents import registry
from gitmem.store.checkout import LOCK_MARK
from gitmem.store.lock import exclusive
from tests.cli.conftest import Cli
from tests.conftest import git, put

DESCRIPTION = "How to make a login test reliable that fails now and then, with a fake clock"
RUN = """---
id: 9d0k3v7p
task: task:t1
issue: issue:{issue}
agent: claude
outcome: succeeded
started: 2026-11-30T22:00:00Z
ended: 2026-11-30T22:01:30Z
usage:
  input: 1200
  output: 34
produced:
  - skills/retry-login/SKILL.md
branch: null
session_id: s-1
snapshot: null
---
Final words.
"""


def test_a_skill_is_written_attached_and_listed(cli: Cli) -> None:
    made = cli.json(
        "skill", "create", "retry-login", "--description", DESCRIPTION, "-b", "# Do\n\nFake the clock.",
        "--attach", "claude",
    )  # fmt: skip
    assert {"name", "description", "status", "path", "attached_to"} <= set(made)
    assert (made["status"], made["attached_to"]) == ("active", ["claude"])
    assert cli.json("skill", "list")[0]["attached_to"] == ["claude"]
    assert cli.json("skill", "list", "--agent", "codex") == []
    shown = cli.json("skill", "view", "retry-login")
    assert shown["files"] == ["skills/retry-login/SKILL.md"]
    assert shown["body"].startswith("# Do")


def test_a_skill_that_breaks_the_specification_is_not_written(cli: Cli) -> None:
    refused = cli("skill", "create", "Retry Login", "--description", DESCRIPTION, "-b", "x", "--json")
    assert (refused.code, refused.error["kind"]) == (12, "invalid")
    assert refused.error["problems"][0]["path"] == "skills/Retry Login/SKILL.md"
    assert cli.json("skill", "list") == []


def test_attaching_twice_and_detaching_are_one_edit_each(cli: Cli) -> None:
    cli.ok("skill", "create", "retry-login", "--description", DESCRIPTION, "-b", "Do.")
    agents = cli.json("skill", "attach", "retry-login", "claude", "codex")
    assert [agent["skills"] for agent in agents] == [["retry-login"], ["retry-login"]]
    assert cli.json("skill", "attach", "retry-login", "claude")[0]["commit"] is None
    assert cli.json("skill", "detach", "retry-login", "claude")[0]["skills"] == []
    refused = cli("skill", "detach", "retry-logn", "codex", "--json")
    assert (refused.code, refused.error["nearest"]) == (1, ["retry-login"])


def test_lint_finds_errors_inside_and_outside_the_workspace(cli: Cli, tmp_path: Path) -> None:
    put(cli.folder, "skills/bad/SKILL.md", "---\nname: other\ndescription: x\n---\nSee [this](gone.md).\n")
    result = cli("skill", "lint", "--json")
    assert result.code == 12
    codes = {problem["code"] for problem in result.json}
    assert {"name-not-folder", "dead-link"} <= codes
    assert set(result.json[0]) == {"path", "line", "column", "severity", "code", "message", "hint"}
    outside = put(
        tmp_path / "skills",
        "good-one/SKILL.md",
        f"---\nname: good-one\ndescription: {DESCRIPTION}\n---\nDo.\n",
        commit=False,
    )
    assert cli.ok("skill", "lint", str(outside.parent)).out == ""
    assert cli("skill", "lint", "absent").code == 1


def test_the_skill_of_the_template_is_free_of_problems(cli: Cli) -> None:
    template = Path(__file__).resolve().parents[2] / "template-workspace" / "skills" / "hand-back-results"
    assert cli.json("skill", "lint", str(template)) == []


def test_an_agent_is_added_with_every_key(cli: Cli) -> None:
    made = cli.json("agent", "create", "reviewer", "--adapter", "claude", "--model", "opus", "-b", "Review.")
    assert (made["adapter"], made["model"]) == ("claude", "opus")
    assert made["budget"] == {"runs_per_issue_day": 3, "tokens_per_day": 2_000_000}
    assert cli.json("agent", "view", "reviewer")["body"] == "Review.\n"
    refused = cli("agent", "create", "x", "--adapter", "cluade", "--json")
    assert (refused.code, refused.error["nearest"]) == (1, ["claude"])
    assert cli("agent", "create", "reviewer", "--adapter", "claude").code == 13
    assert cli("agent", "create", "../x", "--adapter", "claude").code == 2


def test_a_member_is_added_and_an_address_belongs_to_one(cli: Cli) -> None:
    made = cli.json("member", "create", "bo", "--name", "Bo", "--email", "bo@example.org", "--role", "coder")
    assert (made["handle"], made["emails"], made["role"]) == ("bo", ["bo@example.org"], "coder")
    refused = cli("member", "create", "bob", "--email", "BO@example.org")
    assert refused.code == 2
    assert "member:bo" in refused.err
    assert {member["handle"] for member in cli.json("member", "list")} == {"ana", "bo"}


def test_the_actor_is_the_member_with_the_address_of_git(cli: Cli, issue: str) -> None:
    git(cli.folder, "config", "user.email", "Bo@Example.org")
    git(cli.folder, "config", "user.name", "Someone Else")
    assert cli.json("issue", "comment", issue, "-b", "x")["author"] == "member:someone-else"
    cli.ok("member", "create", "bo", "--email", "bo@example.org")
    assert cli.json("issue", "comment", issue, "-b", "y")["author"] == "member:bo"


@pytest.fixture
def run(cli: Cli, issue: str) -> str:
    put(cli.folder, "runs/2026-11/9d0k3v7p.md", RUN.format(issue=issue))
    return "9d0k3v7p"


def test_json_of_a_run_has_the_keys_that_others_build_on(cli: Cli, issue: str, run: str) -> None:
    wanted = (
        "id task issue agent outcome reason commit branch produced usage session_id snapshot duration_s path"
    )
    shown = cli.json("runs", "view", run)
    assert set(wanted.split()) <= set(shown)
    assert shown["duration_s"] == 90
    assert shown["commit"] == git(cli.folder, "rev-parse", "HEAD").strip()
    assert [r["id"] for r in cli.json("runs", "list", "--issue", issue[:5])] == [run]
    assert cli.json("runs", "list", "--outcome", "failed") == []
    assert cli.json("runs", "list", "--task", "task:t1", "--agent", "claude")[0]["usage"]["input"] == 1200


def test_lists_of_runs_name_the_commit_that_delivered_each(cli: Cli, issue: str, run: str) -> None:
    delivery = git(cli.folder, "rev-parse", "HEAD").strip()
    changed = RUN.format(issue=issue)
    put(cli.folder, "runs/2026-11/9d0k3v7p.md", changed.replace("Final", "Corrected final"))
    fresh = changed.replace(run, "9d0k3v7q").replace("22:01:30", "22:02:30")
    put(cli.folder, "runs/2026-12/9d0k3v7q.md", fresh, commit=False)
    wanted = {run: delivery, "9d0k3v7q": None}
    assert {r["id"]: r["commit"] for r in cli.json("runs", "list")} == wanted
    past = cli.json("status", "--since", "2026-11-30T00:00:00Z")["since"]
    assert {r["id"]: r["commit"] for r in past["runs"]} == wanted
    assert cli.json("runs", "view", run)["commit"] == delivery


def test_show_takes_an_id_a_prefix_a_reference_or_a_path_of_any_kind(cli: Cli, issue: str, run: str) -> None:
    comment = cli.ok("issue", "comment", issue, "-b", "Hello").id
    put(cli.folder, "knowledge/workspace/clock.md", "---\nkind: fact\nabout: clocks\n---\nThey drift.\n")
    for ref in (issue, issue[:6], f"issue:{issue}", cli.json("issue", "view", issue)["path"]):
        assert cli.json("show", ref)["id"] == issue
    assert cli.json("show", run)["outcome"] == "succeeded"
    assert cli.json("show", comment)["body"] == "Hello\n"
    assert cli.json("show", "agent:claude")["adapter"] == "claude"
    assert cli.json("show", "member:ana")["handle"] == "ana"
    knowledge = cli.json("show", "knowledge:workspace/clock")
    assert (knowledge["kind"], knowledge["body"]) == ("knowledge", "They drift.\n")
    assert cli.json("show", "gitmem.yaml")["id"] == "k3v9x2m7"
    assert ["id", "k3v9x2m7"] in cli.ok("show", "gitmem.yaml").rows
    assert cli("show", "zzzzzzzz").code == 1


def test_nested_settings_are_shown_in_words(cli: Cli) -> None:
    land = "land:\n  - kinds: [comment, run]\n    by: any\n  - kinds: [skill]\n    as: candidate\n"
    actors = "actors:\n  agent:claude:\n    role: coder\n    projects: [docs]\n"
    put(cli.folder, "policy.yaml", f"{land}{actors}trusted: []\n")
    shown = dict(cli.ok("show", "policy.yaml").rows)
    assert shown["land"] == "kinds [comment, run], by any; kinds [skill], as candidate"
    assert shown["actors"] == "agent:claude (role coder, projects [docs])"


def test_log_tells_who_did_what(cli: Cli, issue: str) -> None:
    cli.ok("--as", "agent:claude", "issue", "comment", issue, "-b", "x")
    put(cli.folder, "context.md", "# By hand\n")
    newest, comment, created = cli.json("log", "-n", "3")
    assert set(newest) == {"commit", "time", "actor", "action", "trace", "refs", "subject"}
    assert (newest["actor"], newest["action"]) == ("member:ana", "edit")
    assert (comment["actor"], comment["action"]) == ("agent:claude", "comment.create")
    assert f"issue:{issue}" in created["refs"]


def test_log_filters(cli: Cli, issue: str) -> None:
    cli.ok("issue", "create", "Other")
    cli.ok("--as", "agent:claude", "issue", "comment", issue, "-b", "x")
    ours = cli.json("log", issue, "-n", "0")
    assert [event["action"] for event in ours] == ["comment.create", "issue.create"]
    assert cli.json("log", cli.json("issue", "view", issue)["path"])[0]["action"] == "comment.create"
    for actor in ("agent:claude", "claude"):
        assert len(cli.json("log", "--actor", actor)) == 1
    assert {event["actor"] for event in cli.json("log", "--actor", "ana")} == {"member:ana"}
    assert cli.json("log", "--actor", "me") == cli.json("log", "--actor", "member:ana")
    assert cli.json("log", "--actor", "codex") == []
    assert len(cli.json("log", "--action", "issue.create")) == 2
    assert cli.json("log", "--trace", ours[0]["trace"]) == [ours[0]]
    assert cli.json("log", "--since", "2026-11-30T22:20:00Z", "--action", "issue.create") == []
    assert cli("log", "--since", "yesterday").code == 2
    assert cli("log", "no/such/path").code == 1


def test_log_of_a_task_that_has_ended(cli: Cli, issue: str) -> None:
    task = cli.ok("queue", "add", issue, "--agent", "claude").id
    cli.ok("queue", "cancel", task)
    wanted = ["queue.cancel", "queue.add"]
    assert [event["action"] for event in cli.json("log", task)] == wanted
    assert [event["action"] for event in cli.json("log", f"task:{task}")] == wanted
    assert "queue.cancel" in [event["action"] for event in cli.json("log", f"queue/{task}.yaml")]


def test_status_shows_the_queue_and_what_waits_for_people(cli: Cli, issue: str) -> None:
    cli.ok("queue", "add", issue, "--agent", "claude")
    put(cli.folder, "queue/t1.yaml", f"issue: {issue}\nagent: codex\nstate: waiting\n")
    review = cli.ok("issue", "create", "Look at this", "-s", "in_review").id
    put(cli.folder, "issues/broken.md", "---\ntitle: a: b\n---\n")
    shape = cli.json("status")
    assert (shape["queued"], shape["running"], shape["waiting"]) == (1, 0, 1)
    assert [item["id"] for item in shape["waiting_for_people"]] == [review]
    assert shape["files_with_errors"] == 1
    words = cli.ok("status").out
    assert "1 queued" in words
    assert review in words


def test_status_since_tells_what_happened_meanwhile(cli: Cli, issue: str, run: str) -> None:
    put(cli.folder, "skills/new-one/SKILL.md", f"---\nname: new-one\ndescription: {DESCRIPTION}\n---\nDo.\n")
    past = cli.json("status", "--since", "12h")["since"]
    assert past["outcomes"] == {"succeeded": 1}
    assert past["spent"] == {"input": 1200, "output": 34}
    assert past["new_skills"] == ["new-one"]
    assert past["commits"] > past["commits_by_hand"] >= 2
    assert "1 succeeded" in cli.ok("status", "--since", "12h").out
    assert cli.json("status", "--since", "2099-01-01T00:00:00Z")["since"]["commits"] == 0


def test_status_names_a_task_that_was_dropped_on_another_branch(cli: Cli, issue: str) -> None:
    git(cli.folder, "switch", "-q", "-c", "feature")
    put(cli.folder, "queue/lost.yaml", f"issue: {issue}\n", commit=False)
    warnings = cli.json("status")["warnings"]
    assert len(warnings) == 1
    assert "queue/lost.yaml lies on branch feature" in warnings[0]


def checks(cli: Cli) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in cli("doctor", "--json").json}


def test_doctor_says_what_is_well(cli: Cli) -> None:
    result = cli("doctor", "--json")
    found = checks(cli)
    assert set(result.json[0]) == {"name", "status", "message", "cure"}
    names = "git python watcher disk identity workspace operation index.lock journal lock claims remote index"
    assert set(names.split()) <= set(found)
    assert found["git"]["status"] == found["workspace"]["status"] == "ok"
    assert {check["status"] for check in result.json} <= {"ok", "warn"}
    assert result.code == 0


def test_doctor_names_every_adapter_and_minds_only_programs_that_agents_want(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "bin" / "codex"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho codex-cli 0.1.0\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", f"{old.parent}:/usr/bin:/bin")
    found = checks(cli)
    assert {f"agent {name}" for name in registry.names()} <= set(found)
    status = {name: found[f"agent {name}"]["status"] for name in ("claude", "codex", "gemini", "runbook")}
    assert status == {"claude": "warn", "codex": "warn", "gemini": "ok", "runbook": "ok"}
    assert "too old" in found["agent codex"]["message"]
    assert found["agent gemini"]["message"] == "not installed"


def test_doctor_finds_what_is_left_over_and_names_the_cure(cli: Cli, issue: str) -> None:
    (cli.folder / ".git/index.lock").touch()
    (cli.folder / ".git/MERGE_HEAD").write_text(git(cli.folder, "rev-parse", "HEAD"))
    (cli.folder / ".git/gitmem/journal.json").write_text("{}")
    blob = git(cli.folder, "hash-object", "-w", "--stdin", data="{}").strip()
    git(cli.folder, "update-ref", "refs/gitmem/claims/t1", blob)
    git(cli.folder, "remote", "add", "origin", "https://ana:secret@example.org/x.git")
    found = checks(cli)
    for name in ("index.lock", "operation", "journal", "claims"):
        assert found[name]["status"] == "warn", name
        assert found[name]["cure"]
    assert "secret" not in found["remote"]["message"]


def test_doctor_tells_the_index_lock_of_a_change_under_way_and_removes_a_left_over_one(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.store.journal.RECOVERY_WAIT_S", 0.0)
    (cli.folder / ".git/index.lock").write_bytes(LOCK_MARK)
    with exclusive(cli.folder / ".git/gitmem/lock"):
        found = checks(cli)["index.lock"]
    assert "gitmem's own" in found["message"]
    assert checks(cli)["index.lock"]["status"] == "ok"
    git(cli.folder, "commit", "-q", "--allow-empty", "-m", "the user's next ordinary commit")


def test_doctor_names_a_work_tree_that_cannot_be_found(cli: Cli, tmp_path: Path) -> None:
    git(cli.folder, "init", "-q", f"--separate-git-dir={tmp_path / 'store'}")
    git(cli.folder, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    result = cli("doctor", "--json", within=tmp_path / "linked")
    found = next(check for check in result.json if check["name"] == "workspace")
    assert found["status"] == "warn"
    assert "cannot be found" in found["message"]


def test_doctor_works_without_a_workspace_and_an_identity(cli: Cli, tmp_path: Path, hermetic: Path) -> None:
    (hermetic / ".gitconfig").write_text("")
    outside = tmp_path / "outside"
    outside.mkdir()
    result = cli("doctor", "--json", within=outside)
    assert result.code == 1
    assert "gitmem init" in next(c["cure"] for c in result.json if c["name"] == "workspace")
    assert checks(cli)["identity"]["status"] == "error"


@pytest.mark.parametrize("words", ["queue list", "skill list", "agent list", "member list", "issue list"])
def test_every_list_takes_a_limit_and_says_what_it_leaves_out(cli: Cli, words: str) -> None:
    for name in ("one-skill", "other-skill"):
        cli.ok("skill", "create", name, "--description", DESCRIPTION, "-b", "Do.")
        cli.ok("member", "create", name)
        cli.ok("issue", "create", name, "--assign", "claude", "--queue")
    shown = cli.ok(*words.split(), "-L", "1")
    assert len(shown.rows) == 1
    assert "only the first 1 are shown; -L 0 shows all" in shown.err
    whole = cli.ok(*words.split(), "-L", "0")
    assert len(whole.rows) > 1
    assert "only the first" not in whole.err
