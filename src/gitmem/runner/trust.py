"""Who vouches for the commands in a file: only those of a trusted member are ever run.

What a file says of itself proves nothing, and neither does the author of a commit that came
from elsewhere. Proof is a verified signature of a trusted member, or, on that member's own
machine, git's own record (the reflog, which never travels) that the commit was made here
under the member's identity.
"""

from __future__ import annotations

from collections.abc import Iterable

from gitmem.core.access import trusted
from gitmem.core.ids import Actor, ActorKind
from gitmem.core.model import Member
from gitmem.core.policy import Policy
from gitmem.store import document
from gitmem.store.git import FOLDER, Git
from gitmem.store.reader import Reader
from gitmem.store.workspace import Workspace

# How a commit that was made in this clone came onto the branch, as git and we write it.
# Not among them: what brings in or replays commits that others may have written.
_MADE_HERE = ("commit: ", "commit (", "gitmem: ")


class Trust:
    """Answers for one workspace, remembered as long as neither file, policy nor members change."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[str, tuple[object, str | None]] = {}

    def distrusted(self, reader: Reader, path: str, policy: Policy) -> str | None:
        """Why what the file or folder at `path` runs must not be run; None where a trusted member vouches."""
        members = reader.members()
        uncommitted = any(p == path or p.startswith(f"{path}/") for p in reader.uncommitted)
        entry = self._workspace.git.entry(reader.commit, path)
        state = (entry, uncommitted, policy.trusted, [(member.handle, member.emails) for member in members])
        if path not in self._known or self._known[path][0] != state:
            reason = distrusted(
                self._workspace, reader.commit, path, policy, members, uncommitted=uncommitted
            )
            self._known[path] = (state, reason)
        return self._known[path][1]


def distrusted(
    workspace: Workspace,
    commit: str,
    path: str,
    policy: Policy,
    members: Iterable[Member],
    *,
    uncommitted: bool,
) -> str | None:
    """The same, asked of git each time.

    Every commit up to `commit` that wrote any of it is asked. `uncommitted`: the working copy
    has edits on top, which the person at this machine wrote.
    """
    git = workspace.git
    who = _members_by_email(members)
    me = git.identity()
    local = who.get(me.email.casefold()) if me else None
    if uncommitted and not (local and trusted(policy, _member(local))):
        return "it has uncommitted edits, and the local identity is no trusted member"
    here = _made_here(git, workspace.ref)
    writers = _writers(git, commit, path)
    if not writers and not uncommitted:
        return f"{path} is not in the commit that the run starts from"
    for oid in writers:
        reason = _vouched(git, oid, who, policy, local if oid in here else None)
        if reason:
            return reason
    return None


def _vouched(git: Git, oid: str, who: dict[str, str], policy: Policy, local: str | None) -> str | None:
    out = git.run("log", "-1", "--format=%ae%x00%G?%x00%GS", oid).decode("utf-8", "replace").strip("\n")
    email, good, signer = out.split("\0")
    handle = who.get(email.casefold())
    if handle is None or not trusted(policy, _member(handle)):
        return f"commit {oid[:10]} by {email} wrote it, who is no trusted member"
    signed = good == "G" and handle == who.get(signer.split("<")[-1].rstrip(">").casefold())
    if signed or handle == local:
        return None
    return f"commit {oid[:10]} was neither made on this machine by member:{handle} nor signed"


def _writers(git: Git, tip: str, path: str) -> list[str]:
    """The commits that changed what would be run; moves of status and the like are not among them."""
    history = list(git.log(tip, paths=[path]))
    texts = [_runnable(git, commit.oid, path) for commit in history]
    older = [*texts, None][1:]
    return [commit.oid for commit, text, before in zip(history, texts, older, strict=True) if text != before]


# The fields that say what is run, in an issue, a skill or an agent.
_RUNNABLE = ("title", "acceptance_criteria", "adapter", "command", "env", "home", "skills")


def _runnable(git: Git, commit: str, path: str) -> object:
    entry = git.entry(commit, path)
    if entry is None or entry.mode == FOLDER:
        return entry
    parsed = document.parse(git.blob(entry.oid), path)
    return parsed.body, tuple(repr(parsed.fields.get(name)) for name in _RUNNABLE)


def _made_here(git: Git, ref: str) -> set[str]:
    """The commits that git's reflogs of this clone say were made in it."""
    found = set()
    for name in (ref, "HEAD"):
        for folder in (git.git_dir, git.common_dir):
            log = folder / "logs" / name
            if log.is_file():
                lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
                found |= {line.split(" ", 2)[1] for line in lines if _is_own(line)}
    return found


def _is_own(line: str) -> bool:
    _, _, message = line.partition("\t")
    return message.startswith(_MADE_HERE)


def _members_by_email(members: Iterable[Member]) -> dict[str, str]:
    return {email.casefold(): member.handle for member in members for email in member.emails}


def _member(handle: str) -> Actor:
    return Actor(ActorKind.MEMBER, handle)
