"""What lies in an agent's working directory, and the prompt that starts it.

The brief says the same in every run of an agent, so that providers read it from their cache;
what is new stands in the prompt, which is short and names files. Other people's words are data:
fenced, and labelled with their author.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from importlib import resources

from gitmem.core.ids import bare_id
from gitmem.core.layout import path_problem
from gitmem.core.tokens import estimate, head
from gitmem.memory.budget import Form, Item, Section
from gitmem.memory.fencing import fenced, one_line
from gitmem.memory.gather import DIRECTORY
from gitmem.memory.snapshot import Snapshot
from gitmem.store import document

BRIEF = f"{DIRECTORY}/BRIEF.md"
SKILLS = (Section.ATTACHED, Section.RECALLED_SKILLS)

# Comments that are new are said again in the prompt, up to this many tokens: they are in a file too.
NEW_TOKENS_MAX = 1500


def files(snapshot: Snapshot, *, briefs: Sequence[str], skill_folders: Sequence[str]) -> dict[str, bytes]:
    """Path in the working directory → bytes.

    `briefs` are the further names under which the agent program reads its brief, `skill_folders`
    where it finds skills; both are the adapter's. No path leads out of the directory and nothing
    is a link.
    """
    brief = brief_text(snapshot).encode()
    found: dict[str, bytes] = dict.fromkeys((BRIEF, *briefs), brief)
    for item in snapshot.items:
        if item.piece.section in SKILLS:
            found.update(_skill_files(snapshot, item, skill_folders))
        elif item.piece.section not in {Section.COMMENTS, Section.INSTRUCTIONS}:
            found.update(_told(snapshot, item))
    found[f"{DIRECTORY}/COMMENTS.md"] = _comments(snapshot).encode()
    found[f"{DIRECTORY}/SKILLS.md"] = _skills(snapshot, skill_folders).encode()
    found[f"{DIRECTORY}/manifest.yaml"] = document.render(snapshot.manifest(), None)
    for item in snapshot.of(Section.COMMENTS):
        if item.form is Form.HEAD:
            found[_whole(item)] = snapshot.files[item.piece.path]
    return {path: data for path, data in found.items() if path_problem(path) is None}


def _told(snapshot: Snapshot, item: Item) -> dict[str, bytes]:
    """The file as it is, or its beginning with a line that says where the rest lies.

    The issue is never cut on disk: half of a command must not be run.
    """
    whole = snapshot.files[item.piece.path]
    if item.form is Form.WHOLE or item.piece.section is Section.ISSUE:
        return {item.piece.place: whole}
    return {
        item.piece.place: (item.text.rstrip() + "\n\n" + _cut_line(item) + "\n").encode(),
        _whole(item): whole,
    }


def _whole(item: Item) -> str:
    return f"{DIRECTORY}/whole/{item.piece.path}"


def _cut_line(item: Item) -> str:
    return f"[cut here to fit the budget of this run; the whole text is in {_whole(item)}]"


def _skill_files(snapshot: Snapshot, item: Item, skill_folders: Sequence[str]) -> dict[str, bytes]:
    source = item.piece.path.rsplit("/", 1)[0] + "/"
    inside = {
        path.removeprefix(source): data for path, data in snapshot.files.items() if path.startswith(source)
    }
    name = item.piece.place.rsplit("/", 1)[-1]
    return {f"{folder}/{name}/{path}": data for folder in skill_folders for path, data in inside.items()}


def _comments(snapshot: Snapshot) -> str:
    """The comments that are told, oldest first, as a discussion is read."""
    told = snapshot.of(Section.COMMENTS)[::-1]
    lines = [f"# Comments on issue {snapshot.issue.id}, the newest last"]
    if snapshot.older_comments:
        lines.append(f"{snapshot.older_comments} older comments are not told here.")
    if not told:
        lines.append("There are none.")
    return "\n\n".join([*lines, *map(_comment, told)]) + "\n"


def _comment(item: Item) -> str:
    piece = item.piece
    kind = "" if piece.reason == "comment" else f" ({one_line(piece.reason)})"
    title = f"## {one_line(piece.author or 'unknown')}, {one_line(piece.created or '')}{kind}"
    rest = f"\n{_cut_line(item)}\n" if item.form is Form.HEAD else ""
    return f"{title}\n\n{fenced(item.text, piece.author)}{rest}"


def _skills(snapshot: Snapshot, skill_folders: Sequence[str]) -> str:
    told = snapshot.of(*SKILLS)
    if not told:
        return "# Skills\n\nNone fits this issue.\n"
    folder = skill_folders[0] if skill_folders else "skills"
    lines = "".join(_skill(item, folder) for item in told)
    return f"# Skills\n\nRead the SKILL.md of one that fits before you start.\n\n{lines}"


def _skill(item: Item, folder: str) -> str:
    name = one_line(item.piece.place.rsplit("/", 1)[-1])
    about = one_line(item.text.partition(": ")[2])
    return f"- `{folder}/{name}/SKILL.md`: {about}\n  ({one_line(item.piece.reason)})\n"


def brief_text(snapshot: Snapshot) -> str:
    """The brief of the snapshot's agent: the same for every issue that it works on."""
    agent = snapshot.agent
    text = resources.files("gitmem.memory").joinpath("brief.md").read_text(encoding="utf-8")
    text = text.replace("{agent}", f"agent:{agent.name}" if agent else "an agent")
    told = snapshot.of(Section.INSTRUCTIONS)
    return text + (f"\n## Your instructions\n\n{told[0].text.strip()}\n" if told else "")


