"""The order of comments on one issue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from gitmem.core.ids import bare_id
from gitmem.core.model import Comment

# Paths → the place in history of the commit that added each; uncommitted ones are left out.
Places = Callable[[Sequence[str]], Mapping[str, int]]


def in_order(comments: Sequence[Comment], places: Places) -> list[Comment]:
    """Comments from the oldest on, each reply somewhere after what it answers.

    `created` has whole seconds: those of one second are told apart by their commits, which are
    asked for only then, and those of one commit by path. What has no time comes last.
    """
    times = Counter(comment.created for comment in comments)
    twins = [comment.path for comment in comments if times[comment.created] > 1]
    order = places(twins) if twins else {}
    last = len(comments) + max(order.values(), default=0)

    def key(comment: Comment) -> tuple[bool, str, int, str]:
        created = comment.created or ""
        return not created, created, order.get(comment.path, last), comment.path

    return _replies_later(sorted(comments, key=key))


def _replies_later(comments: Sequence[Comment]) -> list[Comment]:
    """The same order, but a reply that stands before what it answers, by a wrong clock, follows it."""
    waiting: dict[str, list[Comment]] = {}
    there, told = {comment.id for comment in comments}, set[str]()
    found: list[Comment] = []
    for comment in comments:
        todo = [comment]
        while todo:
            one = todo.pop(0)
            parent = bare_id(one.reply_to or "", "comment")
            if parent in there and parent not in told and parent != one.id:
                waiting.setdefault(parent, []).append(one)
                continue
            told.add(one.id)
            found.append(one)
            todo = waiting.pop(one.id, []) + todo
    return [*found, *(one for circle in waiting.values() for one in circle)]
