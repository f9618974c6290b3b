"""What `gitmem.yaml` says, and its defaults."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from gitmem.core.record import integer, mapping, text, texts

FORMAT_VERSION = 1

DEFAULT_LIMITS: Mapping[str, int] = {
    "file_bytes": 1_048_576,
    "context_tokens": 24_000,
    "jobs": 4,
    "runs_per_night": 40,
    "chain_depth": 3,
}


class WorkspaceConfig(NamedTuple):
    """What `gitmem.yaml` says."""

    id: str
    name: str
    branch: str
    format: int = 1
    default_agent: str | None = None
    projects: tuple[str, ...] = ()
    paused: bool = False
    repositories: tuple[Mapping[str, Any], ...] = ()
    limits: Mapping[str, int] = DEFAULT_LIMITS

    def limit(self, name: str) -> int:
        return self.limits.get(name, DEFAULT_LIMITS[name])


def config_of(fields: Mapping[str, Any]) -> WorkspaceConfig:
    limits = {
        **DEFAULT_LIMITS,
        **{k: v for k, v in mapping(fields.get("limits")).items() if isinstance(v, int)},
    }
    repositories = fields.get("repositories")
    return WorkspaceConfig(
        id=text(fields.get("id")) or "",
        name=text(fields.get("name")) or "workspace",
        branch=text(fields.get("branch")) or "main",
        format=integer(fields.get("format"), 1),
        default_agent=text(fields.get("default_agent")),
        projects=texts(fields.get("projects")),
        paused=fields.get("paused") is True,
        repositories=tuple(r for r in repositories if isinstance(r, dict))
        if isinstance(repositories, list)
        else (),
        limits=limits,
    )
