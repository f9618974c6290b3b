"""From a file to its row of the index: its id, the columns that lists need, the texts to search."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gitmem.core.ids import bare_id, derived_id, is_id
from gitmem.core.layout import name_from_path
from gitmem.core.model import first_heading
from gitmem.core.record import Kind, Problem, Severity, enum_or, mapping, text, texts
from gitmem.core.states import PRIORITY_RANK, IssueStatus, Priority, TaskState
from gitmem.store.index_state import seal, to_problems

# What `derived_id` is given in the place of the commit while a file has not been committed.
UNCOMMITTED = "uncommitted"

_BY_KEY = frozenset({Kind.ISSUE, Kind.COMMENT, Kind.RUN})
_SANE_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")
_LAST = "~"  # sorts after every time: a record without one comes last


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file's bytes say; the same for the same bytes."""

    fields: Mapping[str, Any]
    body: str
    problems: tuple[Problem, ...]

    @property
    def is_broken(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)


def parse(path: str, data: bytes, limit: int) -> Parsed:
    """Read a record file of at most `limit` bytes; what is wrong with it comes as problems."""
    from gitmem.store import document  # late: imports yaml, and a warm index parses nothing

    found = document.parse(data, path, whole_yaml=path.endswith(".yaml"), limit=limit)
    fields = {"items": found.value} if isinstance(found.value, list) else found.fields
    return Parsed(fields, found.body, found.problems)


def unreadable(path: str, code: str, message: str, hint: str) -> Parsed:
    """In the place of a file that is not opened at all."""
    return Parsed({}, "", (Problem(path, 0, 0, Severity.ERROR, code, message, hint),))


def link(path: str) -> Parsed:
    message = "a symbolic link in the place of a record is not followed"
    return unreadable(path, "symlink", message, "put a plain file in its place")


def own_id(kind: Kind, path: str, parsed: Parsed) -> str | None:
    """The id that the file itself or its place tells, or None where it must be derived.

    Issues, comments and runs say it in `id:` (all digits are an integer to YAML); gitmem also
    puts it into the names of the files it makes, which is where a comment's and a run's is
    found and, because its key cannot be read, that of a broken issue.
    """
    if kind not in _BY_KEY:
        return name_from_path(kind, path)
    said = parsed.fields.get("id")
    if isinstance(said, int) and not isinstance(said, bool):
        said = str(said)
    if isinstance(said, str) and _SANE_ID.fullmatch(said):
        return said
    stem = name_from_path(kind, path)
    if kind is Kind.ISSUE:
        return stem[:8] if parsed.is_broken and is_id(stem[:8]) and stem[8:9] in {"", "-"} else None
    if kind is Kind.RUN:
        return stem if _SANE_ID.fullmatch(stem) else None
    tail = stem.rpartition("-")[2]
    return tail if is_id(tail) else None


def derive(workspace_id: str, path: str, introduced: str) -> str:
    """The id of a file without one; `introduced` ends with the commit that added the file.

    A file that is not committed yet is derived from `UNCOMMITTED`, so its id changes once, when
    it is committed, unless the file is given an `id:` before.
    """
    return derived_id(workspace_id, path, introduced.rpartition(" ")[2])


COLUMNS = (
    "path", "working", "live", "kind", "id", "introduced", "blob", "fields", "problems", "seal",
    "name", "asks", "description", "body", "head_parts", "body_parts",
    "status", "rank", "who", "created", "labels", "issue", "task",
)  # fmt: skip
INSERT = f"INSERT INTO doc ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row's file lies: path, kind, blob, layer, and whether readers see it."""

    path: str
    kind: Kind
    blob: str
    working: bool
    live: bool


def row(place: Place, parsed: Parsed, id_: str, introduced: str | None) -> tuple[Any, ...]:
    """The values of `INSERT`."""
    path, kind, fields = place.path, place.kind, parsed.fields
    found = _COLUMNS_OF.get(kind, _no_columns)(fields)
    title = text(fields.get("title")) or first_heading(parsed.body) or "" if found.titled else ""
    name = _clean(title or (_words_of(path) if kind is Kind.ISSUE else found.name or id_))
    asks, description = _clean(found.asks), _clean(found.description)
    stored, said = _json(fields), _problems_json(parsed.problems)
    values = (
        path, int(place.working), int(place.live), kind.value, id_, introduced, place.blob, stored, said,
        seal(kind.value, path, place.blob, stored, parsed.body, said),
        name, asks, description, parsed.body, parts(f"{name} {asks} {description}"), parts(parsed.body),
        found.status, found.rank, _clean(found.who), _clean(found.created),
        _clean("".join(f"\n{label}\n" for label in found.labels)),
        _clean(found.issue or _issue_of_comment(kind, path)), _clean(found.task),
    )  # fmt: skip
    assert len(values) == len(COLUMNS)
    return values


def stored(path: str, fields: str, body: str, said: str) -> Parsed:
    """What `parse` made of the same bytes before, perhaps at another path."""
    return Parsed(json.loads(fields), body, tuple(to_problems(path, said)))


