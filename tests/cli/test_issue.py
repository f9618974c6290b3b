from __future__ import annotations

from pathlib import Path

import pytest

from gitmem.store import document
from tests.cli.conftest import Cli
from tests.conftest import git, put


def test_create_prints_the_id_first_then_the_commit(cli: Cli) -> None:
    result = cli.ok("issue", "create", "Fix the flaky login test", "-l", "ui", "-l", "auth")
    issue, commit = result.rows[0]
    assert commit == git(cli.folder, "rev-parse", "HEAD").strip()
    assert cli.commits()[0] == f"issue {issue}: Fix the flaky login test"
    assert f"issues/2026-11/{issue}-fix-the-flaky-login-test.md" in result.err


def test_create_writes_every_common_key_with_lists_sorted_and_a_blank_line_between(cli: Cli) -> None:
    made = cli.json("issue", "create", "Title: with a colon", "-l", "ui", "-l", "auth", "-b", "Body.")
    text = cli.show(made["path"])
    fields = document.parse(text.encode(), made["path"]).fields
    assert list(fields) == [
        "id",
        "title",
        "status",
        "priority",
        "assignee",
        "labels",
        "parent",
        "blocked_by",
        "context_refs",
        "acceptance_criteria",
        "repo",
        "touches",
        "project",
        "sensitivity",
        "allowed",
        "created",
        "created_by",
    ]
    assert fields["labels"] == ["auth", "ui"]
    assert fields["title"] == "Title: with a colon"
    assert fields["created_by"] == "member:ana"
    assert "\n\ntitle:" in text
    assert text.endswith("---\nBody.\n")


def test_json_of_view_has_the_keys_that_others_build_on(cli: Cli, issue: str) -> None:
    cli.ok("issue", "comment", issue, "-b", "I saw it too")
    shape = cli.json("issue", "view", issue)
    wanted = (
        "id title status priority assignee labels parent blocked_by path created created_by "
        "body acceptance_criteria context_refs comments"
    )
    assert set(wanted.split()) <= set(shape)
    comment = shape["comments"][0]
    assert {"id", "issue", "author", "created", "kind", "body", "path"} <= set(comment)
    assert comment["issue"] == f"issue:{issue}"
    assert comment["body"] == "I saw it too\n"


def test_list_is_tab_separated_untruncated_and_without_a_header_off_the_terminal(cli: Cli) -> None:
    title = "A title that is far longer than any terminal is wide " * 4
    cli.ok("issue", "create", title, "--priority", "high", "-l", "a", "-l", "b")
    row = cli.ok("issue", "list").rows
    assert len(row) == 1
    assert row[0][1:] == ["todo", "high", "", title.strip(), "a,b"]


def test_list_shows_open_issues_by_default_and_the_most_urgent_first(cli: Cli) -> None:
    low = cli.ok("issue", "create", "Low", "--priority", "low").id
    urgent = cli.ok("issue", "create", "Urgent", "--priority", "urgent").id
    done = cli.ok("issue", "create", "Done").id
    cli.ok("issue", "close", done)
    assert [row[0] for row in cli.ok("issue", "list").rows] == [urgent, low]
    assert [row[0] for row in cli.ok("issue", "ls", "-s", "done").rows] == [done]
    assert len(cli.json("issue", "list", "-s", "all")) == 3


def test_list_says_when_it_leaves_some_out(cli: Cli) -> None:
    for number in range(3):
        cli.ok("issue", "create", f"Issue {number}")
    cut = cli.ok("issue", "list", "-L", "2")
    assert len(cut.rows) == 2
    assert "-L 0 shows all" in cut.err
    assert len(cli.ok("issue", "list", "-L", "0").rows) == 3
    assert cli.ok("issue", "list", "-L", "3").err == ""


def test_list_filters_by_label_assignee_and_words(cli: Cli) -> None:
    first = cli.ok("issue", "create", "Login fails", "-l", "auth", "--assign", "claude").id
    cli.ok("issue", "create", "Upload fails")
    for filters in (["-l", "auth"], ["--assignee", "agent:claude"], ["--search", "LOGIN fails"]):
        assert [row[0] for row in cli.ok("issue", "list", *filters).rows] == [first]


