"""Reading record files: what they say, and what is wrong with them, with line, column and what to type."""

from __future__ import annotations

import json

import pytest

from gitmem.core.record import Problem, Severity
from gitmem.store.document import Document, parse, position, repaired

PATH = "issues/2026-11/7k3q9d2m-login.md"


def front(yaml: str, body: str = "Body.\n") -> bytes:
    return f"---\n{yaml}---\n{body}".encode()


def only_problem(data: bytes, path: str = PATH) -> Problem:
    document = parse(data, path)
    assert len(document.problems) == 1
    return document.problems[0]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("no", "no"),
        ("yes", "yes"),
        ("on", "on"),
        ("0123", "0123"),
        ("0x1f", "0x1f"),
        ("0o17", "0o17"),
        ("1_000", "1_000"),
        ("+5", "+5"),
        ("12:30", "12:30"),
        ("1.10", "1.10"),
        ("1e3", "1e3"),
        (".inf", ".inf"),
        ("2026-11-30", "2026-11-30"),
        ("2026-11-30T22:19:00Z", "2026-11-30T22:19:00Z"),
        ("True", "True"),
        ("NULL", "NULL"),
        ("~", "~"),
        ("<<", "<<"),
        ("=", "="),
        ("null", None),
        ("", None),
        ("true", True),
        ("false", False),
        ("0", 0),
        ("-12", -12),
        ("12", 12),
        ('"12"', "12"),
        ("'null'", "null"),
        ("'true'", "true"),
        ("a # comment", "a"),
        ("a#b", "a#b"),
        ("http://x/y", "http://x/y"),
        ("a --- b", "a --- b"),
        ("[no, 012, 1]", ["no", "012", 1]),
        ("{a: 1.0}", {"a": "1.0"}),
    ],
)
def test_only_null_booleans_and_plain_integers_are_not_strings(written: str, meant: object) -> None:
    value = parse(front(f"key: {written}\n"), PATH).fields["key"]
    assert value == meant
    assert type(value) is type(meant)


def test_an_integer_longer_than_python_reads_stays_text() -> None:
    assert parse(front(f"key: {'9' * 5000}\n"), PATH).fields["key"] == "9" * 5000


def test_keys_are_text_whatever_they_look_like() -> None:
    assert parse(front("1: a\nno: b\ntrue: c\n2026-11-30: d\n"), PATH).fields == {
        "1": "a",
        "no": "b",
        "true": "c",
        "2026-11-30": "d",
    }


def test_front_matter_ends_only_at_a_line_of_its_own() -> None:
    document = parse(
        front('title: a --- b\nquoted: "x\n  --- y"\ntext: |\n  ---\n  z\n', "a\n---\nb\n---\n"), PATH
    )
    assert document.fields == {"title": "a --- b", "quoted": "x --- y", "text": "---\nz\n"}
    assert document.body == "a\n---\nb\n---\n"


def test_trailing_spaces_after_the_dashes_do_no_harm() -> None:
    document = parse(b"--- \ntitle: x\n---\t\nbody", PATH)
    assert (document.fields, document.body, document.problems) == ({"title": "x"}, "body", ())


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_byte_order_mark_line_ends_and_a_missing_last_newline_are_read(
    mark: bytes, end: bytes, last: bool
) -> None:
    data = mark + b"---\ntitle: x\n---\none\ntwo\n".replace(b"\n", end)
    data = data if last else data.removesuffix(end)
    document = parse(data, PATH)
    assert document.problems == ()
    assert document.fields == {"title": "x"}
    assert document.body.split() == ["one", "two"]
    assert document.raw == data


def test_front_matter_may_end_with_the_file() -> None:
    assert parse(b"---\ntitle: x\n---", PATH).fields == {"title": "x"}


def test_a_file_without_front_matter_is_all_body() -> None:
    document = parse(b"# Fix it\n\ntext\n", PATH)
    assert (document.fields, document.body, document.problems) == ({}, "# Fix it\n\ntext\n", ())


def test_front_matter_with_nothing_but_comments_is_empty() -> None:
    document = parse(front("# nothing yet\n"), PATH)
    assert (document.fields, document.problems) == ({}, ())


def test_a_yaml_file_is_yaml_as_a_whole() -> None:
    document = parse(b"issue: 7k3q9d2m\n", "queue/x.yaml")
    assert (document.fields, document.body) == ({"issue": "7k3q9d2m"}, "")
    assert parse(b"---\nissue: a\n", "queue/x.yaml").fields == {"issue": "a"}