def _json(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def _problems_json(found: Iterable[Problem]) -> str:
    rows = [[p.line, p.column, p.severity, p.code, p.message, p.hint] for p in found]
    return _json(rows) if rows else ""


@dataclass(frozen=True, slots=True)
class _Columns:
    titled: bool = False  # the name is the title, else the first heading
    name: str = ""
    asks: str = ""
    description: str = ""
    status: str = ""
    rank: int = 0
    who: str = ""
    created: str = _LAST
    labels: tuple[str, ...] = ()
    issue: str = ""
    task: str = ""


def _no_columns(_: Mapping[str, Any]) -> _Columns:
    return _Columns()


def _rank(fields: Mapping[str, Any]) -> int:
    return PRIORITY_RANK[enum_or(Priority, fields.get("priority"), Priority.NONE)]


def _id_in(fields: Mapping[str, Any], key: str, kind: str) -> str:
    return bare_id(text(fields.get(key)) or "", kind)


def _issue_columns(fields: Mapping[str, Any]) -> _Columns:
    labels = texts(fields.get("labels"))
    return _Columns(
        titled=True,
        asks=" ".join(labels),
        status=enum_or(IssueStatus, fields.get("status"), IssueStatus.TODO),
        rank=_rank(fields),
        who=text(fields.get("assignee")) or "",
        created=text(fields.get("created")) or _LAST,
        labels=labels,
    )


def _comment_columns(fields: Mapping[str, Any]) -> _Columns:
    return _Columns(
        who=text(fields.get("author")) or "",
        created=text(fields.get("created")) or _LAST,
        issue=_id_in(fields, "issue", "issue"),
    )


def _task_columns(fields: Mapping[str, Any]) -> _Columns:
    return _Columns(
        status=enum_or(TaskState, fields.get("state"), TaskState.QUEUED),
        rank=_rank(fields),
        who=_id_in(fields, "agent", "agent"),
        issue=_id_in(fields, "issue", "issue"),
    )


def _run_columns(fields: Mapping[str, Any]) -> _Columns:
    return _Columns(
        status=text(fields.get("outcome")) or "",
        who=_id_in(fields, "agent", "agent"),
        created=text(fields.get("started")) or text(fields.get("ended")) or "",  # newest first: last again
        issue=_id_in(fields, "issue", "issue"),
        task=_id_in(fields, "task", "task"),
    )


def _skill_columns(fields: Mapping[str, Any]) -> _Columns:
    said = mapping(fields.get("metadata"))
    return _Columns(
        asks=text(said.get("gitmem-asks")) or "",
        description=text(fields.get("description")) or "",
        status=text(said.get("gitmem-status")) or "active",
    )


def _knowledge_columns(fields: Mapping[str, Any]) -> _Columns:
    return _Columns(
        titled=True,
        asks=" ".join((*texts(fields.get("asks")), *texts(fields.get("about")))),
        description=text(fields.get("description")) or "",
        status=text(fields.get("status")) or "active",
    )


_COLUMNS_OF = {
    Kind.ISSUE: _issue_columns,
    Kind.COMMENT: _comment_columns,
    Kind.TASK: _task_columns,
    Kind.RUN: _run_columns,
    Kind.SKILL: _skill_columns,
    Kind.KNOWLEDGE: _knowledge_columns,
}


def _issue_of_comment(kind: Kind, path: str) -> str:
    """A comment lies in the folder of its issue, whatever it forgets to say."""
    folders = path.split("/")
    return folders[-2] if kind is Kind.COMMENT and len(folders) > 2 else ""


def _words_of(path: str) -> str:
    """A title from a file's name, without the id that gitmem puts in front."""
    stem = name_from_path(Kind.ISSUE, path)
    head, dash, rest = stem.partition("-")
    return (rest if dash and is_id(head) else stem).replace("-", " ").replace("_", " ")


def _clean(value: str) -> str:
    """Text that SQLite can keep: a YAML escape can make half a character of UTF-16."""
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


_CAMEL = re.compile(r"[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*")
_CAMEL_SEAM = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# Scripts that are written without spaces, or with words that grow (Thai, Lao, Burmese, Khmer,
# kana, Han, Hangul): cut into overlapping pairs of letters, as search engines do for them.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)


def parts(value: str) -> str:
    """What a tokenizer that cuts at spaces cannot find: parts of `camelCase` names, pairs of CJK letters."""
    found = [part for name in _CAMEL.findall(value) for part in _CAMEL_SEAM.split(name) if len(part) > 1]
    return " ".join([*dict.fromkeys(found), *pairs(value)])


def spaced(value: str) -> str:
    """`value` without the runs that `pairs` is for."""
    return value if value.isascii() else _UNSPACED.sub(" ", value)


def pairs(value: str) -> list[str]:
    """Overlapping pairs of letters from runs without spaces; a letter that stands alone is itself."""
    if value.isascii():
        return []
    found: dict[str, None] = {}
    for run in _UNSPACED.findall(value):
        letters = "".join(filter(str.isalpha, run))  # vowel signs are not letters to the tokenizer
        cut = [letters[at : at + 2] for at in range(len(letters) - 1)] or [letters]
        found.update(dict.fromkeys(cut))
    return [pair for pair in found if pair]
