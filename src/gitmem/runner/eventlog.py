"""Reading the events that a run left in its directory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def read_events(path: Path) -> Iterator[dict[str, Any]]:
    """The events of a run, oldest first; a line that a crash cut short is passed over."""
    try:
        file = path.open(encoding="utf-8", errors="replace")
    except OSError:
        return
    with file:
        for line in file:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict):
                yield event
