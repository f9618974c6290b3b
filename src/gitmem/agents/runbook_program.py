"""The program of the runbook agent: run the shell blocks of an issue and hand back what happened.

Run in a run's working directory as `python -P -m gitmem.agents.runbook_program`. Reads
`.gitmem/ISSUE.md`; without a block in it, the skills named in `GITMEM_ATTACHED_SKILLS`. Each
block is run by itself, stopping at the first that fails. Prints one JSON object an event,
writes the outbox, exits 0 when all went well or there was nothing to run, else 1.
"""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitmem.agents import runbook_text as md

WORK = Path(".gitmem")
OUTBOX = WORK / "outbox"

# Of each block's output: enough to see what went wrong, little enough for an issue's comment.
_HEAD = 8 * 1024
_TAIL = 24 * 1024
# One argument of execve may have 128 KiB on Linux.
_SCRIPT_MAX = 120 * 1024
_TICK_S = 0.1


@dataclass(frozen=True)
class Plan:
    """What to run: the issue's own blocks, or those of the skills in `used`."""

    issue: md.Issue
    blocks: tuple[md.Block, ...]
    used: tuple[str, ...]


def main() -> int:
    _say("start")
    plan = _plan()
    if not plan.blocks:
        return _nothing_to_run(plan)
    steps = list(_run_all(plan.blocks))
    failed = steps[-1].exit != 0
    summary = _summary(plan, steps)
    _write("comments/runbook.md", md.comment(summary, steps[-1]))
    if not failed and not plan.used:
        name = md.skill_name(plan.issue)
        _write(f"skills/{name}/SKILL.md", md.skill(name, plan.issue, steps))
    fields: dict[str, object] = {
        "outcome": "failed" if failed else "done",
        "summary": summary,
        "reason": md.last_line(steps[-1].output) if failed else None,
        "used": [f"skill:{name}" for name in plan.used],
    }
    _write("result.md", md.front_matter(fields) + f"{summary}\n\n{md.steps(steps)}")
    _say("message", text=summary)
    _say("result", text=summary, exit=int(failed))
    return int(failed)


def _plan() -> Plan:
    issue = md.parse_issue(_read(WORK / "ISSUE.md"))
    blocks = tuple(md.blocks(issue.body))
    if blocks:
        return Plan(issue, blocks, ())
    used, found = [], []
    for name in os.environ.get("GITMEM_ATTACHED_SKILLS", "").split(","):
        if re.fullmatch(r"[a-z0-9][a-z0-9-]{0,63}", name):
            of_skill = list(md.blocks(_read(Path(".agents/skills") / name / "SKILL.md")))
            found += of_skill
            used += [name] if of_skill else []
    return Plan(issue, tuple(found), tuple(used))


def _nothing_to_run(plan: Plan) -> int:
    summary = "Nothing to run: no sh block in the issue, nor in an attached skill."
    fields: dict[str, object] = {"outcome": "blocked", "summary": summary, "reason": "no runbook", "used": []}
    _write("result.md", md.front_matter(fields) + f"{summary} ({plan.issue.title})\n")
    _say("message", text=summary)
    _say("result", text=summary, exit=0)
    return 0


def _summary(plan: Plan, steps: list[md.Step]) -> str:
    source = f"skill {', '.join(plan.used)}" if plan.used else "the issue"
    if steps[-1].exit:
        return f"Block {len(steps)} of {len(plan.blocks)} of {source} exited {steps[-1].exit}."
    blocks = "1 block" if len(steps) == 1 else f"{len(steps)} blocks"
    return f"Ran {blocks} of {source}; every one exited 0."


def _run_all(blocks: tuple[md.Block, ...]) -> Iterator[md.Step]:
    for number, block in enumerate(blocks, 1):
        call = str(number)
        _say("tool_start", tool=block.shell, call=call, text=block.script)
        code, output = _run(block)
        _say("tool_end", tool=block.shell, call=call, text=output, exit=code)
        yield md.Step(block, code, output)
        if code:
            return


def _run(block: md.Block) -> tuple[int, str]:
    if len(block.script.encode()) > _SCRIPT_MAX:
        return 127, f"the block is longer than {_SCRIPT_MAX} bytes: put it into a file and call that"
    try:
        child = subprocess.Popen(
            [block.shell, "-eu", "-c", block.script],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        return 127, f"{block.shell}: {error.strerror}"
    with child:
        output = _bounded(child)
    return _shell_code(child.returncode), md.printable(output)


def _bounded(child: subprocess.Popen[bytes]) -> str:
    """What the child prints until it ends; only head and tail are kept.

    A program that it leaves in the background may hold the pipe open: it is not waited for.
    """
    head, tail, size = b"", b"", 0
    for chunk in _chunks(child):
        size += len(chunk)
        kept = chunk[: _HEAD - len(head)]
        head += kept
        tail = (tail + chunk[len(kept) :])[-_TAIL:]
    cut = size - len(head) - len(tail)
    middle = f"\n[... {cut} bytes cut ...]\n".encode() if cut else b""
    return (head + middle + tail).decode("utf-8", errors="replace")


def _chunks(child: subprocess.Popen[bytes]) -> Iterator[bytes]:
    assert child.stdout is not None
    pipe = child.stdout.fileno()
    while True:
        if select.select([pipe], [], [], _TICK_S)[0]:
            chunk = os.read(pipe, 65536)
            if not chunk:
                return
            yield chunk
        elif child.poll() is not None:
            return


def _shell_code(code: int) -> int:
    """As a shell tells it: 128 + the number of the signal that a program died of."""
    return code if code >= 0 else 128 - code


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _write(name: str, content: str) -> None:
    """Whole or not at all: comments are picked up while the run goes on."""
    target = OUTBOX / name
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = WORK / ".runbook-writing"
    aside.write_text(content, encoding="utf-8", errors="replace")
    aside.replace(target)


def _say(kind: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