def test_the_libraries_file_is_a_list() -> None:
    document = parse(b"- {name: platform, url: x}\n", "libraries.yaml")
    assert document.problems == ()
    assert document.value == [{"name": "platform", "url": "x"}]
    assert document.fields == {}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", ("empty-file", 0, 0)),
        (b"\xef\xbb\xbf\r\n \n", ("empty-file", 0, 0)),
        (b"---\ntitle: x\0\n---\n", ("binary-file", 2, 0)),
        ("---\ntitle: x\n---\n".encode("utf-16"), ("binary-file", 1, 0)),
        (b"---\ntitle: caf\xe9\n---\n", ("not-utf8", 2, 11)),
        (b"---\ntitle: x\n", ("front-matter-unclosed", 1, 1)),
        (b"\n\n---\ntitle: x\n---\n", ("front-matter-late", 3, 1)),
        (front("- a\n- b\n"), ("not-a-mapping", 2, 1)),
        (front("just text\n"), ("not-a-mapping", 2, 1)),
        (front("title: a\nstatus: todo\ntitle: b\n"), ("duplicate-key", 4, 1)),
        (front("m: {a: 1, a: 2}\n"), ("duplicate-key", 2, 11)),
        (front('a: 1\n"a": 2\n'), ("duplicate-key", 3, 1)),
        (front("a: &x 1\n"), ("yaml-anchor", 2, 4)),
        (front("a: *x\n"), ("yaml-alias", 2, 4)),
        (front("a: !!str 1\n"), ("yaml-tag", 2, 4)),
        (front("a: !!python/object/apply:os.system [x]\n"), ("yaml-tag", 2, 4)),
        (front("<<: *base\n"), ("yaml-alias", 2, 5)),
        (front("? [a]\n: b\n"), ("key-not-text", 2, 3)),
        (front("a: 1\n...\n--- x\nb: 2\n"), ("several-documents", 4, 1)),
        (front("a: " + "[" * 40 + "]" * 40 + "\n"), ("nested-too-deep", 2, 35)),
        (front("title: a\u2028b\n"), ("odd-character", 2, 9)),
        (front("title: a\x07b\n"), ("odd-character", 2, 9)),
        (front("title: x\n\tstatus: y\n"), ("tab-indent", 3, 1)),
    ],
)
def test_each_fault_is_named_with_its_place(data: bytes, expected: tuple[str, int, int]) -> None:
    document = parse(data, PATH)
    problem = document.problems[0]
    assert (problem.code, problem.line, problem.column) == expected
    assert problem.path == PATH
    assert document.is_broken
    assert document.fields == {}


def test_a_file_over_the_limit_is_not_read() -> None:
    problem = parse(front("title: x\n"), PATH, limit=10).problems[0]
    assert (problem.code, problem.message) == ("too-large", "the file has 23 bytes; the limit is 10")


def test_the_body_is_kept_when_the_front_matter_is_broken() -> None:
    assert parse(front("a: b: c\n", "still here\n"), PATH).body == "still here\n"


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("title: Fix: the login", 'write: title: "Fix: the login"'),
        ("title: Fix: it # soon", 'write: title: "Fix: it" # soon'),
        ("title: Fix: see #12", 'write: title: "Fix: see #12"'),
        ('title: say "a": b', 'write: title: "say \\"a\\": b"'),
        ("title: it's: x", 'write: title: "it\'s: x"'),
        ("title: ends with:", 'write: title: "ends with:"'),
        ("assignee: @ana", 'write: assignee: "@ana"'),
        ("assignee: [@ana, bob]", 'write: assignee: ["@ana", bob]'),
        ("title: `code` breaks", 'write: title: "`code` breaks"'),
        ("title: 100%: done", 'write: title: "100%: done"'),
        ("title: %x", 'write: title: "%x"'),
        ("title: *really* slow", 'write: title: "*really* slow"'),
        ("title: *slow", 'write: title: "*slow"'),
        ("title: &amp; more", 'write: title: "&amp; more"'),
        ("title: !important this", 'write: title: "!important this"'),
        ("title: [WIP] this", 'write: title: "[WIP] this"'),
        ('title: "Fix" this', 'write: title: "\\"Fix\\" this"'),
        ("title: {{x}} y", 'write: title: "{{x}} y"'),
        ("title: - x", 'write: title: "- x"'),
        ('title: "never closed', 'write: title: "never closed"'),
        ("labels: [a, b", "write: labels: [a, b]"),
        ("status todo", "write: status: todo"),
    ],
)
def test_a_line_that_needs_quotes_is_shown_as_it_should_be_typed(line: str, hint: str) -> None:
    data = front(f"id: 7k3q9d2m\n{line}\npriority: high\n")
    problem = only_problem(data)
    assert (problem.line, problem.hint) == (3, hint)
    healed = data.replace(line.encode(), (hint.removeprefix("write: ")).encode())
    assert parse(healed, PATH).problems == ()


def test_an_unquoted_colon_has_a_code_of_its_own_in_nested_lists_too() -> None:
    problem = only_problem(front("labels:\n  - fine\n  - a: b: c\n"))
    assert (problem.code, problem.line, problem.hint) == ("unquoted-colon", 4, 'write: - a: "b: c"')


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_repair_quotes_every_line_that_needs_it_and_nothing_else(end: str) -> None:
    data = front(f"title: Fix: it  # now{end}a: 'x'{end}b: @y{end}c: z: [w]{end}")
    expected = front(f'title: "Fix: it"  # now{end}a: \'x\'{end}b: "@y"{end}c: "z: [w]"{end}')
    assert repaired(data, PATH) == expected


