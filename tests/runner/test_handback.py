"""Nothing an agent writes is trusted: what its outbox may hold, and what is refused with a reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitmem.core.judge import Said
from gitmem.runner import outbox
from gitmem.runner.handback import Handback, understand

SKILL = """---
name: a-skill

description: Use when the login test fails now and then on slow machines.
---
# Steps

Retry.
"""


def put(folder: Path, path: str, data: str | bytes) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    return file


def read(folder: Path) -> Handback:
    return understand(outbox.read(folder, 1_048_576))


def refused(back: Handback) -> dict[str, str]:
    return {refusal.path: refusal.reason for refusal in back.refused}


def test_an_absent_or_empty_outbox_is_empty(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere").is_empty
    assert read(tmp_path).is_empty


def test_each_kind_of_file_is_understood(tmp_path: Path) -> None:
    put(tmp_path, "result.md", "---\noutcome: done\nsummary: Fixed.\nused:\n  - skill:x\n---\nThe answer.\n")
    put(tmp_path, "comments/01.md", "Plain words.\n")
    put(tmp_path, "issues/next.md", "---\ntitle: Next\n---\n")
    put(tmp_path, "knowledge/clock.md", "---\nkind: fact\n---\nClocks drift.\n")
    put(tmp_path, "skills/a-skill/SKILL.md", SKILL)
    put(tmp_path, "skills/a-skill/scripts/run.sh", "#!/bin/sh\n").chmod(0o755)
    back = read(tmp_path)
    assert back.refused == ()
    assert back.result is not None
    assert (back.result.outcome, back.result.summary, back.result.body) == (
        Said.DONE,
        "Fixed.",
        "The answer.",
    )
    assert back.result.used == ("skill:x",)
    assert [note.body for note in back.comments] == ["Plain words."]
    assert [note.fields["title"] for note in back.issues] == ["Next"]
    assert [note.stem for note in back.knowledge] == ["clock"]
    assert [(s.name, sorted(s.files)) for s in back.skills] == [("a-skill", ["SKILL.md", "scripts/run.sh"])]
    assert back.skills[0].files["scripts/run.sh"].executable


def test_missing_quotes_are_repaired_as_agents_forget_them(tmp_path: Path) -> None:
    put(tmp_path, "issues/a.md", "---\ntitle: Login: flaky\n---\nBody\n")
    assert [note.fields["title"] for note in read(tmp_path).issues] == ["Login: flaky"]


def test_a_broken_file_is_refused_with_its_line_and_the_rest_is_kept(tmp_path: Path) -> None:
    put(tmp_path, "comments/a.md", "---\nkind: comment\nkind: question\n---\nx\n")
    put(tmp_path, "comments/b.md", "fine\n")
    put(tmp_path, "comments/c.md", "\n")
    back = read(tmp_path)
    assert [note.body for note in back.comments] == ["fine"]
    assert refused(back)["comments/a.md"].startswith("line ")
    assert "is empty" in refused(back)["comments/c.md"]


def test_links_are_never_followed(tmp_path: Path) -> None:
    secret = put(tmp_path, "secret.txt", "root:x:0:0")
    box = tmp_path / "outbox"
    box.mkdir()
    (box / "result.md").symlink_to(secret)
    (box / "comments").symlink_to(tmp_path)
    back = read(box)
    assert back.is_empty
    assert refused(back) == {"result.md": "is not a plain file", "comments": "is not a plain file"}
    whole = tmp_path / "link"
    whole.symlink_to(tmp_path)
    assert "symbolic link" in refused(read(whole))["."]


def test_what_is_no_file_is_refused_without_being_opened(tmp_path: Path) -> None:
    (tmp_path / "comments").mkdir()
    os.mkfifo(tmp_path / "comments" / "pipe.md")
    assert refused(read(tmp_path)) == {"comments/pipe.md": "is not a plain file"}


@pytest.mark.parametrize("name", ["con.md", "a:b.md", "trailing ", "x\ny.md"])
def test_a_name_that_some_system_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    put(tmp_path, f"comments/{name}", "x\n")
    assert list(refused(read(tmp_path))) == [f"comments/{name}"]


def test_size_and_number_are_limited(tmp_path: Path) -> None:
    put(tmp_path, "comments/a.md", "x" * 101)
    assert refused(understand(outbox.read(tmp_path, 100))) == {"comments/a.md": "is larger than 100 bytes"}
    for n in range(outbox.FILES_MAX + 1):
        put(tmp_path, f"comments/{n:04}.md", "x\n")
    assert len(read(tmp_path).comments) == outbox.FILES_MAX


def test_a_file_without_a_place_is_refused(tmp_path: Path) -> None:
    put(tmp_path, "notes.txt", "x")
    put(tmp_path, "comments/deep/a.md", "x")
    assert set(refused(read(tmp_path))) == {"notes.txt", "comments/deep/a.md"}


def test_a_skill_is_delivered_whole_or_not_at_all(tmp_path: Path) -> None:
    put(tmp_path, "skills/b-skill/SKILL.md", SKILL)
    put(tmp_path, "skills/Bad Name/SKILL.md", SKILL)
    put(tmp_path, "skills/empty/readme.md", "x")
    back = read(tmp_path)
    assert back.skills == ()
    assert {path.split("/")[1] for path in refused(back)} == {"b-skill", "Bad Name", "empty"}


def test_a_credential_never_gets_past_the_outbox(tmp_path: Path) -> None:
    key = "AKIA" + "QYLPMN5HFIQR7XYA"
    put(tmp_path, "comments/a.md", f"use {key}\n")
    back = read(tmp_path)
    assert key not in back.comments[0].body
    assert back.redacted == ("comments/a.md: AWS Access Key",)


def test_words_that_are_no_outcome_are_not_believed(tmp_path: Path) -> None:
    put(tmp_path, "result.md", "---\noutcome: [perfect]\n---\nText\n")
    result = read(tmp_path).result
    assert result is not None
    assert result.outcome is Said.DONE
