"""What every writing verb prints: the id first, then the commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gitmem.cli.app import App

if TYPE_CHECKING:
    from gitmem.store.change import Committed


def written(app: App, name: str, committed: Committed | None, shape: Mapping[str, Any], words: str) -> None:
    """One record that was made or changed. `words` say for people what happened."""
    oid = _note(app, committed, words)
    if app.console.json:
        app.console.emit({**shape, "commit": oid})
    else:
        app.console.line(name, oid)


def written_many(
    app: App,
    names: Sequence[str],
    committed: Committed | None,
    shapes: Sequence[Mapping[str, Any]],
    words: str,
) -> None:
    """Several records of one commit: an array, or one line each."""
    oid = _note(app, committed, words)
    if app.console.json:
        app.console.emit([{**shape, "commit": oid} for shape in shapes])
        return
    for name in names:
        app.console.line(name, oid)


def _note(app: App, committed: Committed | None, words: str) -> str | None:
    changed = committed is not None and bool(committed.paths)
    app.console.say(words if changed else "nothing to change")
    for warning in committed.warnings if committed else ():
        app.console.warn(warning)
    if committed is None or not changed:
        return None
    app.console.committed = committed.oid
    app.console.detail(f"trace {app.trace}; {', '.join(committed.paths)}")
    return committed.oid
