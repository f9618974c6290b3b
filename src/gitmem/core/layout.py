"""Where each kind of file lies, and which names every system can hold (docs/format.md)."""

from __future__ import annotations

import re
import unicodedata

from gitmem.core.places import CONFIG_FILE as CONFIG_FILE
from gitmem.core.places import CONTEXT_FILE as CONTEXT_FILE
from gitmem.core.places import LIBRARIES_FILE as LIBRARIES_FILE
from gitmem.core.places import POLICY_FILE as POLICY_FILE
from gitmem.core.places import RECORD_FOLDERS as RECORD_FOLDERS
from gitmem.core.record import Kind

# The two links that let other programs find the skills (FORMAT: "Agent Skills standard").
SKILL_LINKS = (".agents/skills", ".claude/skills")

PART_BYTES_MAX = 100
SLUG_BYTES_MAX = 48

_PART = re.compile(r"[a-z0-9][a-z0-9._-]*")
_DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"com{n}" for n in range(10)), *(f"lpt{n}" for n in range(10))}
)
_FORBIDDEN = frozenset('<>:"|?*\\')


def issue_path(issue_id: str, title: str, created: str) -> str:
    """`issues/<yyyy-mm>/<id>-<slug>.md`; the month of `created` keeps folders, and so commits, small."""
    tail = slug(title)
    return f"issues/{created[:7]}/{issue_id}{'-' + tail if tail else ''}.md"


def comment_path(issue_path_: str, issue_id: str, created: str, actor: str, rand: str) -> str:
    """`comments/<month of the issue>/<issue-id>/<utc>-<actor>-<rand>.md`."""
    stamp = created.replace("-", "").replace(":", "")
    who = actor.replace(":", "-")
    return f"comments/{month_of(issue_path_, created)}/{issue_id}/{stamp.lower()}-{who}-{rand}.md"


def month_of(path: str, default: str) -> str:
    """The `yyyy-mm` folder in a path, else the month of the time `default`."""
    found = re.search(r"/(\d{4}-\d{2})/", path)
    return found.group(1) if found else default[:7]


def run_path(run_id: str, started: str) -> str:
    return f"runs/{started[:7]}/{run_id}.md"


def task_path(task_id: str) -> str:
    return f"queue/{task_id}.yaml"


def skill_path(name: str) -> str:
    return f"skills/{name}/SKILL.md"


def agent_path(name: str) -> str:
    return f"agents/{name}.md"


def member_path(handle: str) -> str:
    return f"members/{handle}.md"


def slug(title: str, limit: int = SLUG_BYTES_MAX) -> str:
    """A file-name form of `title`: ASCII where it can be, cut at a word; empty where nothing is left."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    words = re.findall(r"[a-z0-9]+", plain)
    out = ""
    for word in words:
        longer = f"{out}-{word}" if out else word
        if len(longer) > limit:
            break
        out = longer
    return out or (words[0][:limit] if words else "")


_FLAT = {"agents": (Kind.AGENT, ".md"), "members": (Kind.MEMBER, ".md"), "queue": (Kind.TASK, ".yaml")}
_DEEP = {"issues": Kind.ISSUE, "comments": Kind.COMMENT, "runs": Kind.RUN}
_SINGLE = {
    CONFIG_FILE: Kind.CONFIG,
    CONTEXT_FILE: Kind.CONTEXT,
    POLICY_FILE: Kind.POLICY,
    LIBRARIES_FILE: Kind.LIBRARIES,
}


def kind_of(path: str) -> Kind | None:
    """The kind of record at `path`, or None for a file that is not a record (a skill's own files too)."""
    if path in _SINGLE:
        return _SINGLE[path]
    parts = path.split("/")
    folder, name = parts[0], parts[-1]
    if name.startswith(".") or len(parts) < 2:
        return None
    if folder in _DEEP:
        return _DEEP[folder] if name.endswith(".md") else None
    if folder in _FLAT:
        kind, ending = _FLAT[folder]
        return kind if len(parts) == 2 and name.endswith(ending) else None
    if folder == "skills":
        return Kind.SKILL if len(parts) == 3 and name == "SKILL.md" else None
    if folder == "knowledge":
        return Kind.KNOWLEDGE if len(parts) == 3 and name.endswith(".md") else None
    return None


def name_from_path(kind: Kind, path: str) -> str:
    """The id of a record whose id is its place: a skill's folder, an agent's stem, `<scope>/<slug>` …"""
    parts = path.split("/")
    stem = parts[-1].rsplit(".", 1)[0]
    if kind is Kind.SKILL:
        return parts[1]
    if kind is Kind.KNOWLEDGE:
        return f"{parts[1]}/{stem}"
    return stem


def part_problem(part: str) -> str | None:
    """Why some system cannot hold a file or folder of this name, or None where all can.

    Git itself refuses `..` and `.git` at checkout but not the rest (facts measured for this
    project: `con`, `x:y`, trailing dots and spaces go through).
    """
    if part in {"", ".", ".."}:
        return "is not a name"
    if part.lower() in {".git", "git~1"} or part.lower().startswith(".git\u200c"):
        return "is git's own name"
    if part.split(".")[0].lower() in _DEVICES:
        return "is a device name on Windows"
    if part[-1] in ". ":
        return "ends with a dot or a space, which Windows drops"
    bad = sorted({c for c in part if c in _FORBIDDEN or ord(c) < 32 or ord(c) == 127})
    if bad:
        return f"holds {', '.join(repr(c) for c in bad)}"
    if unicodedata.normalize("NFC", part) != part:
        return "is not in Unicode normal form C"
    if len(part.encode("utf-8", "surrogatepass")) > 255:
        return "is longer than 255 bytes"
    return None


def path_problem(path: str) -> str | None:
    """Why `path` cannot be kept on every system, or None."""
    if path.startswith("/") or "\0" in path:
        return "is not a relative path"
    for part in path.split("/"):
        reason = part_problem(part)
        if reason:
            return f"{part!r} {reason}"
    return None


def is_made_name(part: str) -> bool:
    """True for a name that gitmem itself may make: `[a-z0-9][a-z0-9._-]*`, at most 100 bytes."""
    return bool(_PART.fullmatch(part)) and len(part) <= PART_BYTES_MAX and part_problem(part) is None
