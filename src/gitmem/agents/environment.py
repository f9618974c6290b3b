"""The environment of an agent program: an allow-list, and nothing of an outer run."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gitmem.agents.adapter import Adapter, Job

# What every program needs to start, to speak the user's language and to reach the network.
_BASE = frozenset({"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TZ"})
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})
_CERTIFICATES = frozenset(
    {"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
)
# Where logins and settings lie: part of the user's own home, and only of that.
_HOME_FOLDERS = frozenset(
    {"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR"}
)

# Not even when an agent's file names them: variables of a session or a run that we are in
# ourselves, and git's, which would turn every git command of the agent on another repository.
# Other CLAUDE_CODE_* variables are settings and logins, which may be named.
_NEVER = re.compile(
    r"CLAUDECODE(_.*)?|CLAUDE_CODE_(ENTRYPOINT|EXECPATH|SESSION_ID|SSE_PORT)|GITMEM_.*|GIT_.*"
)


def environment(adapter: Adapter, job: Job, outer: Mapping[str, str]) -> dict[str, str]:
    """The variables that `adapter`'s program is given, from `outer`, our own.

    In rising order: allow-list, names in `job.pass_env`, ours, the adapter's, `job.env`.
    """
    names = {name for name in outer if _is_allowed(name)} | set(job.pass_env)
    if job.home is None:
        names |= _HOME_FOLDERS | set(adapter.home_variables)
    passed = {name: outer[name] for name in names if name in outer and not _NEVER.fullmatch(name)}
    return {**passed, **_ours(job), **_home(adapter, job), **adapter.variables(job), **job.env}


def _is_allowed(name: str) -> bool:
    return (
        name in _BASE
        or name in _CERTIFICATES
        or name.startswith("LC_")
        or name.upper() in _PROXIES  # both spellings are in use, and curl reads only one of http_proxy's
    )


def _ours(job: Job) -> dict[str, str]:
    return {
        "PWD": str(job.work),  # some programs trust it above their real working directory
        "GIT_CEILING_DIRECTORIES": str(job.work.parent),  # git must not find a repository above the run
        "GITMEM_OUTBOX": str(job.work / ".gitmem" / "outbox"),
    }


def _home(adapter: Adapter, job: Job) -> dict[str, str]:
    if job.home is None:
        return {}
    folders = {name: str(job.home / below) for name, below in adapter.home_variables.items()}
    return {"HOME": str(job.home), **folders}