def test_nothing_found_is_an_empty_list_and_no_failure(cli: Cli) -> None:
    assert cli.ok("issue", "list").out == ""
    assert cli.json("issue", "list") == []


def test_an_edit_changes_the_bytes_of_its_fields_and_nothing_else(cli: Cli) -> None:
    path = "issues/2026-11/hand.md"
    fields = "# mine\nid: 7k3q9d2m\ntitle: 'Quoted: yes'   # why\nstatus: todo\nx-own: 012\n"
    text = f"---\n{fields}---\nBody without a last line end".replace("\n", "\r\n")
    put(cli.folder, path, text)
    cli.ok("issue", "edit", "7k3q", "--status", "in_progress")
    assert (cli.folder / path).read_bytes() == text.replace("todo", "in_progress").encode()
    assert git(cli.folder, "status", "--short") == ""
    assert cli.commits()[0] == "issue 7k3q9d2m: todo -> in_progress"


def test_an_edit_takes_every_option(cli: Cli, issue: str) -> None:
    other = cli.ok("issue", "create", "Other").id
    cli.ok("issue", "edit", issue, "--add-label", "keep", "--add-label", "drop")
    shape = cli.json(
        "issue", "edit", issue, "--title", "New title", "--priority", "high", "--assignee", "claude",
        "--parent", other, "--add-label", "auth", "--remove-label", "drop", "--add-ref", other,
        "--add-blocker", other[:5], "--sensitivity", "confidential", "-b", "New body",
    )  # fmt: skip
    assert shape["title"] == "New title"
    assert shape["priority"] == "high"
    assert shape["assignee"] == "agent:claude"
    assert shape["parent"] == f"issue:{other}"
    assert shape["labels"] == ["auth", "keep"]
    assert shape["context_refs"] == shape["blocked_by"] == [f"issue:{other}"]
    assert shape["sensitivity"] == "confidential"
    assert shape["body"] == "New body\n"
    cleared = cli.json(
        "issue", "edit", issue, "--parent", "none", "--assignee", "none",
        "--remove-ref", other, "--remove-blocker", f"issue:{other}",
    )  # fmt: skip
    assert cleared["parent"] is cleared["assignee"] is None
    assert cleared["context_refs"] == cleared["blocked_by"] == []


def test_an_edit_that_changes_nothing_makes_no_commit(cli: Cli, issue: str) -> None:
    before = cli.commits()
    result = cli.json("issue", "edit", issue, "--status", "todo", "--remove-label", "absent")
    assert result["commit"] is None
    assert cli.commits() == before


def test_an_edit_that_changes_nothing_says_that_the_working_copy_differs(cli: Cli, issue: str) -> None:
    path = cli.json("issue", "view", issue, "--json")["path"]
    cli("issue", "edit", issue, "--priority", "low")
    file = cli.folder / path
    file.write_text(file.read_text().replace("priority: low", "priority: high"))
    done = cli("issue", "edit", issue, "--priority", "low")
    assert "nothing to change" in done.err
    assert "your working copy has other edits" in done.err
    assert cli.json("issue", "edit", issue, "--priority", "low", "--json")["commit"] is None


def test_an_edit_of_a_hand_written_file_keeps_the_id_it_was_shown_with(cli: Cli) -> None:
    put(cli.folder, "issues/idea.md", "# An idea\n\nIn words.\n", commit=False)
    shown = cli.json("issue", "list")[0]
    assert (shown["title"], shown["uncommitted"]) == ("An idea", True)
    cli.ok("issue", "edit", shown["id"], "--priority", "low")
    after = cli.json("issue", "view", shown["id"])
    assert after["id"] == shown["id"]
    assert after["body"] == "# An idea\n\nIn words.\n"
    assert git(cli.folder, "status", "--short") == ""


def test_a_closed_issue_is_reopened_before_it_moves_on(cli: Cli, issue: str) -> None:
    cli.ok("issue", "close", issue)
    refused = cli("issue", "edit", issue, "--status", "in_progress", "--json")
    assert refused.code == 1
    assert refused.error["kind"] == "illegal_move"
    assert refused.error["hint"] == f"gitmem issue reopen {issue}"
    cli.ok("issue", "reopen", issue)
    assert cli.json("issue", "view", issue)["status"] == "todo"