@pytest.mark.parametrize(
    "yaml",
    [
        "title: fine\n",
        "a: 1\na: 2\n",
        'title: "open\n',
        "a: &x 1\nb: *x\n",
        "status todo\n",
        "<<<<<<< a\nx: y\n",
    ],
)
def test_repair_leaves_alone_what_quotes_do_not_settle(yaml: str) -> None:
    assert repaired(front(yaml), PATH) is None


@pytest.mark.parametrize("data", [b"---\na: b\n@x...\n&a a: b\n---\n#", front("\ra: [a: ['\t|&a \n'=\n%\n")])
def test_repair_quotes_no_line_twice(data: bytes) -> None:
    healed = repaired(data, PATH)  # it once doubled the escapes of one line until memory ran out
    assert healed is None or len(healed) < 3 * len(data)


@pytest.mark.parametrize(
    "yaml",
    [
        "a: " + "[" * 100_000,
        "- " * 50_000,
        "a: b: c\n" * 20_000,
        "a: x" + " " * 200_000 + "y: z\n",
        'a: "' + "x\n" * 100_000,
        "labels:\n" + "- 1\n" * 20_000,
    ],
)
def test_a_hostile_file_is_judged_in_passing(yaml: str) -> None:
    data = front(yaml + "\n", "<<<<<<< a\n" * 20_000)
    document = parse(data, PATH)
    assert document.is_broken or document.fields
    repaired(data, PATH)


@pytest.mark.parametrize(
    "data",
    [
        front("<<<<<<< HEAD\nstatus: todo\n=======\nstatus: done\n>>>>>>> other\n"),
        b"<<<<<<< HEAD\n" + front("title: a\n") + b"=======\n" + front("title: b\n") + b">>>>>>> x\n",
        front("a: 1\n<<<<<<< HEAD\r\nb: 2\r\n||||||| base\r\n=======\r\n>>>>>>> x\r\n"),
        front("a: 1\n=======\n"),
    ],
)
def test_conflict_markers_are_named_not_skipped(data: bytes) -> None:
    document = parse(data, PATH)
    assert document.problems[0].code == "conflict-markers"
    assert document.is_broken


def test_conflict_markers_in_a_yaml_file_are_an_error() -> None:
    data = b"issue: a\n<<<<<<< x\nstate: queued\n=======\nstate: waiting\n>>>>>>> y\n"
    problem = only_problem(data, "queue/a.yaml")
    assert (problem.code, problem.line) == ("conflict-markers", 2)


CONFLICT = "<<<<<<< HEAD\none\n=======\ntwo\n>>>>>>> other\n"


def test_a_conflict_in_the_body_is_a_warning_with_its_line() -> None:
    problem = only_problem(front("title: x\n", f"text\n\n{CONFLICT}"))
    assert (problem.code, problem.severity, problem.line) == ("conflict-markers", Severity.WARNING, 6)


@pytest.mark.parametrize(
    "body",
    [f"```\n{CONFLICT}```\n", f"~~~~\n```\n{CONFLICT}~~~~\n", "Heading\n=======\ntext\n", "<<<<<<< alone\n"],
)
def test_markers_that_are_shown_on_purpose_are_no_conflict(body: str) -> None:
    assert parse(front("title: x\n", body), PATH).problems == ()


def test_a_file_is_faulty_each_time_it_is_read() -> None:
    data = front("title: Fix: it\n")
    assert parse(data, PATH).problems == parse(data, PATH).problems != ()


def test_changing_what_was_read_does_not_change_the_next_reading() -> None:
    data = front("labels:\n  - a\n")
    parse(data, PATH).fields["labels"].append("b")
    assert parse(data, PATH).fields == {"labels": ["a"]}


def test_an_alias_bomb_is_refused_before_it_grows() -> None:
    bomb = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [*{chr(97 + n)}, *{chr(97 + n)}]\n" for n in range(20)
    )
    document = parse(front(bomb), PATH)
    assert [problem.code for problem in document.problems] == ["yaml-anchor"]
    assert len(json.dumps(document.fields)) < 10


def test_positions_count_from_one_in_the_whole_file() -> None:
    document = parse(b"\xef\xbb\xbf" + front("title: x\n\nlabels:\n  - a\n  - check: b\nempty:\n"), PATH)
    assert position(document, ()) == (2, 1)
    assert position(document, ("title",)) == (2, 8)
    assert position(document, ("labels", 1, "check")) == (6, 12)
    assert position(document, ("labels", 7)) == (5, 3)
    assert position(document, ("empty",)) == (7, 7)
    assert position(document, ("nothing",)) == (2, 1)


def test_a_position_in_a_file_that_is_no_text_is_unknown() -> None:
    assert position(parse(b"\0", PATH), ("title",)) == (0, 0)


def test_documents_are_equal_when_they_say_the_same() -> None:
    assert parse(front("a: 1\n"), PATH) == parse(front("a: 1\n"), PATH)
    assert isinstance(parse(b"x", PATH), Document)
