"""`gitmem demo`: the main job on a throw-away workspace, by the same commands that a user types."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import StringIO
from pathlib import Path

import click

from gitmem.cli.app import App, pass_app
from gitmem.cli.console import Style
from gitmem.cli.group import command
from gitmem.core.errors import GitmemError

RUNBOOK = """Uploads fail with "No space left on device" when the log volume is full.

Rotate the logs, drop the oldest ones, and check that there is room again:

```sh
mkdir -p logs && for n in 1 2 3; do echo "line $n" > logs/app.$n.log; done
```

```sh
rm logs/app.1.log && ls logs
```
"""
SECOND = (
    "Saving an attachment breaks: the disk has run out of room",
    "Users see an error when they attach a file to a ticket. The log volume is at 100 %.",
)
UNRELATED = ("Translate the welcome page", "The German text of the landing page is out of date.")


@command("demo", "gitmem demo", "gitmem demo /tmp/look-at-it")
@click.argument("folder", required=False, metavar="[DIR]")
@pass_app
def demo(app: App, folder: str | None) -> None:
    """Run a whole task on a throw-away workspace.

    An issue goes to the built-in runbook agent (no model, no key, no network); its commits, its
    comment, its run record and its new skill are shown, and that the skill is offered to the
    next issue. With DIR the workspace is kept there.
    """
    with _place(app, folder) as place, _own_environment(place):
        _Demo(app, place / "workspace").run()
        if folder:
            app.console.say(f"\nThe workspace is kept in {place / 'workspace'}.")


@contextmanager
def _place(app: App, folder: str | None) -> Iterator[Path]:
    if folder:
        place = app.path(folder)
        place.mkdir(parents=True, exist_ok=True)
        yield place
        return
    with tempfile.TemporaryDirectory(prefix="gitmem-demo-", ignore_cleanup_errors=True) as made:
        yield Path(made)


@contextmanager
def _own_environment(place: Path) -> Iterator[None]:
    """A person of the demo's own, and nothing of the user's configuration or run directories."""
    own: Mapping[str, str] = {
        "GIT_AUTHOR_NAME": "Ana",
        "GIT_AUTHOR_EMAIL": "ana@example.org",
        "GIT_COMMITTER_NAME": "Ana",
        "GIT_COMMITTER_EMAIL": "ana@example.org",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GITMEM_RUNS": str(place / "runs"),
        "XDG_CONFIG_HOME": str(place / "config"),
    }
    before = {name: os.environ.get(name) for name in own}
    os.environ.update(own)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


class _Demo:
    def __init__(self, app: App, workspace: Path) -> None:
        self._app = app
        self._workspace = workspace

    def run(self) -> None:
        self._title("1. A workspace: a git repository of Markdown and YAML")
        self._step("init", str(self._workspace), inside=False)
        self._title("2. An issue, given to the runbook agent, and a place in the queue")
        title = "Uploads fail when the log disk is full"
        issue = self._step("issue", "create", title, "-b", RUNBOOK, "--assign", "agent:runbook")
        self._step("queue", "add", issue)
        self._title("3. The runner works on it, once")
        run = self._step("run", "--once")
        self._title("4. What came of it: three commits, a comment, a run record, a skill")
        self._step("log", "-n", "3")
        self._step("issue", "view", issue)
        self._step("runs", "view", run)
        self._step("skill", "list")
        self._title("5. The next issue, in other words: the new skill is offered to it")
        second = self._step("issue", "create", SECOND[0], "-b", SECOND[1])
        self._step("context", second, "--agent", "claude", "--budget", "2000")
        self._title("6. An issue about something else does not get it")
        third = self._step("issue", "create", UNRELATED[0], "-b", UNRELATED[1])
        self._step("context", third, "--agent", "claude", "--budget", "2000")

    def _title(self, text: str) -> None:
        console = self._app.console
        console.out.write(f"\n{console.paint(text, Style.STRONG)}\n")

    def _step(self, *words: str, inside: bool = True) -> str:
        """Run one command, show it with what it prints, and return the first word of that."""
        from gitmem.cli.main import main  # late: it is what called us

        console = self._app.console
        console.out.write(f"\n{console.paint('$ gitmem ' + _shown(words), Style.FAINT)}\n")
        out, err = StringIO(), StringIO()
        argv = ["-C", str(self._workspace), *words] if inside else list(words)
        code = main(argv, now=self._app.now, entropy=self._app.entropy, out=out, err=err)
        console.text(err.getvalue() + out.getvalue())
        console.flush()
        if code:
            raise GitmemError(f"the step `gitmem {words[0]}` ended with {code}", "gitmem doctor")
        return out.getvalue().split()[0]


def _shown(words: tuple[str, ...]) -> str:
    """The command as one would type it; a text of many lines is cut."""
    return " ".join(shlex.quote(word) if "\n" not in word else "'…'" for word in words)