def test_closing_with_a_text_comments_in_the_same_commit(cli: Cli, issue: str) -> None:
    before = len(cli.commits())
    shape = cli.json("issue", "close", issue, "--cancelled", "-b", "Not needed")
    assert shape["status"] == "cancelled"
    assert [c["body"] for c in shape["comments"]] == ["Not needed\n"]
    assert len(cli.commits()) == before + 1


def test_blocking_needs_a_reason_and_records_it(cli: Cli, issue: str) -> None:
    assert cli("issue", "block", issue).code == 2
    other = cli.ok("issue", "create", "Other").id
    shape = cli.json("issue", "block", issue, "--by", other, "-b", "The certificate is missing")
    assert shape["status"] == "blocked"
    assert shape["blocked_by"] == [f"issue:{other}"]
    assert shape["comments"][0]["kind"] == "blocker"


@pytest.mark.parametrize("option", ["--add-blocker", "--parent"])
def test_a_circle_of_issues_is_refused(cli: Cli, issue: str, option: str) -> None:
    other = cli.ok("issue", "create", "Other").id
    cli.ok("issue", "edit", issue, option, other)
    refused = cli("issue", "edit", other, option, issue)
    assert refused.code == 1
    assert "circle" in refused.err


def test_assigning_to_a_misspelt_agent_offers_the_nearest(cli: Cli, issue: str) -> None:
    refused = cli("issue", "assign", issue, "cluade", "--json")
    assert (refused.code, refused.error["kind"]) == (1, "not_found")
    assert "claude" in refused.error["hint"]


def test_assign_with_queue_makes_the_task_in_the_same_commit_and_only_once(cli: Cli, issue: str) -> None:
    before = len(cli.commits())
    task = cli.json("issue", "assign", issue, "claude", "--queue")["task"]
    assert (task["issue"], task["agent"], task["trigger"]) == (f"issue:{issue}", "claude", "assignment")
    assert len(cli.commits()) == before + 1
    again = cli.json("issue", "assign", issue, "claude", "--queue")
    assert again["task"]["id"] == task["id"]
    assert len(cli.json("queue", "list")) == 1


def test_assignment_alone_queues_nothing(cli: Cli, issue: str) -> None:
    cli.ok("issue", "assign", issue, "claude")
    assert cli.json("queue", "list") == []


def test_a_reply_names_a_comment_on_the_same_issue(cli: Cli, issue: str) -> None:
    other = cli.ok("issue", "create", "Other").id
    comment = cli.ok("issue", "comment", issue, "-b", "Which clock?", "--kind", "question").id
    reply = cli.json("issue", "comment", issue, "-b", "The wall clock", "--reply-to", comment)
    assert reply["reply_to"] == f"comment:{comment}"
    assert cli("issue", "comment", other, "-b", "No", "--reply-to", comment).code == 2


def test_an_empty_comment_is_refused(cli: Cli, issue: str) -> None:
    refused = cli("issue", "comment", issue, "-b", "  \n")
    assert refused.code == 2
    assert "empty" in refused.err