def prompt(
    snapshot: Snapshot,
    *,
    delivered: Collection[str] = (),
    resumed: bool = False,
    brief_is_read: bool = True,
    note: str | None = None,
) -> str:
    """What the agent is told on its standard input: what to do, and what is new.

    `delivered` are the comments that an earlier run was given; `brief_is_read` is False for a
    program that does not read a brief by itself; `note` is the runner's own message, such as the
    output of a check that failed.
    """
    issue = snapshot.issue
    parts = [f"Work on issue {issue.id} in this directory."]
    if resumed:
        parts = [f"Go on with issue {issue.id}: the files in {DIRECTORY}/ have been renewed."]
    if not brief_is_read:
        parts.append(f"First read {BRIEF}: it says how you work here and how you hand back results.")
    parts.append(f"The issue is in {DIRECTORY}/ISSUE.md; its title is:")
    parts.append(fenced(issue.title, issue.created_by))
    if any(item.form is Form.HEAD for item in snapshot.of(Section.ISSUE)):
        parts.append("It is longer than the budget of this run: read it in parts.")
    parts += _hints(snapshot)
    if resumed or delivered:
        parts += _news(snapshot, delivered)
    if note:
        parts.append(fenced(note, "system:runner"))
    parts.append(f"When you end, {DIRECTORY}/outbox/result.md must say how it ended.")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _hints(snapshot: Snapshot) -> Iterable[str]:
    """The files beside the issue that there are this time."""
    lines = []
    if snapshot.of(Section.COMMENTS):
        lines.append(f"- the discussion: {DIRECTORY}/COMMENTS.md")
    if snapshot.of(*SKILLS):
        lines.append(f"- skills that may fit: {DIRECTORY}/SKILLS.md")
    named = (Section.REFS, Section.FAMILY, Section.MEMORY, Section.RECALLED_KNOWLEDGE, Section.EXPERIENCE)
    for item in snapshot.of(*named):
        lines.append(f"- {one_line(item.piece.reason)}: {one_line(item.piece.place)}")
    return ["Read also, as far as you need it:\n\n" + "\n".join(lines)] if lines else []


def _news(snapshot: Snapshot, delivered: Collection[str]) -> list[str]:
    """The comments that no run was given before, the newest last."""
    known = {bare_id(ref, "comment") for ref in delivered}
    fresh = [
        item for item in snapshot.of(Section.COMMENTS) if bare_id(item.piece.ref, "comment") not in known
    ]
    told: list[str] = []
    room = NEW_TOKENS_MAX
    for item in fresh:
        text = head(item.text, room)
        room -= estimate(text)
        if text:
            told.append(_new(item, text))
    return (
        [f"New since then ({len(fresh)}, all of them in {DIRECTORY}/COMMENTS.md):", *told[::-1]]
        if told
        else []
    )


def _new(item: Item, text: str) -> str:
    more = "\n(cut; the rest is in the file)" if text != item.text else ""
    return fenced(text, item.piece.author).rstrip("\n") + more
