"""What the runner itself costs a task, with an agent that does nothing but hand back a result."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from benchmarks.measure import Spent, spent
from benchmarks.options import Options
from benchmarks.report import Line
from benchmarks.workspaces import Made, git, make

TITLE = "The runner, per task"
GITMEM = Path(sys.executable).with_name("gitmem")
CPU_MS_MAX = 150

PROGRAM = (
    "mkdir -p .gitmem/outbox; printf -- '---\\noutcome: done\\n---\\nDone.\\n' > .gitmem/outbox/result.md"
)
AGENT = f"""\
---
name: noop

adapter: command

command:
  - sh
  - -c
  - {json.dumps(PROGRAM)}

max_concurrent: 100
---
Hand back a result.
"""
MEMBER = "---\nemails:\n  - ana@example.org\n---\n"
POLICY = "trusted:\n  - member:ana\n"


def lines(options: Options, folder: Path) -> list[Line]:
    files = {"agents/noop.md": AGENT, "members/ana.md": MEMBER, "policy.yaml": POLICY}
    made = make(folder / "workspace", options.issues, files=files, queued=options.tasks, agent="noop")
    spent([GITMEM, "issue", "list"], made.root)  # the index is warm, as beside any runner that is at work
    took = spent([GITMEM, "run", "--once"], made.root, {"GITMEM_RUNS": str(folder / "runs")})
    _check_done(made, options.tasks)
    return _table(took, _agent_alone(folder, options.tasks), options.tasks)


def _table(took: Spent, agent: Spent, tasks: int) -> list[Line]:
    alone = Line("the agent alone, processor time", agent.cpu_s * 1000 / tasks, "ms", short="the agent alone")
    own = Line(
        "runner and its git processes, processor time",
        (took.cpu_s - agent.cpu_s) * 1000 / tasks,
        "ms",
        at_most=CPU_MS_MAX,
    )
    return [
        own,
        alone,
        Line("both, wall time (up to 4 at once)", took.wall_s * 1000 / tasks, "ms"),
        Line("peak memory of the largest process", took.peak_mib, "MiB"),
    ]


def _agent_alone(folder: Path, tasks: int) -> Spent:
    """The agent's program, as often, without a runner."""
    work = folder / "alone"
    work.mkdir()
    loop = 'for _ in $(seq "$1"); do sh -c "$2"; done'
    return spent(["sh", "-c", loop, "sh", str(tasks), PROGRAM], work)


def _check_done(made: Made, tasks: int) -> None:
    """Whoever does less is faster: every task must have ended well."""
    records = git(made.root, "grep", "-l", "^outcome: succeeded$", "main", "--", "runs/").splitlines()
    if len(records) != tasks:
        raise RuntimeError(f"{len(records)} of {tasks} runs succeeded")
