"""Changing one field changes that field's bytes and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from gitmem.core.errors import InvalidDocumentError
from gitmem.core.states import IssueStatus
from gitmem.store.document import DELETE, edit, edit_body, parse

PATH = "issues/2026-11/7k3q9d2m-login.md"
QUEUE = "queue/x.yaml"

ISSUE = """\
---
# Written by hand.
id: 7k3q9d2m

title: 'Fix the flaky login test'

status: todo            # backlog todo in_progress

assignee:

labels:   # by area
  # the login page
  - auth            # ours
  - "flaky"

mine: {keep: "this"}    # an unknown key

blocked_by: []          # none yet

created_by: member:ana
---
Body --- with
---
dashes
"""


def changed(text: str, path: str = PATH, **changes: Any) -> str:
    return edit(text.encode(), path, changes).decode()


@pytest.mark.parametrize(
    ("changes", "old", "new"),
    [
        ({"status": "done"}, "status: todo ", "status: done "),
        ({"status": IssueStatus.IN_REVIEW}, "status: todo ", "status: in_review "),
        ({"status": "no"}, "status: todo ", 'status: "no" '),
        ({"status": None}, "status: todo ", "status: null "),
        ({"status": 12}, "status: todo ", "status: 12 "),
        ({"title": "It's: new"}, "'Fix the flaky login test'", "'It''s: new'"),
        ({"title": "two\nlines"}, "'Fix the flaky login test'", '"two\\nlines"'),
        ({"title": None}, "'Fix the flaky login test'", "null"),
        ({"assignee": "agent:claude"}, "assignee:\n", "assignee: agent:claude\n"),
        ({"labels": ["auth", "flaky", "new"]}, '  - "flaky"\n', '  - "flaky"\n  - new\n'),
        ({"labels": ["a", "auth", "flaky"]}, "  - auth ", "  - a\n  - auth "),
        ({"labels": ["flaky"]}, "  - auth            # ours\n", ""),
        ({"labels": ["auth"]}, '  - "flaky"\n', ""),
        ({"labels": ["auth", "x: y", "flaky"]}, '  - "flaky"\n', '  - "x: y"\n  - "flaky"\n'),
        (
            {"labels": []},
            'labels:   # by area\n  # the login page\n  - auth            # ours\n  - "flaky"\n',
            "labels: []   # by area\n",
        ),
        ({"blocked_by": ["issue:9d0k3v7p"]}, "blocked_by: []          # none yet\n",
         "blocked_by:          # none yet\n  - issue:9d0k3v7p\n"),
        ({"mine": {"keep": "that"}}, '{keep: "this"}', '{keep: "that"}'),
        ({"mine": {"keep": "this", "more": [1]}}, '{keep: "this"}', '{keep: "this", more: [1]}'),
        ({"mine": {"more": None}}, '{keep: "this"}', "{more: null}"),
        ({"mine": "text"}, '{keep: "this"}', "text"),
        ({"priority": "high"}, "in_progress\n\n", "in_progress\n\npriority: high\n\n"),
        ({"parent": "issue:4h2m8xq0"}, '  - "flaky"\n\n', '  - "flaky"\n\nparent: issue:4h2m8xq0\n\n'),
        ({"zebra": True}, "created_by: member:ana\n", "created_by: member:ana\n\nzebra: true\n"),
        ({"assignee": DELETE}, "assignee:\n\n", ""),
        ({"created_by": DELETE}, "\ncreated_by: member:ana\n", ""),
        ({"mine": DELETE, "nothing": DELETE}, 'mine: {keep: "this"}    # an unknown key\n\n', ""),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_only_the_fields_own_bytes_change(
    changes: dict[str, Any], old: str, new: str, end: str, mark: str
) -> None:
    assert ISSUE.count(old) == 1
    before = mark + ISSUE.replace("\n", end)
    after = mark + ISSUE.replace(old, new).replace("\n", end)
    assert changed(before, **changes) == after


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("a: 1\nb: 2\n", {"c": 3}, "a: 1\nb: 2\nc: 3\n"),
        ("a: 1\n\nb: 2\n", {"c": 3}, "a: 1\n\nb: 2\n\nc: 3\n"),
        ("title: x\nlabels: [a]\n", {"status": "todo"}, "title: x\nstatus: todo\nlabels: [a]\n"),
        ("title: x\n", {"id": "7k3q9d2m"}, "id: 7k3q9d2m\n\ntitle: x\n"),
        ("# about x\ntitle: x\nlabels: []\n", {"id": "a"}, "id: a\n# about x\ntitle: x\nlabels: []\n"),
        ("status: todo\n# options: todo done\n\nlabels: []\n", {"priority": "low"},
         "status: todo\n# options: todo done\n\npriority: low\n\nlabels: []\n"),
        ("status: todo\n# about labels\nlabels: []\n\nx: 1\n\ny: 2\n", {"priority": "low"},
         "status: todo\n\npriority: low\n# about labels\nlabels: []\n\nx: 1\n\ny: 2\n"),
        ("title: x\n# the end\n", {"z": 1}, "title: x\n# the end\n\nz: 1\n"),
    ],
)  # fmt: skip
def test_a_new_key_follows_the_files_style_and_the_formats_order(
    before: str, changes: dict[str, Any], after: str
) -> None:
    assert changed(f"---\n{before}---\nbody", **changes) == f"---\n{after}---\nbody"


@pytest.mark.parametrize(
    ("before", "changes", "after"),
    [
        ("issue: a", {"attempt": 1}, "issue: a\n\nattempt: 1"),
        ("issue: a\n", {"attempt": 1}, "issue: a\n\nattempt: 1\n"),
        ("issue: a\r\nagent: b", {"attempt": 1}, "issue: a\r\nagent: b\r\nattempt: 1"),
        ("issue: a\nattempt: 0", {"attempt": 1}, "issue: a\nattempt: 1"),
        ("issue: a\ndelivered:\n- x", {"delivered": ["x", "z"]}, "issue: a\ndelivered:\n- x\n- z"),
        ("issue: a\ndelivered: []", {"delivered": ["x"]}, "issue: a\ndelivered:\n  - x"),
        ("{issue: a}", {"attempt": 1}, "{issue: a, attempt: 1}"),
        ('{"issue":"a","attempt":0}\n', {"attempt": 1, "agent": "b"},
         '{"issue":"a", agent: b,"attempt": 1}\n'),
        ("{issue: a, attempt: 0}", {"issue": DELETE}, "{attempt: 0}"),
        ("{issue: a, attempt: 0}", {"attempt": DELETE}, "{issue: a}"),
        ("{}\n", {"issue": "a"}, "issue: a\n"),
        ("{} # none\n", {"issue": "a"}, "{issue: a} # none\n"),
        ("# a task\n", {"issue": "a"}, "# a task\nissue: a\n"),
        ("", {"issue": "a"}, "issue: a\n"),
        ("---\nissue: a\n", {"state": "waiting"}, "---\nissue: a\n\nstate: waiting\n"),
    ],
)  # fmt: skip
def test_yaml_files_keep_their_style_and_their_missing_last_newline(
    before: str, changes: dict[str, Any], after: str
) -> None:
    assert changed(before, QUEUE, **changes) == after


@pytest.mark.parametrize(
    ("before", "value", "after"),
    [
        ("[a, 'b']", ["a", "b", "c"], "[a, 'b', c]"),
        ("[a, 'b']", ["x", "a", "b"], "[x, a, 'b']"),
        ("[a, 'b' ]", ["b"], "['b' ]"),
        ("[a, 'b',]", ["a"], "[a,]"),
        ("[a, b]", ["c, d"], '["c, d"]'),
        ("[ a ]", [], "[]"),
        ("[\n  a, # first\n  b, # second\n]", ["a", "b", "c"], "[\n  a, # first\n  b, c, # second\n]"),
        ("[a, {check: x}]", ["a", {"check": "z"}], "[a, {check: z}]"),
        ("\n- a\n- b # two", ["b", "c"], "\n- b # two\n- c"),
        ("\n  -   a\n\n  # on b\n  -   b", ["b"], "\n\n  # on b\n  -   b"),
        ("\n  - |\n    two\n    lines\n\n  - b", ["new", "b"], "\n  - new\n\n  - b"),
        ("\n  - a: 1\n    b: 2\n  - c", [{"a": 1, "b": 3}, "c"], "\n  - a: 1\n    b: 3\n  - c"),
        ("\n  -\n    a\n  - b", ["b"], "\n  - b"),
        ("\n  - - a\n    - b\n  - c", ["c"], "\n  - c"),
        ("|  # words\n  two\n  lines\n", "one", "one  # words\n"),
        (">-\n  two\n\n  lines\n\n", ["a"], "\n  - a\n\n"),
        ('"a\n  b"  # said', "c", '"c"  # said'),
        ("a\n  b  # said", None, "null  # said"),
        ("  # why\n  a\n  b", "c", "  # why\n  c"),
        ("  # why\n  a\n  b", ["c"], "  # why\n  - c"),
        ("\n  - a # one\n  - b", {"k": ["v"]}, "\n  k:\n    - v"),
        ("\n  - a # one\n  - b", "c", " c"),
        ("\n  a: 1   # one\n  b: 2", {"a": 3, "b": 2, "c": None}, "\n  a: 3   # one\n  b: 2\n  c: null"),
        ("\n  a: 1   # one\n  b: 2", {"b": 2}, "\n  b: 2"),
        ("\n  a:\n    - x # here\n  b: 2", {"a": ["x", "z"], "b": 2},
         "\n  a:\n    - x # here\n    - z\n  b: 2"),
        ("\n  a: 1", {}, " {}"),
        ("{}", {"a": {"b": "c"}}, "\n  a:\n    b: c"),
    ],
)  # fmt: skip
def test_a_value_keeps_its_style_and_comments(before: str, value: object, after: str) -> None:
    text = "---\nfirst: 1\n\nkey:{}\n\nlast: 2\n---\n"
    space = "" if before[0] in "\n " else " "
    then = "" if after[0] in "\n " else " "
    assert changed(text.format(space + before), key=value) == text.format(then + after)


def test_a_list_follows_the_files_other_lists_when_it_gets_its_first_item() -> None:
    text = "---\nlabels: [a, b]\nblocked_by: []\n---\n"
    assert changed(text, blocked_by=["x"]) == "---\nlabels: [a, b]\nblocked_by: [x]\n---\n"


def test_a_file_without_front_matter_gets_one_and_keeps_its_body() -> None:
    assert changed("# Fix\r\ntext", id="a") == "---\r\nid: a\r\n---\r\n# Fix\r\ntext"
    assert changed("\ufeff# Fix\n", id="a") == "\ufeff---\nid: a\n---\n# Fix\n"
    assert changed("---\r\n---\r\nx", id="a", b=1) == "---\r\nid: a\r\n\r\nb: 1\r\n---\r\nx"


def test_removing_the_only_key_leaves_empty_front_matter() -> None:
    assert changed("---\ntitle: x\n---\nbody\n", title=DELETE) == "---\n---\nbody\n"


def test_nothing_to_change_changes_nothing() -> None:
    assert changed(ISSUE, status="todo", labels=["auth", "flaky"], gone=DELETE) == ISSUE
    assert edit(b"", PATH, {}) == b""


def test_true_is_not_one() -> None:
    assert changed("a: 1\n", QUEUE, a=True) == "a: true\n"
    assert changed("a: '1'\n", QUEUE, a=1) == "a: 1\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\ntitle: Fix: it\n---\n",
        "---\na: 1\na: 2\n---\n",
        "---\n- a\n---\n",
        "---\ntitle: x\n",
        "---\na: 1\n<<<<<<< HEAD\n---\n",
    ],
)
def test_a_broken_file_is_not_edited(text: str) -> None:
    with pytest.raises(InvalidDocumentError) as caught:
        changed(text, status="done")
    assert caught.value.details["problems"]
    with pytest.raises(InvalidDocumentError):
        edit_body(text.encode(), PATH, "new")


@pytest.mark.parametrize("value", [1.5, {1: 2}, {"k": object()}, "\ud800", 10**700, {"k" * 300: 1}, b"x"])
def test_a_value_that_cannot_be_kept_is_refused(value: object) -> None:
    with pytest.raises(InvalidDocumentError):
        changed(ISSUE, status=value)


def test_what_cannot_be_edited_safely_is_refused() -> None:
    with pytest.raises(InvalidDocumentError, match="cannot be edited safely") as caught:
        changed("---\n? a\n? b\n---\n", a="x")
    assert caught.value.hint == "change it in an editor, then run gitmem check"
    with pytest.raises(InvalidDocumentError, match="cannot be edited"):
        changed("- name: x\n", "libraries.yaml", a="x")
    with pytest.raises(InvalidDocumentError, match="cannot be edited safely"):
        edit_body(b"issue: a\n", QUEUE, "body")


def test_the_body_changes_alone_and_keeps_the_files_line_ends() -> None:
    head = "\ufeff" + ISSUE[: ISSUE.index("Body")]
    assert edit_body((head + "old").encode(), PATH, "new\n").decode() == head + "new\n"
    windows = head.replace("\n", "\r\n")
    assert edit_body((windows + "old").encode(), PATH, "a\nb\r\n").decode() == windows + "a\r\nb\r\n"


def test_a_body_that_looks_like_front_matter_stays_a_body() -> None:
    data = edit_body(b"# Old\n", PATH, "---\nx: 1\n---\n")
    assert (parse(data, PATH).fields, parse(data, PATH).body) == ({}, "---\nx: 1\n---\n")
