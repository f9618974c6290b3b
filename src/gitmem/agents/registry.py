"""The agent programs that gitmem can drive, by name."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from gitmem.agents.adapter import Adapter, Job
from gitmem.agents.environment import environment
from gitmem.agents.spawn import run
from gitmem.core.ids import not_found

# Each module has an ADAPTER; it is imported when it is asked for. Adding one is a line here.
_MODULES = {
    "acp": "gitmem.agents.acp",
    "claude": "gitmem.agents.claude",
    "codex": "gitmem.agents.codex",
    "command": "gitmem.agents.command",
    "copilot": "gitmem.agents.copilot",
    "cursor": "gitmem.agents.cursor",
    "droid": "gitmem.agents.droid",
    "gemini": "gitmem.agents.gemini",
    "kimi": "gitmem.agents.kimi",
    "pi": "gitmem.agents.pi",
    "qwen": "gitmem.agents.qwen",
    "hermes": "gitmem.agents.hermes",
    "openclaw": "gitmem.agents.openclaw",
    "opencode": "gitmem.agents.opencode",
    "runbook": "gitmem.agents.runbook",
}

_VERSION_TIMEOUT_S = 20
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:-[0-9A-Za-z.]+)?")


def names() -> list[str]:
    return sorted(_MODULES)


def adapter_named(name: str) -> Adapter:
    """The adapter of this name; raises NotFoundError with the nearest names."""
    if name not in _MODULES:
        raise not_found("adapter", name, _MODULES)
    adapter: Adapter = importlib.import_module(_MODULES[name]).ADAPTER
    return adapter


def locate(adapter: Adapter, command: Sequence[str] = (), path: str | None = None) -> str | None:
    """The absolute path of the executable: `command`'s first word, else the adapter's own.

    `path` is a PATH to search, our own by default. None where there is no such program.
    """
    wanted = command[0] if command else adapter.executable
    found = shutil.which(wanted, path=path) if wanted else None
    return str(Path(found).absolute()) if found else None


def missing_extra(adapter: Adapter) -> str | None:
    """How to install what this adapter needs of gitmem and is not there, else None."""
    extra = adapter.extra
    if extra is None or importlib.util.find_spec(extra.module) is not None:
        return None
    return f"pip install 'gitmem-workspace[{extra.name}]'"


def version(adapter: Adapter, command: Sequence[str] = ()) -> str | None:
    """What the program says of its version, such as `2.1.332`; None where it does not say."""
    executable = locate(adapter, command)
    if executable is None or adapter.version_argument is None:
        return adapter.own_version
    folder = Path(tempfile.gettempdir())
    said = run(
        [executable, *command[1:], adapter.version_argument],
        cwd=folder,
        env=environment(adapter, Job(folder, folder, ""), os.environ),
        timeout_s=_VERSION_TIMEOUT_S,
    )
    found = _VERSION.search(said.output) if said.exit == 0 else None
    return found.group() if found else None


def too_old(adapter: Adapter, version: str) -> str | None:
    """What to say where `version` is known not to work, else None."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[: len(adapter.minimum)])
    if numbers >= adapter.minimum:
        return None
    needed = ".".join(map(str, adapter.minimum))
    return f"{adapter.name} {version} is too old: {needed} or newer is needed"
