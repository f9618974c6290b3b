from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from gitmem.core.errors import ConflictError
from gitmem.store import claims
from gitmem.store.claims import LEASE, Claim
from gitmem.store.workspace import Workspace
from tests.conftest import NOW

Entropy = Callable[[int], bytes]
TOP = Path(__file__).parents[2]


def take(ws: Workspace, entropy: Entropy, task: str = "t1", **changes: object) -> Claim | None:
    holder = replace(claims.this_process("r"), **changes)  # type: ignore[arg-type]
    return claims.claim(ws.git, task, run="run1", attempt=0, holder=holder, now=NOW, entropy=entropy)


def test_a_task_is_claimed_once_until_it_is_released(ws: Workspace, entropy: Entropy) -> None:
    held = take(ws, entropy)
    assert held is not None
    assert take(ws, entropy) is None
    assert claims.read(ws.git, "t1") == held
    assert claims.read_all(ws.git) == [held]
    assert claims.release(ws.git, held)
    assert not claims.release(ws.git, held)
    assert take(ws, entropy) is not None


def test_two_claims_never_share_an_object(ws: Workspace, entropy: Entropy) -> None:
    first, second = take(ws, entropy, "t1"), take(ws, entropy, "t2")
    assert first is not None
    assert second is not None
    assert first.oid != second.oid


def test_renewing_moves_the_end_and_a_lost_claim_cannot_be_renewed(ws: Workspace, entropy: Entropy) -> None:
    held = take(ws, entropy)
    assert held is not None
    renewed = claims.renew(ws.git, held, NOW + timedelta(minutes=2), entropy)
    assert renewed.expires > held.expires
    assert renewed.generation == held.generation
    with pytest.raises(ConflictError):
        claims.renew(ws.git, held, NOW, entropy)


def test_a_living_process_on_this_machine_keeps_its_claim_whatever_the_clock_says(
    ws: Workspace, entropy: Entropy
) -> None:
    held = take(ws, entropy)
    assert held is not None
    assert not claims.is_abandoned(held, claims.this_process("other"), NOW + 100 * LEASE)


@pytest.mark.parametrize(
    "changes", [{"pid": 999_999_999}, {"started": "1"}, {"boot": "another boot"}], ids=lambda c: next(iter(c))
)
def test_a_dead_process_on_this_machine_is_replaced_with_a_higher_generation(
    ws: Workspace, entropy: Entropy, changes: dict[str, object]
) -> None:
    assert take(ws, entropy, **changes) is not None
    taken = take(ws, entropy)
    assert taken is not None
    assert taken.generation == 2


def test_a_process_on_another_machine_is_replaced_only_two_leases_after_its_end(
    ws: Workspace, entropy: Entropy
) -> None:
    held = take(ws, entropy, host="elsewhere")
    assert held is not None
    me = claims.this_process("r")
    assert not claims.is_abandoned(held, me, NOW + 3 * LEASE - timedelta(seconds=1))
    assert claims.is_abandoned(held, me, NOW + 3 * LEASE + timedelta(seconds=1))


def test_an_unreadable_claim_is_nobodys(ws: Workspace, entropy: Entropy) -> None:
    oid = ws.git.store_blob(b"not a claim")
    ws.git.run("update-ref", "refs/gitmem/claims/t1", oid)
    assert claims.is_abandoned(claims.read_all(ws.git)[0], claims.this_process("r"), NOW)
    assert take(ws, entropy) is not None


CLAIM_ALL = """
import os, sys
from pathlib import Path
from gitmem.store import claims
from gitmem.store.workspace import find
from tests.conftest import NOW
with find(Path(sys.argv[1])) as ws:
    me = claims.this_process("r")
    for n in range(40):
        if claims.claim(ws.git, f"t{n}", run="x", attempt=0, holder=me, now=NOW, entropy=os.urandom):
            print(n, flush=True)
print("end", flush=True)
sys.stdin.read()  # stay alive: the claims of the dead may be taken over
"""


def test_of_eight_processes_exactly_one_gets_each_task(repo: Path) -> None:
    argv = [sys.executable, "-c", CLAIM_ALL, str(repo)]
    crowd = [
        subprocess.Popen(argv, cwd=TOP, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    won = []
    for process in crowd:
        assert process.stdout is not None
        won += [int(line) for line in iter(process.stdout.readline, "end\n")]
    for process in crowd:
        process.communicate()
    assert sorted(won) == list(range(40))
