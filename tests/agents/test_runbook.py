"""The runbook agent, whole: its program as a process, and what it hands back as gitmem reads it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from gitmem.agents import processes
from gitmem.agents.adapter import EventType, Job
from gitmem.agents.registry import adapter_named
from gitmem.core.states import Reason
from gitmem.memory import skills
from gitmem.store import document
from gitmem.store.document import Document
from tests.agents.conftest import Drive, events_of
from tests.support.bell import Bell

RUNBOOK = adapter_named("runbook")
FRONT = '---\nid: 7k3q9d2m\n\ntitle: "Rotate: the staging certificate"\n\nstatus: todo\n---\n'


def issue(job: Job, body: str, front: str = FRONT) -> Job:
    (job.work / ".gitmem" / "ISSUE.md").write_text(front + body)
    return job


def attach(job: Job, name: str, body: str) -> Job:
    folder = job.work / ".agents" / "skills" / name
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: x\n---\n{body}")
    return replace(job, env={"GITMEM_ATTACHED_SKILLS": name})


def handed_back(job: Job, path: str) -> Document:
    file = job.work / ".gitmem" / "outbox" / path
    parsed = document.parse(file.read_bytes(), path)
    assert parsed.problems == ()
    return parsed


def outbox(job: Job) -> list[str]:
    folder = job.work / ".gitmem" / "outbox"
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


GOOD = """The certificate of staging runs out every quarter.

```sh
echo renewing > cert.txt
cat cert.txt
```

Then tell the proxy:

```console
$ this is not run
```