def test_the_body_comes_from_a_file_as_it_stands(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "body.md"
    file.write_bytes("Grüße\n\n```sh\necho `hi` $HOME\n```\n".encode())
    shape = cli.json("issue", "create", "From a file", "-F", str(file))
    assert shape["body"] == file.read_text(encoding="utf-8")


def test_a_body_that_is_no_text_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    assert cli("issue", "create", "Binary", "-F", str(tmp_path / "binary")).code == 2
    assert cli("issue", "create", "Missing", "-F", str(tmp_path / "absent")).code == 2
    assert cli("issue", "create", "Both", "-F", str(tmp_path / "absent"), "-b", "x").code == 2


@pytest.mark.parametrize("title", ["", "   ", "\x1b[31mred"])
def test_an_unfit_title_is_refused(cli: Cli, title: str) -> None:
    assert cli("issue", "create", title).code == 2


def test_an_ambiguous_prefix_lists_its_candidates(cli: Cli) -> None:
    for name in ("7k3q9d2m", "7k3q0000"):
        put(cli.folder, f"issues/{name}.md", f"---\nid: {name}\ntitle: {name}\n---\n")
    refused = cli("issue", "view", "7k3q", "--json")
    assert refused.code == 1
    assert refused.error["kind"] == "ambiguous"
    assert set(refused.error["candidates"]) == {"7k3q9d2m", "7k3q0000"}
    assert cli.json("issue", "view", "7k3q9")["id"] == "7k3q9d2m"


def test_a_file_with_errors_is_not_edited(cli: Cli) -> None:
    put(cli.folder, "issues/7k3q9d2m-x.md", "---\nid: 7k3q9d2m\ntitle: Fix: this\n---\n")
    refused = cli("issue", "edit", "7k3q9d2m", "--status", "done", "--json")
    assert (refused.code, refused.error["kind"]) == (12, "invalid")


def test_an_agent_reads_only_what_the_gate_lets_through(cli: Cli) -> None:
    secret = cli.ok("issue", "create", "Secret plan", "--sensitivity", "secret").id
    public = cli.ok("issue", "create", "Public plan", "--sensitivity", "public").id
    seen = cli.json("--as", "agent:claude", "issue", "list")
    assert [item["id"] for item in seen] == [public]
    refused = cli("--as", "agent:claude", "issue", "view", secret, "--json")
    assert (refused.code, refused.error["kind"]) == (14, "not_permitted")
    for words in (["issue", "edit", secret, "--title", "x"], ["issue", "comment", secret, "-b", "x"]):
        assert cli("--as", "agent:claude", *words).code == 14
    told = cli.ok("--as", "agent:claude", "log").out
    assert "Public plan" in told
    assert "Secret plan" not in told
    assert len(cli.json("issue", "list")) == 2


@pytest.mark.parametrize("typed", ["agent:claude", "claude"])
def test_issues_are_listed_by_assignee_typed_or_bare(cli: Cli, issue: str, typed: str) -> None:
    cli.ok("issue", "assign", issue, "claude")
    assert [one["id"] for one in cli.json("issue", "list", "--assignee", typed)] == [issue]
    assert cli.json("issue", "list", "--assignee", "codex") == []
    cli.ok("issue", "assign", issue, "me")
    assert [one["id"] for one in cli.json("issue", "list", "--assignee", "me")] == [issue]


@pytest.mark.parametrize("typed", ["agent:cluade", "cluade"])
@pytest.mark.parametrize("words", ["issue list --assignee", "log --actor"])
def test_a_misspelt_actor_of_a_filter_offers_the_nearest(
    cli: Cli, issue: str, words: str, typed: str
) -> None:
    refused = cli(*words.split(), typed, "--json")
    assert (refused.code, refused.error["hint"]) == (1, "did you mean claude?")


def test_issues_of_an_agent_that_is_gone_are_still_found(cli: Cli) -> None:
    put(cli.folder, "issues/x.md", "---\ntitle: Left behind\nassignee: agent:gone\n---\n")
    assert len(cli.json("issue", "list", "--assignee", "agent:gone")) == 1


@pytest.mark.parametrize("words", [["issue", "create", "x"], ["issue", "list"]])
def test_nobody_acts_as_an_agent_or_member_that_is_not_there(cli: Cli, words: list[str]) -> None:
    before = cli.commits()
    refused = cli("--as", "agent:cluade", *words, "--json")
    assert (refused.code, refused.error["kind"]) == (1, "not_found")
    assert refused.error["hint"] == "did you mean claude?"
    assert cli("--as", "member:bo", *words).code == 1
    assert cli.commits() == before


def test_the_local_user_may_be_named_without_a_file(cli: Cli) -> None:
    git(cli.folder, "config", "user.email", "bo@example.org")
    git(cli.folder, "config", "user.name", "Bo")
    assert cli.json("--as", "member:bo", "issue", "create", "x")["created_by"] == "member:bo"


def test_what_is_done_inside_a_run_is_signed_by_its_agent(
    cli: Cli, issue: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITMEM_AGENT", "claude")
    monkeypatch.setenv("GITMEM_TRACE", "4bf92f3577b34da6a3ce929d0e0e4736")
    assert cli.json("issue", "comment", issue, "-b", "Found it")["author"] == "agent:claude"
    message = git(cli.folder, "log", "-1", "--format=%an%n%B")
    assert message.startswith("claude\n")
    assert "Gitmem-Trace: 4bf92f3577b34da6a3ce929d0e0e4736" in message


def test_comments_of_one_second_stand_in_the_order_in_which_they_were_written(cli: Cli, issue: str) -> None:
    ids = [cli.ok("issue", "comment", issue, "-b", f"Number {n}").id for n in range(8)]
    assert [c["id"] for c in cli.json("issue", "view", issue)["comments"]] == ids
    shown = cli.ok("issue", "view", issue).out
    assert [word for line in shown.splitlines() for word in line.split() if word in ids] == ids


def test_a_reply_follows_its_comment_whatever_the_clocks_say(cli: Cli, issue: str) -> None:
    def write(name: str, created: str, reply_to: str | None) -> None:
        head = f"id: {name}\nissue: issue:{issue}\nauthor: member:ana\ncreated: {created}\n"
        head += f"reply_to: comment:{reply_to}\n" if reply_to else ""
        put(cli.folder, f"comments/2026-11/{issue}/{name}.md", f"---\n{head}---\nx\n", commit=False)

    write("answer00", "2026-11-30T09:00:00Z", "quest000")
    write("thanks00", "2026-11-30T08:00:00Z", "answer00")
    write("quest000", "2026-11-30T10:00:00Z", None)
    write("later000", "2026-11-30T11:00:00Z", "gone0000")
    write("circ1111", "2026-11-30T12:00:00Z", "circ2222")
    write("circ2222", "2026-11-30T12:00:00Z", "circ1111")
    order = [c["id"] for c in cli.json("issue", "view", issue)["comments"]]
    assert order[:4] == ["quest000", "answer00", "thanks00", "later000"]
    assert set(order[4:]) == {"circ1111", "circ2222"}


def test_the_subject_of_a_commit_names_the_move_else_only_what_changes(cli: Cli, issue: str) -> None:
    other = cli.ok("issue", "create", "Other").id
    for words, subject in (
        (["block", issue, "-b", "Waits"], "todo -> blocked"),
        (["block", issue, "--by", other], "blocked_by"),
        (["block", issue, "-b", "Waits still"], "blocker by member:ana"),
        (["edit", issue, "--title", "New", "--priority", "none"], "title"),
        (["edit", issue, "--status", "in_progress", "--title", "Newer"], "blocked -> in_progress"),
    ):
        cli.ok("issue", *words)
        assert cli.commits()[0] == f"issue {issue}: {subject}"


BROKEN = "---\ntitle: Torn\nstatus: bogus\nlabels: 5\n---\n"
UNREADABLE = "---\ntitle: [x\n---\n"


def test_a_broken_issue_is_listed_with_its_problems(cli: Cli, issue: str) -> None:
    put(cli.folder, "issues/torn.md", BROKEN)
    put(cli.folder, "issues/unreadable.md", UNREADABLE)
    listed = {one["path"]: one["problems"] for one in cli.json("issue", "list")}
    assert [p["code"] for p in listed.pop("issues/torn.md")] == ["unknown-value", "wrong-type"]
    assert [p["code"] for p in listed.pop("issues/unreadable.md")] == ["yaml-unclosed"]
    assert list(listed.values()) == [[]]
    told = cli.ok("issue", "list", "-q").err
    assert told == "warning: 2 of them cannot be read as written; `gitmem check` tells what is wrong\n"


def test_a_broken_issue_is_viewed_with_its_problems(cli: Cli, issue: str) -> None:
    put(cli.folder, "issues/torn.md", BROKEN)
    assert len(cli.json("issue", "view", "issues/torn.md")["problems"]) == 2
    told = cli.ok("issue", "view", "issues/torn.md").err
    assert "status is bogus, which is read as todo; `gitmem check issues/torn.md`" in told
    assert cli.json("issue", "view", issue)["problems"] == []
    assert cli.ok("issue", "view", issue).err == ""
