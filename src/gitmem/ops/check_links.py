"""What records say of each other: references that lead nowhere, circles, ids that are taken twice."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gitmem.core.ids import REF_KINDS, bare_id, parse_ref
from gitmem.core.record import Kind, Problem, Severity, text, texts
from gitmem.core.states import OPEN_STATUSES

KeyPath = tuple[str | int, ...]
# Gives line and column of a value in a file, which is read again for it: few files have faults.
Locate = Callable[[str, KeyPath], tuple[int, int]]

_NEAREST_AMONG = 200  # names from the same first letter on: a slip is seldom in that
_OWN_ID = frozenset({Kind.ISSUE, Kind.COMMENT, Kind.RUN})
REPOSITORY = "repository"  # code repositories are named in gitmem.yaml and have no record
_LISTED = frozenset({Kind.ISSUE, Kind.SKILL, Kind.AGENT, Kind.MEMBER})
_CIRCULAR = ("blocked_by", "parent")


@dataclass(frozen=True, slots=True)
class Link:
    """A reference as it stands at `place`; `kind` is that of a record, or `repository`."""

    place: KeyPath
    said: str
    kind: str
    name: str
    severity: Severity = Severity.ERROR
    by_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """A record with what it refers to."""

    path: str
    kind: Kind
    id: str
    links: tuple[Link, ...]
    folder: str = ""  # of a comment: the issue whose folder it lies in


def node_of(path: str, kind: Kind, id_: str, fields: Mapping[str, Any]) -> Node:
    find = _LINKS.get(kind)
    links = find(fields) if find else ()
    folder = path.split("/")[-2] if kind is Kind.COMMENT and path.count("/") > 1 else ""
    return Node(path, kind, id_, tuple(links), folder)


def _typed(fields: Mapping[str, Any], key: str, kind: str, *, severity: Severity = Severity.ERROR,
           by_prefix: bool = False) -> Iterator[Link]:  # fmt: skip
    """The references of a key, which may leave out their kind where only one can be meant."""
    value = fields.get(key)
    for index, said in enumerate(texts(value)):
        ref = parse_ref(said)
        place = (key, index) if isinstance(value, list) else (key,)
        target, name = (ref.kind, ref.name) if ref else (kind, said)
        if "://" not in said:
            yield Link(place, said, target, name, severity, by_prefix)


def _issue_links(fields: Mapping[str, Any]) -> Iterator[Link]:
    is_open = text(fields.get("status")) in {None, *OPEN_STATUSES}
    severity = Severity.ERROR if is_open else Severity.WARNING
    for key in ("parent", "blocked_by", "context_refs"):
        yield from _typed(fields, key, Kind.ISSUE, severity=severity)
    yield from _typed(fields, "repo", REPOSITORY, severity=severity)
    assignee = parse_ref(text(fields.get("assignee")) or "")
    if assignee and assignee.kind in {Kind.AGENT, Kind.MEMBER}:
        # A member is known by git's identity too, without a file.
        if assignee.kind == Kind.MEMBER:
            severity = Severity.WARNING
        yield Link(("assignee",), str(assignee), assignee.kind, assignee.name, severity)


def _comment_links(fields: Mapping[str, Any]) -> Iterator[Link]:
    yield from _typed(fields, "issue", Kind.ISSUE)
    yield from _typed(fields, "reply_to", Kind.COMMENT, severity=Severity.WARNING)


def _task_links(fields: Mapping[str, Any]) -> Iterator[Link]:
    yield from _typed(fields, "issue", Kind.ISSUE, by_prefix=True)
    yield from _typed(fields, "agent", Kind.AGENT)


def _agent_links(fields: Mapping[str, Any]) -> Iterator[Link]:
    yield from _typed(fields, "skills", Kind.SKILL)
    yield from _typed(fields, "fallback", Kind.AGENT)


def _run_links(fields: Mapping[str, Any]) -> Iterator[Link]:
    yield from _typed(fields, "issue", Kind.ISSUE, severity=Severity.WARNING)


def _knowledge_links(fields: Mapping[str, Any]) -> Iterator[Link]:
    yield from _typed(fields, "supersedes", Kind.KNOWLEDGE, severity=Severity.WARNING)


def _config_links(fields: Mapping[str, Any]) -> Iterator[Link]:
    yield from _typed(fields, "default_agent", Kind.AGENT)


_LINKS: Mapping[Kind, Callable[[Mapping[str, Any]], Iterable[Link]]] = {
    Kind.ISSUE: _issue_links,
    Kind.COMMENT: _comment_links,
    Kind.TASK: _task_links,
    Kind.AGENT: _agent_links,
    Kind.RUN: _run_links,
    Kind.KNOWLEDGE: _knowledge_links,
    Kind.CONFIG: _config_links,
}


@dataclass(slots=True)
class _Names:
    """The ids of each kind, sorted."""

    of: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def has(self, kind: str, name: str) -> bool:
        return self.matching(kind, name)[:1] == [name]

    def matching(self, kind: str, prefix: str) -> list[str]:
        """The first two that begin with `prefix`."""
        names = self.of[kind]
        start = bisect_left(names, prefix)
        return [name for name in names[start : start + 2] if name.startswith(prefix)]

    def nearest(self, kind: str, name: str) -> str | None:
        start = bisect_left(self.of[kind], name[:1])
        near = difflib.get_close_matches(name, self.of[kind][start : start + _NEAREST_AMONG], n=1, cutoff=0.6)
        return near[0] if near else None


def link_problems(nodes: Iterable[Node], repositories: Iterable[str], locate: Locate) -> Iterator[Problem]:
    """Dangling references, circles and double ids among all the records."""
    known = list(nodes)
    names = _Names()
    names.of[REPOSITORY] = list(repositories)
    for node in known:
        names.of[node.kind].append(node.id)
    for ids in names.of.values():
        ids.sort()
    for node in known:
        for link in node.links:
            yield from _dangling(node, link, names, locate)
        if node.folder and not names.has(Kind.ISSUE, node.folder):
            message = f"the folder belongs to no issue: there is no issue {node.folder}"
            hint = "move the comment to the folder of its issue, or bring the issue back"
            yield Problem(node.path, 0, 0, Severity.ERROR, "comment-without-issue", message, hint)
    yield from _double_ids(known, locate)
    yield from _circles(known, locate)


def _dangling(node: Node, link: Link, names: _Names, locate: Locate) -> Iterator[Problem]:
    if names.has(link.kind, link.name) or (link.kind == Kind.SKILL and "/" in link.name):
        return  # a skill with a slash is a library's
    matching = names.matching(link.kind, link.name)
    if link.by_prefix and len(matching) == 1:
        return
    key = link.place[0]
    place = locate(node.path, link.place)
    if link.by_prefix and matching:
        message = f"{key} {link.said!r} fits several: {', '.join(matching)} …"
        yield Problem(node.path, *place, link.severity, "ambiguous-ref", message, "write the whole id")
        return
    near = matching[0] if len(matching) == 1 else names.nearest(link.kind, link.name)
    hint = f"write: {_as_said(link, near)}" if near else _hint_to_make(link)
    message = f"{key} names {link.said}, and there is no such {link.kind}"
    yield Problem(node.path, *place, link.severity, "dangling-ref", message, hint)


def _as_said(link: Link, name: str) -> str:
    typed = parse_ref(link.said) is not None and link.kind in REF_KINDS
    value = f"{link.kind}:{name}" if typed else name
    return f"- {value}" if len(link.place) > 1 else f"{link.place[0]}: {value}"


def _hint_to_make(link: Link) -> str:
    if link.kind == REPOSITORY:
        return "name one of `repositories:` in gitmem.yaml, or add it there"
    listed = f" (gitmem {link.kind} list)" if link.kind in _LISTED else ""
    return f"name one that is there{listed}, or remove the reference"


def _double_ids(nodes: Iterable[Node], locate: Locate) -> Iterator[Problem]:
    holders: dict[tuple[Kind, str], list[str]] = defaultdict(list)
    for node in nodes:
        if node.kind in _OWN_ID:
            holders[node.kind, node.id].append(node.path)
    for (kind, id_), paths in holders.items():
        for path in paths if len(paths) > 1 else ():
            other = next(other for other in paths if other != path)
            message = f"the {kind} id {id_} is also that of {other}"
            hint = "remove the id line of the newer file; gitmem check --fix fills in another"
            yield Problem(path, *locate(path, ("id",)), Severity.ERROR, "double-id", message, hint)


def _circles(nodes: Iterable[Node], locate: Locate) -> Iterator[Problem]:
    issues = {node.id: node for node in nodes if node.kind is Kind.ISSUE}
    for relation in _CIRCULAR:
        edges = {
            id_: [bare_id(link.said) for link in node.links if link.place[0] == relation]
            for id_, node in issues.items()
        }
        for circle in _find_circles(edges):
            first = min(circle, key=lambda id_: issues[id_].path)
            at = circle.index(first)
            chain = [*circle[at:], *circle[:at], first]
            path = issues[first].path
            message = f"{relation} goes in a circle: {' → '.join(chain)}"
            hint = f"take one of these references out, for example this one of {first}"
            place = locate(path, (relation,))
            yield Problem(path, *place, Severity.ERROR, "circle", message, hint)


def _find_circles(edges: Mapping[str, list[str]]) -> Iterator[list[str]]:
    """One circle for each reference that closes one, by a depth-first walk without recursion."""
    done: set[str] = set()
    for start in edges:
        trail: dict[str, Iterator[str]] = {} if start in done else {start: iter(edges[start])}
        while trail:
            here = next(reversed(trail))
            onward = next(trail[here], None)
            if onward is None:
                done.add(here)
                del trail[here]
            elif onward in trail:
                walked = list(trail)
                yield walked[walked.index(onward) :]
            elif onward in edges and onward not in done:
                trail[onward] = iter(edges[onward])
