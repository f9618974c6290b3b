"""Write docs/commands.md from the help of the commands: python docs/generate.py"""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

from gitmem.cli.main import main
from gitmem.cli.table import COMMANDS
from gitmem.cli.topics import TOPICS

TARGET = Path(__file__).with_name("commands.md")

HEAD = """\
# Commands

<!-- Written by docs/generate.py from the help texts; change those. -->

`gitmem` finds the workspace from the folder it is started in: inside one, in a code repository that has
one (`init --here`, `init --beside`), or where `-C DIR` says. Options that hold for every command may stand
before or after the verb. `ls` is short for `list`; a unique prefix is enough for an id.
"""

JSON = """\
## What `--json` holds

At least these keys; more may come, none is renamed. References are typed, as in the files: `issue:7k3q9d2m`.

| record | keys |
|---|---|
"""

SHAPES = {
    "issue": "`id title status priority assignee labels parent blocked_by path created created_by "
    "problems`; `view` and writing verbs add `body acceptance_criteria context_refs comments`",
    "comment": "`id issue author created kind reply_to body path`",
    "task": "`id issue agent state attempt priority trigger path`",
    "run": "`id task issue agent outcome reason commit branch produced usage session_id snapshot "
    "duration_s path`; `view` adds `body`",
    "skill": "`name description status path attached_to`",
    "agent": "`name adapter model command skills role budget path`",
    "member": "`handle emails role path`",
    "event of `log`": "`commit time actor action trace refs subject`",
    "problem of `check` and `skill lint`": "`path line column severity code message hint`",
    "finding of `doctor`": "`name status message cure`",
    "`agent test`": "the agent, and `checks`: findings like those of `doctor`",
    "`status`": "`queued running waiting tasks runners waiting_for_people open_issues files_with_errors "
    "warnings`; with `--since` also `since`",
    "`init`": "`id name branch path repository commit`",
    "what a writing verb made or changed": "its record and `commit`, null where nothing was to change",
    "error, on stderr": '`{"error": {"kind", "message", "hint", "exit_code"}}`',
}

WIDTH = "102"


def pages() -> Iterator[str]:
    yield HEAD
    yield f"## gitmem\n\n{_help()}"
    for name, entry in COMMANDS.items():
        verbs = [] if isinstance(entry.target, str) else list(entry.target)
        yield f"## gitmem {name}\n\n{_help(name)}"
        for verb in verbs:
            yield f"### gitmem {name} {verb}\n\n{_help(name, verb)}"
    yield JSON + "".join(f"| {record} | {keys} |\n" for record, keys in SHAPES.items())
    for text in TOPICS.values():
        title, _, rest = text.partition("\n\n")
        yield f"## {title}\n\n```text\n{rest.strip(chr(10))}\n```\n"


def _help(*words: str) -> str:
    out = StringIO()
    code = main(["help", *words], out=out, err=out)
    if code:
        raise RuntimeError(out.getvalue())
    return f"```text\n{out.getvalue().rstrip()}\n```\n"


def render() -> str:
    """The whole page, the same on a terminal of any width."""
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = WIDTH
    try:
        return "\n".join(pages())
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before


if __name__ == "__main__":
    TARGET.write_text(render(), encoding="utf-8")
