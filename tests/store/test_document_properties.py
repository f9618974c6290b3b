"""What holds for every document: written is read, reading never raises, an edit stays in its field."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gitmem.core.errors import InvalidDocumentError
from gitmem.store.document import DELETE, edit, edit_body, parse, render, repaired

PATH = "issues/2026-11/7k3q9d2m-login.md"
QUEUE = "queue/x.yaml"

bounded = settings(
    derandomize=True, deadline=None, database=None, max_examples=60 * int(os.environ.get("GITMEM_SOAK", "1"))
)

# Texts that some reader of YAML takes for something else, and the characters that YAML is made of.
TRAPS = [
    *(
        "",
        " ",
        "no",
        "Yes",
        "on",
        "y",
        "N",
        "true",
        "False",
        "null",
        "~",
        "NULL",
        "0123",
        "0x1F",
        "0o7",
        "0b1",
    ),
    *(
        "1",
        "-1",
        "+1",
        "1_000",
        "1,000",
        "1.10",
        ".5",
        "5.",
        "1e3",
        "1.e+5",
        "12e03",
        ".inf",
        "-.INF",
        ".NaN",
    ),
    *("12:30", "1:2:3.4", "2026-11-30", "2026-11-30T22:19:00Z", "2001-1-1 1:2:3", "<<", "=", "---", "..."),
    *(
        "- a",
        "-a",
        "? a",
        ": a",
        "a: b",
        "a:",
        "a :b",
        "a #b",
        "#a",
        "a#b",
        "&a",
        "*a",
        "!a",
        "!!str a",
        "%a",
    ),
    *(
        "@a",
        "`a",
        "|",
        ">",
        "[a]",
        "{a}",
        "a]",
        "a, b",
        "'a'",
        '"a"',
        "a'b",
        'a"b',
        "\\n",
        "a\nb",
        "a\r\nb",
        "\t",
    ),
    *(
        "\x85",
        "\u2028",
        "\ufeff",
        "\x07",
        "\x7f",
        "\u00a0",
        "日本語",
        "😀",
        "é",
        "e\u0301",
        "<<<<<<< x",
        "... a",
    ),
]
texts = st.sampled_from(TRAPS) | st.text(max_size=12) | st.text("ab:#-'\"\\ \n\t[]{},&*!|>%@`?", max_size=8)
keys = st.sampled_from(TRAPS) | st.text(max_size=8)
scalars = st.none() | st.booleans() | st.integers(-(2**70), 2**70) | texts
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
mappings = st.dictionaries(keys, values, max_size=4)


@bounded
@given(mappings, texts)
def test_what_is_rendered_is_read(fields: dict[str, Any], body: str) -> None:
    body = body.replace("\0", "")  # a NUL makes any file binary, to git too
    document = parse(render(fields, body), PATH)
    assert (document.fields, document.body) == (fields, body)
    assert [problem for problem in document.problems if problem.code != "conflict-markers"] == []


@bounded
@given(mappings)
def test_what_is_rendered_as_yaml_is_read(fields: dict[str, Any]) -> None:
    assert parse(render(fields, None), QUEUE).fields == fields


@bounded
@given(mappings)
def test_a_reader_of_yaml_1_1_reads_the_same_values(fields: dict[str, Any]) -> None:
    assert yaml.safe_load(render(fields, None)) == fields


@pytest.mark.parametrize("text", TRAPS)
def test_no_trap_changes_its_type(text: str) -> None:
    fields = {"key": text, "list": [text], "flow": [[text], {text: text}], text: 1}
    data = render(fields, None)
    assert parse(data, QUEUE).fields == yaml.safe_load(data) == fields


@bounded
@given(mappings)
def test_rendered_keys_are_set_apart_by_one_blank_line(fields: dict[str, Any]) -> None:
    lines = render(fields, None).decode().split("\n")
    assert lines.count("") == max(1, len(fields))
    assert all(line == line.rstrip() for line in lines)


PIECES = [
    *(
        b"---\n",
        b"---",
        b"\n",
        b"\r\n",
        b"a: b\n",
        b"a: [",
        b"]",
        b"{",
        b"}",
        b'"',
        b"'",
        b"- ",
        b": ",
        b"&a ",
    ),
    *(b"*a", b"!t ", b"|", b"> ", b"#", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x80\xa8", b"? ", b"%"),
    *(b"<<<<<<< HEAD\n", b"=======\n", b">>>>>>> x\n", b"...\n", b"title: Fix: it\n", b"@x", b"\r", b"\x85"),
]
fragments = st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join)


@bounded
@given(fragments | st.binary(max_size=40))
def test_reading_never_raises(data: bytes) -> None:
    for path in (PATH, QUEUE, "libraries.yaml"):
        document = parse(data, path)
        assert document.raw == data
        assert all(problem.line >= 0 and problem.message for problem in document.problems)
        healed = repaired(data, path)
        assert healed is None or not parse(healed, path).is_broken or document.is_broken


@bounded
@given(fragments | st.binary(max_size=40), scalars)
def test_an_edit_says_what_was_asked_or_refuses(data: bytes, value: Any) -> None:
    for path in (PATH, QUEUE):
        before = parse(data, path)
        try:
            after = parse(edit(data, path, {"a": value}), path)
        except InvalidDocumentError:
            continue
        assert after.fields == {**before.fields, "a": value}
        assert after.body == before.body


# Documents as people write them, in pieces, so that a test knows which bytes are whose.


@dataclass(frozen=True)
class Entry:
    key: str
    value: Any
    text: str  # the field's own lines
    comment: str
    after: str  # blank lines and comments below it


plain = st.text("abcdefgh ", min_size=1, max_size=10).map(str.strip).filter(lambda t: t and len(t) > 1)
STYLES = ["plain", "single", "double", "null", "bool", "int", "block", "indentless", "flow", "literal", "map"]


@st.composite
def entries(draw: st.DrawFn, key: str) -> Entry:
    style = draw(st.sampled_from(STYLES))
    items = draw(st.lists(plain, min_size=1, max_size=4))
    comment = draw(st.sampled_from(["", "  # note", "   # a: 'b' [c"]))
    value: Any = items[0]
    listed = "".join(f"  - {item}{comment}\n" for item in items)
    lines = {
        "plain": f" {value}{comment}\n",
        "single": f" '{value}'{comment}\n",
        "double": f' "{value}"{comment}\n',
        "null": f"{comment}\n",
        "bool": f" true{comment}\n",
        "int": f" 12{comment}\n",
        "block": f"{comment}\n{listed}",
        "indentless": f"{comment}\n{listed.replace('  - ', '- ')}",
        "flow": f" [{', '.join(items)}]{comment}\n",
        "literal": f" |{comment}\n  {value}\n",
        "map": f"{comment}\n  sub: {value}{comment}\n",
    }[style]
    value = {"null": None, "bool": True, "int": 12, "literal": f"{value}\n", "map": {"sub": value}}.get(
        style, items if style in {"block", "indentless", "flow"} else value
    )
    after = draw(st.sampled_from(["", "\n", "\n\n", "# own line\n", "\n# own line\n"]))
    return Entry(key, value, f"{key}:{lines}", comment, after)


@dataclass(frozen=True)
class Styled:
    mark: str
    end: str
    head: str
    entries: list[Entry]
    body: str

    def encode(self, *parts: str) -> bytes:
        return (self.mark + "".join(parts).replace("\n", self.end)).encode()

    @property
    def data(self) -> bytes:
        return self.encode(self.open, *(entry.text + entry.after for entry in self.entries), self.close)

    @property
    def open(self) -> str:
        return f"---\n{self.head}"

    @property
    def close(self) -> str:
        return f"---\n{self.body}"


@st.composite
def styled(draw: st.DrawFn) -> Styled:
    names = draw(
        st.lists(st.sampled_from(["title", "status", "labels", "x", "my key", "id"]), min_size=1, unique=True)
    )
    return Styled(
        draw(st.sampled_from(["", "\ufeff"])),
        draw(st.sampled_from(["\n", "\r\n"])),
        draw(st.sampled_from(["", "# by hand\n", "\n"])),
        [draw(entries(name)) for name in names],
        draw(st.sampled_from(["", "Body\n", "Body", "a\n---\nb: c\n", "\n\n"])),
    )


new_values = st.none() | st.booleans() | st.integers(0, 99) | texts | st.lists(plain, max_size=3)


@bounded
@given(styled(), st.data())
def test_an_edit_changes_only_the_bytes_of_its_field(document: Styled, data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(document.entries) - 1))
    entry, value = document.entries[index], data.draw(new_values)
    before = document.data
    assert parse(before, PATH).fields == {each.key: each.value for each in document.entries}
    after = edit(before, PATH, {entry.key: value})
    head = document.encode(
        document.open, *(e.text + e.after for e in document.entries[:index]), f"{entry.key}:"
    )
    tail = document.encode(
        entry.after, *(e.text + e.after for e in document.entries[index + 1 :]), document.close
    ).removeprefix(document.mark.encode())
    assert after.startswith(head)
    assert after.endswith(tail)
    own = after[len(head) : len(after) - len(tail)]
    assert document.end.encode() in own or not own
    assert document.end != "\r\n" or own.count(b"\n") == own.count(b"\r\n")
    if not isinstance(entry.value, list | dict):
        assert entry.comment.encode() in own  # the comment on a scalar's line survives


@bounded
@given(styled(), st.sampled_from(["status", "zebra", "id"]), new_values)
def test_adding_a_key_inserts_lines_and_touches_none(document: Styled, key: str, value: Any) -> None:
    before = document.data
    if key in parse(before, PATH).fields:
        return
    after = edit(before, PATH, {key: value})
    assert parse(after, PATH).fields == {**parse(before, PATH).fields, key: value}
    assert is_insertion(before, after)


@bounded
@given(styled(), st.data())
def test_removing_a_key_takes_its_lines_alone(document: Styled, data: st.DataObject) -> None:
    entry = data.draw(st.sampled_from(document.entries))
    after = edit(document.data, PATH, {entry.key: DELETE})
    assert is_insertion(after, document.data)
    assert len(document.data) - len(after) <= len(entry.text.replace("\n", document.end)) + 2


@bounded
@given(styled(), st.data())
def test_the_items_that_stay_in_a_list_keep_their_lines(document: Styled, data: st.DataObject) -> None:
    lists = [e for e in document.entries if isinstance(e.value, list) and "[" not in e.text.split("#")[0]]
    if not lists:
        return
    entry = data.draw(st.sampled_from(lists))
    kept = data.draw(st.lists(st.sampled_from(entry.value), unique=True, min_size=1))
    kept = [item for item in entry.value if item in kept]
    after = edit(document.data, PATH, {entry.key: [*kept, "brand new"]}).decode()
    for item in kept:
        assert f"- {item}{entry.comment}{document.end}" in after


@bounded
@given(styled(), st.dictionaries(st.sampled_from(["title", "status", "labels", "zebra"]), new_values))
def test_editing_there_and_back_restores_what_the_file_says(
    document: Styled, changes: dict[str, Any]
) -> None:
    before = parse(document.data, PATH).fields
    there = edit(document.data, PATH, changes)
    back = edit(there, PATH, {key: before.get(key, DELETE) for key in changes})
    assert parse(back, PATH).fields == before


@bounded
@given(styled(), texts)
def test_editing_the_body_leaves_the_front_matter_alone(document: Styled, body: str) -> None:
    body = body.replace("\0", "")
    after = edit_body(document.data, PATH, body)
    head = document.data[: len(document.data) - len(document.body.replace("\n", document.end).encode())]
    assert after.startswith(head)
    assert parse(after, PATH).body.replace("\r\n", "\n") == body.replace("\r\n", "\n")


def is_insertion(shorter: bytes, longer: bytes) -> bool:
    """True where `longer` is `shorter` with one run of bytes put in."""
    ahead = shared_start(shorter, longer)
    behind = shared_start(shorter[::-1], longer[::-1])
    return ahead + behind >= len(shorter)


def shared_start(one: bytes, other: bytes) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))
