"""The files of a workspace as they lie there: names, places, links, and what each says by itself."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from gitmem.core.ids import is_id
from gitmem.core.layout import RECORD_FOLDERS, SKILL_LINKS, name_from_path, path_problem
from gitmem.core.record import Kind, Problem, Severity, text
from gitmem.store import document, schema
from gitmem.store.document import Document
from gitmem.store.git import FILE, SUBMODULE, SYMLINK, TreeEntry
from gitmem.store.overlay import record_kind, working_file
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

UNREADABLE = "unreadable"  # in the place of a mode: the file cannot be opened

_LINK_TARGET = b"../skills"
_RECORD_ENDINGS = (".md", ".yaml", ".yml")
# What editors leave beside a file: `.#x`, `#x#`, `x~`, `.x.swp`, and vim's probe `4913`.
_LEFTOVER = re.compile(r"[.#].*|.*(?:~|\.tmp|\.swp|\.bak)|[0-9]+")
# What `name:` or `handle:` must repeat, because references go by the file.
_NAMED_BY_FILE = {Kind.AGENT: "name", Kind.MEMBER: "handle"}


@dataclass(frozen=True, slots=True)
class Seen:
    """A file of the workspace; `data` is there for a record and for a link that is committed."""

    path: str
    mode: str
    data: bytes | None = None

    @property
    def kind(self) -> Kind | None:
        return record_kind(self.path)

    @property
    def shown(self) -> str:
        """The path as it can be printed: bytes that are not UTF-8 are spelt out."""
        return self.path.encode("utf-8", "backslashreplace").decode()


def gather(workspace: Workspace, reader: Reader) -> Iterator[Seen]:
    """Every file at the tip, under those of the work tree that are not as committed."""
    entries = {entry.path: entry for entry in workspace.git.ls_tree(reader.commit)}
    for path in sorted(reader.uncommitted):
        entries.pop(path, None)
        yield from _in_work_tree(workspace, path)
    read = [entry for entry in entries.values() if _is_read(entry)]
    yield from (Seen(entry.path, entry.mode) for entry in entries.values() if not _is_read(entry))
    blobs = workspace.git.blobs(entry.oid for entry in read)
    for entry, (_, data) in zip(read, blobs, strict=True):
        yield Seen(entry.path, entry.mode, data)


def _is_read(entry: TreeEntry) -> bool:
    return entry.mode == SYMLINK or (entry.mode != SUBMODULE and record_kind(entry.path) is not None)


def _in_work_tree(workspace: Workspace, path: str) -> Iterator[Seen]:
    if workspace.root is None:
        return
    if path.endswith("/"):  # another repository: git does not look into it
        yield Seen(path.rstrip("/"), SUBMODULE)
        return
    found = working_file(workspace.root, path)
    if found.is_link:
        yield Seen(path, SYMLINK)
    elif not found.is_gone:
        yield Seen(path, UNREADABLE if found.data is None else FILE, found.data)


def name_problems(files: Iterable[Seen]) -> Iterator[Problem]:
    """Names that some system cannot hold, and pairs of names that some system takes for one."""
    spellings: dict[str, set[str]] = defaultdict(set)
    for file in files:
        reason = path_problem(file.path)
        if reason:
            hint = "rename it: some system cannot check it out"
            yield _error(file.shown, "bad-name", f"the name {reason}", hint)
        parts = file.path.split("/")
        for end in range(1, len(parts) + 1):
            path = "/".join(parts[:end])
            spellings[unicodedata.normalize("NFC", path).casefold()].add(path)
    for twins in spellings.values():
        first, *others = sorted(twins)
        for other in others:
            message = f"{first!r} and {other!r} are one file on systems that do not tell them apart"
            yield _error(Seen(other, "").shown, "name-twins", message, "rename one of the two")


def place_problems(file: Seen) -> Iterator[Problem]:
    """Links, other repositories, and files that lie where no record of their kind does."""
    in_records = file.path.split("/")[0] in RECORD_FOLDERS
    if file.mode == SYMLINK:
        if file.path not in SKILL_LINKS:
            message = "symbolic links are not followed: one can point out of the workspace"
            yield _error(file.shown, "symlink", message, "put a plain file in its place")
        elif file.data not in {None, _LINK_TARGET}:
            message = "this link must point to ../skills"
            yield _error(file.shown, "symlink", message, f"ln -sfn ../skills {file.path}")
    elif file.mode == SUBMODULE:
        if in_records:
            message = "another repository: what is in it is not seen"
            yield _error(file.shown, "other-repository", message, "keep it outside the record folders")
    elif file.mode == UNREADABLE:
        yield _error(file.shown, "unreadable", "the file cannot be opened", "make it readable for you")
    elif in_records and file.kind is None and _is_misplaced(file.path):
        wanted = _WHERE.get(file.path.split("/")[0], "")
        looks = file.path.endswith(_RECORD_ENDINGS)
        message = f"nothing reads this file: {wanted}"
        severity = Severity.ERROR if looks else Severity.WARNING
        yield Problem(file.shown, 0, 0, severity, "misplaced-file", message, "move or rename it")


_WHERE = {
    "issues": "an issue is a .md file below issues/",
    "comments": "a comment is a .md file below comments/<month>/<issue>/",
    "runs": "a run is a .md file below runs/",
    "agents": "an agent is agents/<name>.md",
    "members": "a member is members/<handle>.md",
    "queue": "a task is queue/<name>.yaml",
    "skills": "a skill is skills/<name>/SKILL.md",
    "knowledge": "a note is knowledge/<scope>/<slug>.md",
}


def _is_misplaced(path: str) -> bool:
    parts = path.split("/")
    own = parts[0] == "skills" and len(parts) > 2  # a skill's own files are its business
    return not own and not any(_LEFTOVER.fullmatch(part) for part in parts[1:])


def skill_problems(files: Iterable[Seen]) -> Iterator[Problem]:
    """Folders below `skills/` that hold files but no skill."""
    folders: dict[str, bool] = {}
    for file in files:
        parts = file.path.split("/")
        if parts[0] == "skills" and len(parts) > 2 and not _LEFTOVER.fullmatch(parts[-1]):
            folders[parts[1]] = folders.get(parts[1], False) or file.kind is Kind.SKILL
    for name, has_skill in folders.items():
        if not has_skill:
            message = "the folder has no SKILL.md"
            yield _error(f"skills/{name}", "no-skill-file", message, "write one, or move the files")


def read_problems(file: Seen, parsed: Document) -> Iterator[Problem]:
    """What is wrong with a record by itself: its text, its fields, and its name beside its place."""
    kind = file.kind
    assert kind is not None
    yield from parsed.problems
    yield from schema.problems(kind, parsed, file.path)
    stem = name_from_path(kind, file.path)
    key = "name" if kind is Kind.SKILL else _NAMED_BY_FILE.get(kind)
    said = text(parsed.fields.get(key)) if key else None
    if key and said not in {None, stem}:
        code = "name-not-folder" if kind is Kind.SKILL else "name-not-file"
        what = "folder" if kind is Kind.SKILL else "file"
        place = document.position(parsed, (key,))
        message = f"{key} is {said!r} and the {what} is {stem!r}"
        yield Problem(file.path, *place, Severity.ERROR, code, message, f"write: {key}: {stem}")
    said = text(parsed.fields.get("id"))
    if kind is Kind.ISSUE and said and is_id(stem[:8]) and stem[8:9] in {"", "-"} and said != stem[:8]:
        place = document.position(parsed, ("id",))
        message = f"the id is {said} and the file's name begins with {stem[:8]}"
        hint = "if the file is a copy of another issue, remove the line; gitmem check --fix fills in an id"
        yield Problem(file.path, *place, Severity.WARNING, "id-not-file-name", message, hint)


def is_below(path: str, folders: Collection[str]) -> bool:
    """True where `path` is one of the files or in one of the folders; any path where none is given."""
    names = [folder.rstrip("/") for folder in folders]
    return not names or any(path == name or path.startswith(f"{name}/") for name in names)


def _error(path: str, code: str, message: str, hint: str) -> Problem:
    return Problem(path, 0, 0, Severity.ERROR, code, message, hint)
