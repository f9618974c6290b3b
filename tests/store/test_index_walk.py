"""Whatever a person does, the index that grew with it equals one that is built from nothing."""

from __future__ import annotations

import os
import random
import subprocess
from pathlib import Path

import pytest

from gitmem.store.workspace import Workspace
from tests.conftest import git, put
from tests.support.index_views import remove, rows

TITLES = ["Fix the login test", "登录测试失败", "Crème brûlée", "broken: value", "tokenizeQuery"]


def issue(id_: str | None, title: str, body: str = "Body.\n", **fields: str) -> str:
    keys = {"id": id_, "title": title, "status": "todo", "priority": "none"} | fields
    lines = "\n\n".join(f"{key}: {value}" for key, value in keys.items() if value is not None)
    return f"---\n{lines}\n---\n{body}"


def id_at(number: int) -> str:
    return f"{number:08d}".translate(str.maketrans("0123456789", "abcdefghjk"))


class Actions:
    """A person at work in a workspace: seeded, so that a failure can be repeated."""

    def __init__(self, repo: Path, seed: int) -> None:
        self.repo = repo
        self.chance = random.Random(seed)
        self.clock = 1_800_000_000

    def path(self) -> str:
        folder = self.chance.choice(
            ["issues/2026-11", "issues", "comments/2026-11/aaaaaaaa", "queue", "skills/a"]
        )
        name = {"queue": f"t{self.chance.randrange(3)}.yaml", "skills/a": "SKILL.md"}
        return f"{folder}/{name.get(folder, f'f{self.chance.randrange(4)}.md')}"

    def content(self, path: str) -> str:
        chance = self.chance
        if path.endswith(".yaml"):
            return (
                f"issue: issue:{id_at(chance.randrange(5))}\n\npriority: {chance.choice(['high', 'low'])}\n"
            )
        title = chance.choice(TITLES)
        id_ = chance.choice([None, None, id_at(chance.randrange(3))])
        return issue(id_, title, chance.choice(["", "Some text about login.\n", "# Heading\n"]))

    def write(self) -> None:
        path = self.path()
        (self.repo / path).unlink(missing_ok=True)
        put(self.repo, path, self.content(path), commit=False)

    def delete(self) -> None:
        (self.repo / self.path()).unlink(missing_ok=True)

    def link(self) -> None:
        place = self.repo / self.path()
        place.parent.mkdir(parents=True, exist_ok=True)
        place.unlink(missing_ok=True)
        place.symlink_to("../gitmem.yaml")

    def commit(self, *options: str) -> None:
        self.clock += self.chance.choice([0, 1, 60])
        when = f"{self.clock} +0000"
        subprocess.run(["git", "add", "-A"], cwd=self.repo, check=True)
        subprocess.run(
            ["git", "commit", "-q", "--allow-empty", "-m", "work", *options],
            cwd=self.repo,
            check=True,
            env=os.environ | {"GIT_COMMITTER_DATE": when, "GIT_AUTHOR_DATE": when},
        )

    def amend(self) -> None:
        self.commit("--amend")

    def go_back(self) -> None:
        git(self.repo, "reset", "-q", self.chance.choice(["--hard", "--mixed"]), "HEAD~1", ok=False)

    def merge(self) -> None:
        self.commit()
        git(self.repo, "branch", "-f", "other", "HEAD")
        self.write()
        self.commit()
        git(self.repo, "checkout", "-q", "other")
        self.write()
        self.commit()
        git(self.repo, "checkout", "-q", "main")
        git(self.repo, "merge", "-q", "-X", "ours", "-m", "merge", "other", ok=False)
        self.commit()

    def step(self) -> None:
        rare = [self.delete, self.link, self.amend, self.go_back, self.merge]
        self.chance.choice([*rare, self.write, self.write, self.write, self.commit, self.commit])()


@pytest.mark.parametrize("seed", range(6))
def test_the_index_is_the_same_whatever_way_it_got_there(repo: Path, ws: Workspace, seed: int) -> None:
    actions = Actions(repo, seed)
    for number in range(25):
        actions.step()
        if actions.chance.random() < 0.6:
            rows(ws)
        if number % 5 == 4:
            grown = rows(ws)
            kept = ws.index_path.with_name("kept")
            ws.index_path.rename(kept)
            remove(ws)
            assert rows(ws) == grown, f"after step {number}"
            kept.replace(ws.index_path)
