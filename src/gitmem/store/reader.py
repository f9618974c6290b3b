"""Typed records as they are now: the tip of the workspace branch under the uncommitted files."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.core import model
from gitmem.core.errors import AmbiguousError, NotFoundError
from gitmem.core.ids import not_found, parse_ref
from gitmem.core.model import Agent, Comment, Issue, Knowledge, Member, Run, Skill, Task
from gitmem.core.record import Kind, Problem, Record, Severity
from gitmem.core.states import IssueStatus
from gitmem.store.index import Index
from gitmem.store.index_state import RECORD, to_problems, to_record
from gitmem.store.overlay import working_file
from gitmem.store.threads import in_order

if TYPE_CHECKING:
    from gitmem.store.git_status import Look
    from gitmem.store.index_build import Progress
    from gitmem.store.search import Hit
    from gitmem.store.search_terms import Term
    from gitmem.store.workspace import Workspace

# Among so many known names the nearest to a misspelt one are looked for.
_KNOWN_MAX = 500
_CANDIDATES_MAX = 50
_NAMED = {Kind.AGENT, Kind.MEMBER, Kind.SKILL, Kind.KNOWLEDGE}
_LIVE = "WHERE live AND"
_ANY = "SELECT 1 FROM doc WHERE kind = ? AND live LIMIT 1"


class Reader:
    """One consistent view of a workspace; make a new one to see later changes."""

    def __init__(
        self,
        workspace: Workspace,
        progress: Progress | None = None,
        *,
        uncommitted: frozenset[str] | None = None,
        look: Look | None = None,
    ) -> None:
        """Bring the index up to date; `progress(done, total)` is told of files that must be read first.

        `uncommitted` are the paths that are known not to be as committed, from a reader of a moment
        ago: then git is not asked again. `look` is a look at them that is under way already.
        """
        self._workspace = workspace
        self._index = Index(workspace, progress, uncommitted, look)
        self._terms: dict[tuple[str, bool], list[Term]] = {}

    @property
    def commit(self) -> str:
        """The commit that is read, below the uncommitted files."""
        return self._index.commit

    @property
    def uncommitted(self) -> frozenset[str]:
        """Every path below the record folders that is not as committed, records or not."""
        return self._index.uncommitted

    def close(self) -> None:
        self._index.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # -- any record

    def records(self, kind: Kind) -> list[Record]:
        """All records of a kind by path, broken ones too."""
        return self._records("kind = ? ORDER BY path", (kind,))

    def without_id(self, kind: Kind) -> list[Record]:
        """The records of a kind whose file does not say its id: it is derived."""
        return self._records("kind = ? AND introduced IS NOT NULL ORDER BY path", (kind,))

    def record(self, kind: Kind, text: str) -> Record:
        """The record that an id, a unique prefix of it, a typed reference or a path names.

        Raises NotFoundError, or AmbiguousError with the ids, or the paths of a double id, as candidates.
        """
        return self._find(text, kind)

    def resolve(self, text: str) -> Record:
        """The record of any kind that `text` names; raises as `record` does."""
        return self._find(text, None)

    def _find(self, text: str, kind: Kind | None) -> Record:
        ref = parse_ref(text)
        if ref is not None:
            if kind is not None and ref.kind != kind:
                raise NotFoundError(f"{text} is no {kind}", f"give a {kind}")
            kind, name = Kind(ref.kind), ref.name
        else:
            name = text.strip()
        where, values = ("AND +kind = ?", [kind.value]) if kind else ("", [])
        start = name.lower()
        for condition, wanted in (
            ("id = ?", [name]),
            ("path = ?", [name]),
            ("id >= ? AND id < ?", [start, start + "\U0010ffff"]),
        ):
            found = self._records(f"{condition} {where} ORDER BY id, path LIMIT 200", [*wanted, *values])
            if found and name:
                return _only(found, text, kind)
        raise not_found(kind or "record", name, self._known(kind, name))

    def _known(self, kind: Kind | None, name: str) -> list[str]:
        """The ids of a kind; of kinds without names, and so with very many, those with the first letter."""
        where, values = ("AND kind = ?", [kind.value]) if kind else ("", [])
        if kind not in _NAMED:
            where += " AND id LIKE ? ESCAPE '~'"
            values.append(name[:1].replace("~", "~~").replace("%", "~%").replace("_", "~_") + "%")
        found = self._rows(f"SELECT id FROM doc WHERE live {where} LIMIT {_KNOWN_MAX}", values)
        return [id_ for (id_,) in found]

    def problems(self) -> list[Problem]:
        """What is wrong with files that could not be read as they should, and ids that are taken twice."""
        rows = self._rows("SELECT path, problems FROM doc WHERE live AND problems != '' ORDER BY path", ())
        found = [problem for path, said in rows for problem in to_problems(path, said)]
        doubles = self._rows(
            "SELECT path, kind, id FROM doc WHERE live AND (id, kind) IN "
            "(SELECT id, kind FROM doc WHERE live GROUP BY id, kind HAVING count(*) > 1) ORDER BY path",
            (),
        )
        return found + [_double_id(path, kind, id_) for path, kind, id_ in doubles]

    def data(self, path: str) -> bytes:
        """The bytes of any file, a record or a skill's own: the working copy if uncommitted, else the blob.

        Raises NotFoundError where there is no plain file.
        """
        root = self._workspace.root
        if root is not None and path in self.uncommitted:
            found = working_file(root, path).data
        else:
            entry = self._workspace.git.entry(self.commit, path)
            plain = entry is not None and entry.mode in {"100644", "100755"}
            found = self._workspace.git.blob(entry.oid) if entry and plain else None
        if found is None:
            raise NotFoundError(f"there is no file {path}")
        return found

    def files(self, folder: str) -> list[str]:
        """The paths of all plain files below `folder`, uncommitted ones included; links are not followed."""
        git, start = self._workspace.git, folder.rstrip("/") + "/"
        entry = git.entry(self.commit, folder.rstrip("/"))
        tree = git.ls_tree(entry.oid) if entry and entry.mode == "040000" else []
        found = {start + file.path for file in tree if file.mode in {"100644", "100755"}}
        root = self._workspace.root
        for path in self.uncommitted if root else ():
            if root and path.startswith(start):
                plain = working_file(root, path).data is not None
                (found.add if plain else found.discard)(path)
        return sorted(found)

    # -- issues, comments, tasks, runs

    def issues(
        self,
        *,
        statuses: Collection[IssueStatus] | None = None,
        assignee: str | None = None,
        labels: Sequence[str] = (),
        text: str | None = None,
        limit: int | None = None,
    ) -> list[Issue]:
        """Issues by priority, then age, then id.

        `assignee` is an actor or the name of one; all `labels` and all words of `text` (in title,
        body, labels or id, in any case) must be there.
        """
        where = ["kind = 'issue'"]
        values: list[str] = []
        if statuses is not None:
            where.append(f"status IN ({_marks(statuses)})")
            values += sorted(statuses)
        if assignee is not None:
            names = [assignee] if ":" in assignee else [f"member:{assignee}", f"agent:{assignee}", assignee]
            where.append(f"who IN ({_marks(names)})")
            values += names
        for label in labels:
            where.append("instr(labels, ?)")
            values.append(f"\n{label}\n")
        for word in (text or "").casefold().split():
            where.append("instr(casefold(id || ' ' || name || labels || body), ?)")
            values.append(word)
        order = f"ORDER BY rank, created, id, path LIMIT {-1 if limit is None else limit}"
        return self._issues(f"{' AND '.join(where)} {order}", values)

    def count_issues(self, statuses: Collection[IssueStatus]) -> int:
        """How many issues have one of the statuses, without reading them."""
        where = f"live AND kind = 'issue' AND status IN ({_marks(statuses)})"
        return int(self._rows(f"SELECT count(*) FROM doc WHERE {where}", sorted(statuses))[0][0])

    def issue(self, text: str) -> Issue:
        return self._issues("path = ?", (self.record(Kind.ISSUE, text).path,))[0]

    def comments(self, issue_id: str) -> list[Comment]:
        """The comments on an issue, oldest first, replies after what they answer."""
        found = self._records("issue = ? AND issue != '' AND kind = 'comment'", (issue_id,))
        comments = [model.comment_of(record)._replace(issue=issue_id) for record in found]
        return in_order(comments, self._places) if len(comments) > 1 else comments

    def _places(self, paths: Sequence[str]) -> Mapping[str, int]:
        from gitmem.store.introductions import order_of  # late: most comments are seconds apart

        return order_of(self._workspace.git, paths, self.commit)

    def tasks(self) -> list[Task]:
        """The tasks in the queue by priority, then id."""
        return [
            model.task_of(record) for record in self._records("kind = 'task' ORDER BY rank, id, path", ())
        ]

    def task(self, text: str) -> Task:
        return model.task_of(self.record(Kind.TASK, text))

    def runs(
        self,
        *,
        issue: str | None = None,
        task: str | None = None,
        agent: str | None = None,
        limit: int | None = None,
    ) -> list[Run]:
        """Ended runs, newest first."""
        asked = {"issue": issue, "task": task, "who": agent}
        given = {column: value for column, value in asked.items() if value is not None}
        # No run has a rank: said, it lets SQLite read the newest from the end of an index.
        by_index = "issue != '' AND +kind = 'run'" if issue else "kind = 'run' AND rank = 0"
        where = " AND ".join([by_index, *(f"{column} = ?" for column in given)])
        order = f"ORDER BY created DESC, id DESC LIMIT {_limit(limit)}"
        return [model.run_of(record) for record in self._records(f"{where} {order}", tuple(given.values()))]

    def run(self, text: str) -> Run:
        return model.run_of(self.record(Kind.RUN, text))

    # -- agents, members, skills, knowledge

    def agents(self) -> list[Agent]:
        return [model.agent_of(record) for record in self.records(Kind.AGENT)]

    def agent(self, name: str) -> Agent:
        return model.agent_of(self.record(Kind.AGENT, name))

    def members(self) -> list[Member]:
        return [model.member_of(record) for record in self.records(Kind.MEMBER)]

    def member(self, handle: str) -> Member:
        return model.member_of(self.record(Kind.MEMBER, handle))

    def member_by_email(self, email: str) -> Member | None:
        """The member who has this address, in any case."""
        wanted = email.strip().casefold()
        return next((m for m in self.members() if wanted in map(str.casefold, m.emails)), None)

    def skills(self) -> list[Skill]:
        return [model.skill_of(record) for record in self.records(Kind.SKILL)]

    def skill(self, name: str) -> Skill:
        return model.skill_of(self.record(Kind.SKILL, name))

    def knowledge(self) -> list[Knowledge]:
        return [model.knowledge_of(record) for record in self.records(Kind.KNOWLEDGE)]

    def search(
        self,
        query: str,
        kinds: Collection[Kind],
        limit: int,
        *,
        snippets: bool = True,
        unknown_too: bool = True,
    ) -> list[Hit]:
        """The best hits for free text among `kinds`; see `store.search` and `search_terms`."""
        from gitmem.store.search import search, terms_of  # late: lists do not search

        there = [kind for kind in kinds if self._rows(_ANY, (kind,))]
        if not there or limit <= 0:
            return []
        asked = (query, unknown_too)
        if asked not in self._terms:  # a snapshot asks the same for several kinds
            self._terms[asked] = self._index.read(lambda db: terms_of(db, query, unknown_too=unknown_too))
        return self._index.read(lambda db: search(db, self._terms[asked], there, limit, snippets=snippets))

    # -- inside

    def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        return self._index.read(lambda db: db.execute(sql, values).fetchall())

    def _records(self, condition: str, values: Sequence[Any]) -> list[Record]:
        """The live records that fulfil `condition`."""

        def ask(db: sqlite3.Connection) -> list[Record]:
            return [to_record(r) for r in db.execute(f"SELECT {RECORD} FROM doc {_LIVE} {condition}", values)]

        return self._index.read(ask)

    def _issues(self, condition: str, values: Sequence[Any]) -> list[Issue]:
        """The live issues that fulfil `condition`."""

        def ask(db: sqlite3.Connection) -> list[Issue]:
            rows = db.execute(f"SELECT {RECORD}, name, problems FROM doc {_LIVE} {condition}", values)
            return [_issue(to_record(row[:-2]), *row[-2:]) for row in rows]

        return self._index.read(ask)


def _marks(values: Collection[object]) -> str:
    return ", ".join("?" * len(values))


def _limit(limit: int | None) -> int:
    return -1 if limit is None else limit


def _issue(record: Record, name: str, problems: str) -> Issue:
    """A file without title or heading has its name's words for a title."""
    issue = model.issue_of(record)
    title = name if issue.title == issue.id and name else issue.title
    found = (*to_problems(record.path, problems), *model.misread_keys(record))
    return issue._replace(title=title, problems=found) if found or title != issue.title else issue


def _only(found: list[Record], text: str, kind: Kind | None) -> Record:
    if len(found) == 1:
        return found[0]
    ids = {(record.kind, record.id) for record in found}
    if len(ids) == 1:
        candidates = [record.path for record in found]
        hint = "type the path; `gitmem check` tells how to part the two"
    elif len({record.kind for record in found}) > 1:
        candidates = [f"{record.kind}:{record.id}" for record in found]
        hint = "type the kind too"
    else:
        candidates = [record.id for record in found]
        hint = "type more characters of the id"
    shown = ", ".join(candidates[:8]) + (", …" if len(candidates) > 8 else "")
    raise AmbiguousError(
        f"{kind or 'record'} {text!r} is ambiguous: {shown}", hint, candidates=candidates[:_CANDIDATES_MAX]
    )


def _double_id(path: str, kind: str, id_: str) -> Problem:
    message = f"the id {id_} belongs to more than one {kind}"
    hint = "give the newer file another id, or none: `gitmem check --fix` fills it in"
    return Problem(path, 0, 0, Severity.ERROR, "double-id", message, hint)
