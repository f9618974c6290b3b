from __future__ import annotations

from tests.cli.conftest import Cli
from tests.conftest import git, put


def test_add_prints_the_task(cli: Cli, issue: str) -> None:
    task = cli.json("queue", "add", issue, "--agent", "claude")
    assert {"id", "issue", "agent", "state", "attempt", "priority", "trigger", "path"} <= set(task)
    assert (task["issue"], task["agent"], task["state"]) == (f"issue:{issue}", "claude", "queued")
    assert task["path"] == f"queue/{task['id']}.yaml"
    assert task["commit"] == git(cli.folder, "rev-parse", "HEAD").strip()


def test_add_asks_the_assignee_else_the_default_agent(cli: Cli, issue: str) -> None:
    refused = cli("queue", "add", issue)
    assert refused.code == 2
    assert f"gitmem queue add {issue} --agent NAME" in refused.err
    cli.ok("issue", "assign", issue, "codex")
    assert cli.json("queue", "add", issue)["agent"] == "codex"


def test_add_with_several_agents_makes_a_task_each_in_one_commit(cli: Cli, issue: str) -> None:
    before = len(cli.commits())
    tasks = cli.json("queue", "add", issue, "--agent", "claude", "--agent", "codex")
    assert [task["agent"] for task in tasks] == ["claude", "codex"]
    assert len(cli.commits()) == before + 1


def test_asking_twice_is_no_second_run(cli: Cli, issue: str) -> None:
    first = cli.json("queue", "add", issue, "--agent", "claude")
    again = cli.json("queue", "add", issue, "--agent", "claude")
    assert again["id"] == first["id"]
    assert again["commit"] is None
    assert len(cli.json("queue", "list")) == 1


def test_nobody_works_on_a_closed_issue(cli: Cli, issue: str) -> None:
    cli.ok("issue", "close", issue)
    refused = cli("queue", "add", issue, "--agent", "claude", "--json")
    assert (refused.code, refused.error["kind"]) == (1, "illegal_move")


def test_an_empty_queue_is_no_failure(cli: Cli) -> None:
    assert cli.ok("queue", "list").out == ""
    assert cli.json("queue", "list") == []


def test_a_task_that_a_person_dropped_is_listed(cli: Cli, issue: str) -> None:
    put(cli.folder, "queue/anything.yaml", f"issue: {issue}\n", commit=False)
    assert [task["id"] for task in cli.json("queue", "list")] == ["anything"]


def test_running_is_told_by_the_claim(cli: Cli, issue: str) -> None:
    task = cli.ok("queue", "add", issue, "--agent", "claude").id
    blob = git(cli.folder, "hash-object", "-w", "--stdin", data="{}").strip()
    git(cli.folder, "update-ref", f"refs/gitmem/claims/{task}", blob)
    assert cli.json("queue", "view", task)["state"] == "running"
    assert [t["id"] for t in cli.json("queue", "list", "-s", "running")] == [task]
    refused = cli("queue", "retry", task, "--json")
    assert (refused.code, refused.error["kind"]) == (1, "illegal_move")


def test_retry_takes_a_waiting_task_back_and_counts_anew(cli: Cli, issue: str) -> None:
    put(
        cli.folder,
        "queue/t1.yaml",
        f"# mine\nissue: issue:{issue}\nagent: claude\nstate: waiting\nattempt: 2\n"
        "not_before: 2026-12-01T00:00:00Z\n",
    )
    task = cli.json("queue", "retry", "t1", "--agent", "codex")
    assert (task["id"], task["state"], task["attempt"], task["agent"]) == ("t1", "queued", 0, "codex")
    assert task["not_before"] is None
    assert cli.show("queue/t1.yaml").startswith("# mine\n")


def test_retry_of_an_ended_run_makes_a_new_task(cli: Cli, issue: str) -> None:
    put(
        cli.folder,
        "runs/2026-11/9d0k3v7p.md",
        f"---\nid: 9d0k3v7p\nissue: issue:{issue}\nagent: claude\noutcome: failed\n---\n",
    )
    task = cli.json("queue", "retry", "run:9d0k")
    assert (task["agent"], task["trigger"], task["issue"]) == ("claude", "retry", f"issue:{issue}")


def test_cancel_takes_tasks_off_the_queue(cli: Cli, issue: str) -> None:
    tasks = cli.json("queue", "add", issue, "--agent", "claude", "--agent", "codex")
    cancelled = cli.json("queue", "cancel", tasks[0]["id"])
    assert [task["id"] for task in cancelled] == [tasks[0]["id"]]
    assert not (cli.folder / tasks[0]["path"]).exists()
    assert len(cli.json("queue", "cancel", "--all")) == 1
    assert cli.json("queue", "cancel", "--all") == []
    assert cli("queue", "cancel").code == 2
    assert cli("queue", "cancel", "absent").code == 1


def test_pause_is_a_commit_and_pausing_twice_is_not(cli: Cli) -> None:
    assert cli.json("queue", "pause")["paused"] is True
    assert "paused: true" in cli.show("gitmem.yaml")
    assert cli.json("queue", "pause")["commit"] is None
    assert "paused" in cli.ok("queue", "list").err
    cli.ok("queue", "resume")
    assert "paused: false" in cli.show("gitmem.yaml")