```bash
[[ -f cert.txt ]] && echo reloaded
```
"""


def test_the_blocks_run_in_order_and_everything_is_handed_back(job: Job, turn: Drive) -> None:
    verdict = turn(RUNBOOK, issue(job, GOOD))
    assert (verdict.reason, verdict.text) == (None, "Ran 2 blocks of the issue; every one exited 0.")
    assert verdict.tool_ran
    assert outbox(job) == [
        "comments/runbook.md",
        "result.md",
        "skills/rotate-the-staging-certificate/SKILL.md",
    ]
    result = handed_back(job, "result.md")
    assert result.fields == {"outcome": "done", "summary": verdict.text, "reason": None, "used": []}
    assert "cat cert.txt" in result.body
    assert "```text\nrenewing\n```" in result.body
    assert "```text\nreloaded\n```" in result.body
    assert "not run" not in result.body
    assert handed_back(job, "comments/runbook.md").body.strip() == verdict.text


def test_the_skill_that_it_offers_passes_our_own_lint(job: Job, turn: Drive) -> None:
    turn(RUNBOOK, issue(job, GOOD))
    name = "rotate-the-staging-certificate"
    skill = handed_back(job, f"skills/{name}/SKILL.md")
    assert skill.fields == {
        "name": name,
        "description": "The certificate of staging runs out every quarter. "
        "Use when asked to: Rotate: the staging certificate.",
        "metadata": {
            "gitmem-status": "candidate",
            "gitmem-issue": "7k3q9d2m",
            "gitmem-asks": "Rotate: the staging certificate",
        },
    }
    assert skills.lint(name, {"SKILL.md": skill.raw}) == []
    assert skill.body.count("```sh\n") == 1
    assert skill.body.count("```bash\n") == 1


def test_it_stops_at_the_first_failure_and_offers_no_skill(job: Job, turn: Drive) -> None:
    failing = "```sh\necho 'no certificate' >&2\nfalse\necho never\n```\n"
    body = f"```sh\necho one\n```\n{failing}```sh\ntouch never\n```\n"
    verdict = turn(RUNBOOK, issue(job, body))
    assert (verdict.reason, verdict.exit, verdict.text) == (Reason.AGENT_FAILED, 1, "")
    assert verdict.detail == "Block 2 of 3 of the issue exited 1."
    assert not (job.work / "never").exists()
    assert outbox(job) == ["comments/runbook.md", "result.md"]
    result = handed_back(job, "result.md")
    assert (result.fields["outcome"], result.fields["reason"]) == ("failed", "no certificate")
    assert "echo never" in result.body
    assert "no certificate" in handed_back(job, "comments/runbook.md").body


def test_an_unset_variable_is_a_failure(job: Job, turn: Drive) -> None:
    assert turn(RUNBOOK, issue(job, '```sh\nrm -rf "$NOT_SET/x"\n```\n')).reason is Reason.AGENT_FAILED


def test_without_a_block_of_its_own_an_issue_runs_its_attached_skills(job: Job, turn: Drive) -> None:
    job = attach(issue(job, "Please polish.\n"), "polish", "```sh\necho polished\n```\n")
    verdict = turn(RUNBOOK, job)
    assert verdict.text == "Ran 1 block of skill polish; every one exited 0."
    assert handed_back(job, "result.md").fields["used"] == ["skill:polish"]
    assert outbox(job) == ["comments/runbook.md", "result.md"]  # the skill is there already


def test_the_issues_own_blocks_go_before_a_skills(job: Job, turn: Drive) -> None:
    job = attach(issue(job, "```sh\necho own\n```\n"), "polish", "```sh\necho polished\n```\n")
    assert turn(RUNBOOK, job).text == "Ran 1 block of the issue; every one exited 0."


@pytest.mark.parametrize("names", ["../../../etc", "polish,../x", "a/b", ""])
def test_names_of_skills_are_names_and_not_paths(job: Job, turn: Drive, names: str) -> None:
    outside = job.work / ".agents" / "SKILL.md"
    outside.parent.mkdir()
    outside.write_text("```sh\ntouch escaped\n```\n")
    turn(RUNBOOK, replace(issue(job, "Nothing.\n"), env={"GITMEM_ATTACHED_SKILLS": names}))
    assert not (job.work / "escaped").exists()


def test_with_nothing_to_run_it_is_blocked_and_says_so(job: Job, turn: Drive) -> None:
    verdict = turn(RUNBOOK, issue(job, "Think about it.\n\n```python\nprint(1)\n```\n"))
    assert verdict.reason is None
    assert handed_back(job, "result.md").fields["outcome"] == "blocked"
    assert outbox(job) == ["result.md"]


def test_an_issue_that_is_not_there_is_nothing_to_run(job: Job, turn: Drive) -> None:
    assert turn(RUNBOOK, job).reason is None
    assert handed_back(job, "result.md").fields["outcome"] == "blocked"


def test_events_tell_each_block(job: Job, turn: Drive) -> None:
    turn(RUNBOOK, issue(job, GOOD))
    kinds = [event["type"] for event in events_of(job)]
    assert kinds == ["start", *["tool_start", "tool_end"] * 2, "message", "result"]


def test_a_flood_of_output_is_bounded_in_what_is_handed_back(job: Job, turn: Drive) -> None:
    verdict = turn(RUNBOOK, issue(job, "```sh\nyes flood | head -c 20000000\necho the end\n```\n"))
    assert verdict.reason is None
    body = handed_back(job, "result.md").body
    assert len(body) < 40_000
    assert "bytes cut ...]" in body
    assert "the end" in body


def test_output_that_looks_like_markdown_stays_inside_its_fence(job: Job, turn: Drive) -> None:
    turn(RUNBOOK, issue(job, "````sh\nprintf '```\\n# Not a heading\\n---\\nowner: evil\\n'\n````\n"))
    body = handed_back(job, "result.md").body
    assert "````text\n```\n# Not a heading\n" in body


def test_a_background_program_does_not_hold_up_the_next_block_and_is_stopped_at_the_end(
    job: Job, turn: Drive
) -> None:
    body = "```sh\nsleep 600 &\necho $! > pid\n```\n```sh\nkill -0 $(cat pid) && echo still there\n```\n"
    assert turn(RUNBOOK, issue(job, body)).reason is None
    assert "still there" in handed_back(job, "result.md").body
    assert processes.entry_of(int((job.work / "pid").read_text())) is None


def test_cancelling_stops_the_block_and_its_children(job: Job, turn: Drive, bell: Bell) -> None:
    cancel = threading.Event()
    job = issue(job, f"```sh\nsleep 600 & echo $! > {bell.path}\nwait\n```\n")
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(turn, RUNBOOK, job, cancel)
        child = bell.wait()
        cancel.set()
        assert ended.result(60).reason is Reason.CANCELLED
    assert processes.entry_of(int(child)) is None


def test_a_module_in_the_work_directory_does_not_replace_ours(job: Job, turn: Drive) -> None:
    for name in ("json.py", "gitmem.py", "subprocess.py"):
        (job.work / name).write_text("raise SystemExit('taken over')\n")
    assert turn(RUNBOOK, issue(job, "```sh\necho fine\n```\n")).reason is None


def test_a_block_that_is_too_long_for_an_argument_fails_with_what_to_do(job: Job, turn: Drive) -> None:
    verdict = turn(RUNBOOK, issue(job, f"```sh\n: {'x' * 130_000}\n```\n"))
    assert verdict.reason is Reason.AGENT_FAILED
    assert "put it into a file" in str(handed_back(job, "result.md").fields["reason"])


def test_a_block_sees_its_output_ordered_and_no_terminal_control(job: Job, turn: Drive) -> None:
    heard = []
    body = "```sh\nprintf '\\033[31mred\\033[0m\\n'; echo err >&2; printf '10%%\\r100%%\\n'\n```\n"
    turn(RUNBOOK, issue(job, body), on_event=heard.append)
    [end] = [event for event in heard if event.type is EventType.TOOL_END]
    assert end.text == "red\nerr\n100%"
