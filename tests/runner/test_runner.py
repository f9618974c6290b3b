"""One task, from the queue to its commit; and what happens when it does not go well."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.runner.loop import TIMER_S
from gitmem.runner.options import Notice
from gitmem.store import claims, document
from gitmem.store.claims import this_process
from tests.conftest import git, put
from tests.runner.conftest import ISSUE, ISSUE_ID, Bench

SUBJECTS = ("log", "--reverse", "--format=%s", "-n", "3")


def test_a_task_becomes_three_commits_a_comment_a_record_and_a_skill(bench: Bench, hermetic: Path) -> None:
    bench.queue("worker")
    summary = bench.once()
    assert list(summary.outcomes.values()) == ["succeeded"]
    run = next(iter(summary.outcomes))
    assert git(bench.repo, *SUBJECTS).splitlines() == [
        "write queue/t1.yaml",
        f"run {run}: worker starts on issue {ISSUE_ID}",
        f"run {run}: succeeded, issue {ISSUE_ID} by worker",
    ]
    record = bench.run_record()
    assert (record["outcome"], record["reason"], record["issue"]) == ("succeeded", None, f"issue:{ISSUE_ID}")
    assert bench.show(record["path"]).endswith("It was the clock.\n")
    assert bench.status() == "done"
    assert len(bench.comments()) == 1
    assert "author: agent:worker" in bench.comments()[0]
    skill = bench.fields("skills/retry-login/SKILL.md")
    assert skill["metadata"] == {
        "gitmem-status": "candidate",
        "gitmem-run": run,
        "gitmem-issue": ISSUE_ID,
    }
    assert sorted(record["produced"]) == sorted([*bench.at_tip("comments/"), "skills/retry-login/SKILL.md"])
    assert bench.at_tip("queue/") == []
    assert bench.claims() == ""
    assert bench.is_clean()
    author = git(bench.repo, "log", "-1", "--format=%an %ae").split()
    assert author == ["worker", "agent+worker@k3v9x2m7.gitmem.invalid"]


def test_the_snapshot_is_pinned_and_says_what_the_run_saw(bench: Bench) -> None:
    bench.queue("worker")
    bench.once()
    snapshot = bench.run_record()["snapshot"]
    assert snapshot in git(bench.repo, "for-each-ref", "--format=%(objectname)", "refs/gitmem/snapshots")
    files = git(bench.repo, "ls-tree", "-r", "--name-only", snapshot).split()
    assert {"manifest.yaml", "context.md", ISSUE} <= set(files)
    assert "status: todo" in bench.show(ISSUE, at=snapshot)


def test_the_agent_works_outside_every_repository_of_ours(bench: Bench, hermetic: Path) -> None:
    bench.agent(
        "where", "git rev-parse --show-toplevel > .gitmem/outbox/result.md; pwd >> .gitmem/outbox/result.md"
    )
    bench.queue("where")
    bench.once()
    top, cwd = bench.show(bench.run_record()["path"]).splitlines()[-2:]
    assert top == cwd == str(hermetic / "runs" / "k3v9x2m7" / f"{ISSUE_ID}-where" / "work")


def test_a_one_line_file_dropped_by_hand_and_not_committed_is_a_request(bench: Bench) -> None:
    put(bench.repo, ISSUE, bench.show(ISSUE).replace("status", "assignee: agent:worker\n\nstatus"))
    put(bench.repo, "queue/please.yaml", f"issue: {ISSUE_ID}\n", commit=False)
    assert list(bench.once().outcomes.values()) == ["succeeded"]
    assert bench.told("adopted") == [{"task": "please"}]
    assert bench.run_record()["task"] == "task:please"
    assert bench.is_clean()


def test_an_issue_that_was_never_committed_is_taken_in_with_the_work_on_it(bench: Bench) -> None:
    put(
        bench.repo,
        "issues/mine.md",
        "---\nid: 00000001\n\ntitle: Mine\n\nstatus: todo\n---\nText\n",
        commit=False,
    )
    put(bench.repo, "queue/x.yaml", "issue: 00000001\nagent: worker\n", commit=False)
    assert list(bench.once().outcomes.values()) == ["succeeded"]
    assert bench.fields("issues/mine.md")["status"] == "done"
    assert bench.is_clean()


def test_a_hand_written_issue_gets_its_id_and_keeps_what_the_person_wrote(bench: Bench) -> None:
    put(bench.repo, "issues/idea.md", "# An idea\n\nText.\n")
    put(bench.repo, "issues/draft.md", "# A draft that is still being written\n", commit=False)
    bench.once()
    fields = bench.fields("issues/idea.md")
    assert fields["status"] == "todo"
    assert len(fields["id"]) == 8
    assert bench.show("issues/idea.md").endswith("# An idea\n\nText.\n")
    assert (bench.repo / "issues/draft.md").read_text() == "# A draft that is still being written\n"
    assert git(bench.repo, "status", "--porcelain").split() == ["??", "issues/draft.md"]


def test_a_broken_task_file_blocks_only_itself(bench: Bench) -> None:
    put(bench.repo, "queue/broken.yaml", "issue: [\n", commit=False)
    put(bench.repo, "queue/empty.yaml", "", commit=False)
    put(bench.repo, "queue/typo.yaml", f"isue: {ISSUE_ID}\n", commit=False)
    put(bench.repo, "queue/t1.yaml", f"issue: {ISSUE_ID}\nagent: worker\n", commit=False)
    assert list(bench.once().outcomes.values()) == ["succeeded"]
    assert {"task": "typo", "reason": "queue/typo.yaml:1: issue is missing"} in bench.told("held")
    assert (bench.repo / "queue/broken.yaml").read_text() == "issue: [\n"


@pytest.mark.parametrize("agent", ["idler", "talker"])
def test_an_agent_that_did_nothing_has_not_succeeded_whatever_it_says(bench: Bench, agent: str) -> None:
    bench.queue(agent)
    summary = bench.once()
    assert not summary.all_well
    assert (bench.run_record()["outcome"], bench.run_record()["reason"]) == ("failed", "no_result")
    assert bench.status() == "todo"
    assert ["kind: system" in text for text in bench.comments()] == [True]
    assert "All done" not in "".join(bench.comments())


def test_of_a_failed_agent_nothing_is_delivered_but_the_record_and_a_word(bench: Bench) -> None:
    bench.queue("failer")
    bench.once()
    record = bench.run_record()
    assert (record["outcome"], record["reason"], record["exit"]) == ("failed", "agent_failed", 3)
    assert ["author: system:runner" in text for text in bench.comments()] == [True]
    assert bench.status() == "todo"
    assert bench.at_tip("queue/") == []


def test_a_runbook_that_fails_says_which_block_and_what_it_printed(bench: Bench) -> None:
    put(bench.repo, "agents/runbook.md", "---\nadapter: runbook\n---\n", commit=False)
    put(bench.repo, ISSUE, bench.show(ISSUE) + "\n```sh\necho before; exit 4\n```\n", commit=False)
    git(bench.repo, "add", ".")
    git(bench.repo, "commit", "-q", "-m", "a runbook that fails")
    bench.queue("runbook")
    bench.once()
    assert (bench.run_record()["outcome"], bench.run_record()["reason"]) == ("failed", "agent_failed")
    assert "before" in bench.show(bench.run_record()["path"])
    assert bench.at_tip("skills/") == []


def test_a_failure_of_the_infrastructure_is_tried_again_later_and_then_given_up(bench: Bench) -> None:
    bench.queue("busy")
    bench.once()
    task = bench.fields("queue/t1.yaml")
    assert task["attempt"] == 1
    assert bench.run_record()["retry_at"] == task["not_before"]
    assert bench.status() == "in_progress"
    assert bench.once().outcomes == {}  # not yet
    bench.now += timedelta(hours=1)
    bench.once()
    assert bench.at_tip("queue/") == []
    assert bench.status() == "todo"
    assert len(bench.at_tip("runs/")) == 2


def test_a_missing_program_is_told_as_such(bench: Bench) -> None:
    put(bench.repo, "agents/ghost.md", "---\nadapter: command\n\ncommand:\n  - no-such-program-here\n---\n")
    bench.queue("ghost")
    bench.once()
    assert bench.run_record()["reason"] == "not_installed"


def test_a_question_makes_the_task_wait_for_a_person(bench: Bench) -> None:
    bench.queue("asker")
    assert bench.once().all_well
    assert bench.run_record()["outcome"] == "blocked"
    assert bench.fields("queue/t1.yaml")["state"] == "waiting"
    assert bench.status() == "blocked"
    assert "kind: question" in bench.comments()[0]
    assert bench.once().outcomes == {}


def test_a_persons_answer_puts_the_task_back_and_the_next_run_is_told(bench: Bench) -> None:
    bench.queue("asker")
    bench.once()
    bench.now += timedelta(minutes=1)
    comment = {"issue": f"issue:{ISSUE_ID}", "author": "agent:claude", "created": "2026-11-30T22:20:00Z"}
    put(bench.repo, f"comments/2026-11/{ISSUE_ID}/a.md", document.render(comment, "Not mine to say.\n"))
    assert bench.once().outcomes == {}
    comment["author"] = "member:ana"
    put(bench.repo, f"comments/2026-11/{ISSUE_ID}/b.md", document.render(comment, "The wall clock.\n"))
    bench.agent("asker", "cp .gitmem/COMMENTS.md .gitmem/outbox/result.md")
    assert list(bench.once().outcomes.values()) == ["succeeded"]
    assert bench.told("answered") == [{"task": "t1"}]
    assert any("The wall clock." in bench.show(path) for path in bench.at_tip("runs/"))


def test_the_question_of_a_blocked_run_stands_on_the_issue_beside_its_comments(bench: Bench) -> None:
    bench.agent(
        "blocked",
        "mkdir -p .gitmem/outbox/comments; echo progress > .gitmem/outbox/comments/1.md;"
        " printf -- '---\\noutcome: blocked\\nreason: two colours fit\\n---\\nWhich colour?\\n'"
        " > .gitmem/outbox/result.md",
    )
    bench.queue("blocked")
    bench.once()
    assert ["kind: question" in text for text in bench.comments()] == [False, True]
    assert "Which colour?" in bench.comments()[1]
    assert bench.run_record()["detail"] == "two colours fit"


def test_an_issue_that_needs_a_checkout_is_held_and_says_so(bench: Bench) -> None:
    put(bench.repo, ISSUE, bench.show(ISSUE).replace("status", "repo: web\n\nstatus"))
    bench.queue("worker")
    assert bench.once().outcomes == {}
    assert "checkout of web" in bench.told("held")[0]["reason"]


def test_an_issue_with_a_command_to_prove_it_is_not_done_before_somebody_ran_it(bench: Bench) -> None:
    criteria = "acceptance_criteria:\n  - check: make test\n\nstatus"
    put(bench.repo, ISSUE, bench.show(ISSUE).replace("status", criteria))
    bench.queue("worker")
    assert list(bench.once().outcomes.values()) == ["succeeded"]
    assert bench.status() == "in_review"


def test_a_runner_with_a_time_limit_ends_by_it_and_hands_back(bench: Bench) -> None:
    bench.agent("long", "exec sleep 600")
    bench.queue("long")
    begun = time.monotonic()
    bench.runner(max_time_s=1.5).run()
    assert time.monotonic() - begun < TIMER_S
    assert bench.at_tip("queue/") == ["queue/t1.yaml"]
    assert bench.claims() == ""


def test_a_credential_is_redacted_and_the_run_goes_to_review(bench: Bench) -> None:
    bench.queue("leaker")
    bench.once()
    assert bench.run_record()["outcome"] == "review"
    assert bench.run_record()["redacted"] == ["result.md: AWS Access Key"]
    everything = git(bench.repo, "log", "-p", "--all", "--", "runs", "comments", "skills")
    assert "QYLPMN5HFIQR7XYA" not in everything
    assert bench.status() == "in_review"


def test_a_credential_in_an_agents_output_or_in_a_file_name_never_reaches_the_history(bench: Bench) -> None:
    key = "QYLPMN5HFIQR7XYA"
    bench.agent("says", f"echo hi > made.txt; printf 'here: AKIA%s\\n' {key}")
    bench.agent("fails", f"printf 'no AKIA%s\\n' {key} >&2; exit 3")
    named = f"cd .gitmem/outbox; mkdir comments; echo x > comments/AKIA{key}.md; echo z > ../../z"
    bench.agent("names", named)
    for name in ("says", "fails", "names"):
        put(bench.repo, ISSUE, bench.show(ISSUE) + "again\n")
        bench.queue(name, task=name)
        bench.once()
        put(
            bench.repo,
            ISSUE,
            "\n".join(
                "status: todo" if line.startswith("status:") else line
                for line in bench.show(ISSUE).splitlines()
            ),
        )
    everything = git(bench.repo, "log", "--format=%B", "-p", "--all", "--", "runs", "comments")
    assert len(bench.at_tip("runs/")) == 3
    assert key not in everything
    assert "[redacted: AWS Access Key]" in everything
    outcomes = {bench.fields(path)["agent"]: bench.fields(path)["outcome"] for path in bench.at_tip("runs/")}
    assert outcomes["says"] == "review"


def test_links_that_an_agent_left_never_lead_the_next_run_out_of_its_directory(
    bench: Bench, tmp_path: Path
) -> None:
    mine = put(tmp_path, "mine/outbox/kept.txt", "kept", commit=False)
    skill = put(tmp_path, "claude/skills/kept/SKILL.md", "kept", commit=False)
    victim = put(tmp_path, "victim.txt", "kept", commit=False)
    program = (
        f"rm -rf .claude .agents .gitmem; ln -s {mine.parent.parent} .gitmem;"
        f" ln -s {tmp_path}/claude .claude; ln -s {tmp_path}/claude .agents;"
        f" rm -f .git/info/exclude; ln -s {victim} .git/info/exclude;"
        " for f in run.yaml stdout.log stderr.log events.jsonl verdict.json;"
        f" do rm -f ../$f; ln -s {victim} ../$f; done; exit 75"
    )
    bench.agent("evil", program)
    bench.queue("evil")
    for _ in range(2):
        bench.once()
        bench.now += timedelta(hours=1)
    assert [file.read_text() for file in (mine, skill, victim)] == ["kept"] * 3
    assert len(bench.at_tip("runs/")) == 2


def test_an_agent_that_puts_a_link_or_nothing_in_the_place_of_its_directory_has_not_succeeded(
    bench: Bench, tmp_path: Path
) -> None:
    bench.agent("leaver", f'd=$(pwd); cd /; rm -rf "$d"; ln -s {tmp_path} "$d"')
    bench.agent("wiper", 'd=$(pwd); cd /; rm -rf "$d"')
    for name in ("leaver", "wiper", "leaver"):
        bench.queue(name, task=name)
        bench.once()
    outcomes = [bench.fields(path)["outcome"] for path in bench.at_tip("runs/")]
    assert outcomes == ["failed"] * 3


def test_once_gives_up_and_fails_where_no_run_can_be_prepared(
    bench: Bench, hermetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitmem.runner.loop.RETRY_S", 0.01)
    (hermetic / "runs").write_text("a file in the place of the folder")
    bench.queue("worker")
    assert not bench.once().all_well
    assert bench.claims() == ""
    assert bench.at_tip("queue/") == ["queue/t1.yaml"]


def test_a_skill_that_people_wrote_is_never_changed_by_a_run(bench: Bench) -> None:
    mine = "---\nname: retry-login\n\ndescription: Ours, written by people for the login page.\n---\nMine.\n"
    put(bench.repo, "skills/retry-login/SKILL.md", mine)
    bench.queue("worker")
    bench.once()
    record = bench.run_record()
    assert record["outcome"] == "review"
    assert bench.show("skills/retry-login/SKILL.md") == mine
    assert "Fake the clock" in bench.show("skills/retry-login/SKILL.md", at=record["branch"])
    assert bench.status() == "in_review"


def test_an_agent_whose_review_is_required_waits_with_all_but_its_words(bench: Bench) -> None:
    put(
        bench.repo,
        "agents/worker.md",
        bench.show("agents/worker.md").replace("adapter", "review: required\n\nadapter"),
    )
    bench.queue("worker")
    bench.once()
    assert bench.run_record()["outcome"] == "review"
    assert not bench.at_tip("skills/")
    assert len(bench.comments()) == 1


def test_an_issue_that_changed_meanwhile_sends_the_result_to_review(bench: Bench) -> None:
    script = bench.repo.parent / "person.sh"
    script.write_text(
        f"cd {bench.repo} && sed -i 's/It fails/It never fails/' {ISSUE} && git commit -qam person"
    )
    bench.agent("slow", f"sh {script}; echo done > .gitmem/outbox/result.md")
    bench.queue("slow")
    bench.once()
    assert bench.run_record()["outcome"] == "review"
    assert bench.run_record()["changed_meanwhile"] == [f"issue:{ISSUE_ID}"]
    assert "It never fails" in bench.show(ISSUE)


def test_a_task_that_a_person_takes_away_is_cancelled_and_its_program_ended(bench: Bench) -> None:
    def cancel(notice: Notice) -> None:
        if notice.type == "event" and "ready" in notice.fields["text"]:
            git(bench.repo, "rm", "-q", "queue/t1.yaml")
            git(bench.repo, "commit", "-q", "-m", "cancelled")

    bench.agent("long", "echo ready; exec sleep 600")
    bench.queue("long")
    bench.on_notice = cancel
    bench.once()
    assert bench.run_record()["outcome"] == "cancelled"
    assert bench.status() == "todo"
    assert bench.claims() == ""


def test_stopping_the_runner_hands_the_task_back_at_once(bench: Bench) -> None:
    bench.agent("long", "echo ready; exec sleep 600")
    bench.queue("long")
    runner = bench.runner()
    bench.on_notice = lambda notice: runner.stop() if notice.type == "event" else None
    runner.run()
    assert bench.at_tip("queue/") == ["queue/t1.yaml"]
    assert bench.fields("queue/t1.yaml").get("attempt", 0) == 0
    assert bench.status() == "todo"
    assert bench.claims() == ""
    assert bench.is_clean()
    assert bench.at_tip("runs/") == []


def test_a_result_of_an_attempt_that_is_over_lands_beside(bench: Bench) -> None:
    script = bench.repo.parent / "other.sh"
    script.write_text(
        f"cd {bench.repo} && printf 'attempt: 1\\nnot_before: 2027-01-01\\n' >> queue/t1.yaml"
        " && git commit -qam other"
    )
    bench.agent("slow", f"sh {script}; echo done > .gitmem/outbox/result.md")
    bench.queue("slow")
    bench.once(jobs=1)
    late = git(bench.repo, "for-each-ref", "--format=%(refname)", "refs/gitmem/late").split()
    assert len(late) == 1
    assert any(path.startswith("runs/") for path in bench.at_tip(at=late[0]))
    assert bench.at_tip("runs/") == []
    assert bench.fields("queue/t1.yaml")["attempt"] == 1


def test_while_the_user_is_in_a_merge_the_result_is_kept_and_delivered_after(bench: Bench) -> None:
    git(bench.repo, "checkout", "-q", "-b", "side")
    put(bench.repo, "a.txt", "side")
    git(bench.repo, "checkout", "-q", "main")
    put(bench.repo, "a.txt", "main")
    script = bench.repo.parent / "merge.sh"
    script.write_text(f"cd {bench.repo} && git merge side; true")

    def abort(notice: Notice) -> None:
        if notice.type == "warning" and "merge is unfinished" in notice.fields["message"]:
            git(bench.repo, "merge", "--abort")

    bench.agent("slow", f"sh {script} >/dev/null; echo done > .gitmem/outbox/result.md")
    bench.queue("slow")
    bench.on_notice = abort
    assert list(bench.once().outcomes.values()) == ["succeeded"]
    assert len(bench.told("warning")) >= 1


def test_a_task_of_another_living_runner_is_left_alone(bench: Bench) -> None:
    bench.queue("worker")
    holder = this_process("other")
    held = claims.claim(
        bench.ws.git, "t1", run="r0", attempt=0, holder=holder, now=bench.now, entropy=lambda n: b"x" * n
    )
    assert held is not None
    assert bench.once().outcomes == {}
    claims.release(bench.ws.git, held)
    assert len(bench.once().outcomes) == 1


def test_a_claim_of_a_dead_runner_that_never_began_is_taken_over_at_once(bench: Bench) -> None:
    bench.queue("worker")
    dead = replace(this_process("other"), started="1")
    claims.claim(
        bench.ws.git, "t1", run="r0", attempt=0, holder=dead, now=bench.now, entropy=lambda n: b"x" * n
    )
    assert list(bench.once().outcomes.values()) == ["succeeded"]


def test_a_paused_queue_starts_nothing(bench: Bench) -> None:
    put(bench.repo, "gitmem.yaml", bench.show("gitmem.yaml") + "\npaused: true\n")
    bench.queue("worker")
    assert bench.once().outcomes == {}
    assert bench.told("held") == [{"task": "t1", "reason": "the queue is paused"}]


def test_a_dry_run_says_what_would_start_and_changes_nothing(bench: Bench) -> None:
    bench.queue("worker")
    before = bench.ws.tip()
    bench.once(dry_run=True)
    assert bench.told("would_start") == [{"task": "t1", "issue": ISSUE_ID, "agent": "worker"}]
    assert bench.ws.tip() == before


def test_commands_from_a_stranger_are_not_run(bench: Bench) -> None:
    put(bench.repo, "agents/evil.md", bench.show("agents/worker.md").replace("worker", "evil"), commit=False)
    git(bench.repo, "add", ".")
    git(bench.repo, "-c", "user.email=eve@example.org", "commit", "-q", "-m", "a gift")
    bench.queue("evil")
    bench.once()
    assert bench.run_record()["reason"] == "not_trusted"


def test_what_was_refused_stays_in_the_run_directory_and_is_named(bench: Bench, hermetic: Path) -> None:
    bench.agent("messy", "echo ok > .gitmem/outbox/result.md; echo x > .gitmem/outbox/what.txt")
    bench.queue("messy")
    bench.once()
    assert bench.run_record()["refused"] == ["what.txt: has no place in an outbox"]
    place = hermetic / "runs" / "k3v9x2m7" / f"{ISSUE_ID}-messy"
    assert (place / "work/.gitmem/outbox/what.txt").exists()
    put(bench.repo, ISSUE, bench.show(ISSUE).replace("status: done", "status: todo"))
    bench.queue("messy", "t2")
    bench.once()
    kept = sorted(path.name for path in (place / "past").rglob("what.txt"))
    assert kept == ["what.txt"]
    events = (place / "events.jsonl").read_text().splitlines()
    assert json.loads(events[-1])["type"] == "result"


def test_several_jobs_run_at_once_and_each_ends_once(bench: Bench) -> None:
    for n in range(6):
        put(
            bench.repo,
            f"issues/2026-11/0000000{n}.md",
            f"---\nid: 0000000{n}\n\ntitle: Issue {n}\n\nstatus: todo\n---\nx\n",
            commit=False,
        )
        put(bench.repo, f"queue/q{n}.yaml", f"issue: 0000000{n}\nagent: worker{n % 2}\n", commit=False)
    for n in range(2):
        text = bench.show("agents/worker.md").replace("name: worker", f"name: worker{n}\n\nmax_concurrent: 3")
        text = text.replace("retry-login", f"retry-login-{n}-$GITMEM_ISSUE")
        put(bench.repo, f"agents/worker{n}.md", text, commit=False)
    git(bench.repo, "add", ".")
    git(bench.repo, "commit", "-q", "-m", "six tasks")
    summary = bench.once(jobs=4)
    assert len(summary.outcomes) == 6
    assert sorted(bench.fields(path)["issue"] for path in bench.at_tip("runs/")) == [
        f"issue:0000000{n}" for n in range(6)
    ]
    assert bench.at_tip("queue/") == []
    assert bench.is_clean()
