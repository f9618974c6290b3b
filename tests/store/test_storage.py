"""A full disk and a read-only repository: a clear error, and nothing lost or half done.

The programs run in a mount namespace of their own, as root or in a user namespace.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.conftest import git, put
from tests.store.test_change import ISSUE, TEXT

TOP = Path(__file__).parents[2]
START = """
import sys
from pathlib import Path
from gitmem.core.errors import StorageError
from tests.store.test_change import start, find
try:
    with find(Path(sys.argv[1])) as ws:
        start(ws)
except StorageError as error:
    print(error.message)
    sys.exit(7)
"""


def in_namespace(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a shell script that may mount things, which nobody else sees."""
    user = [] if os.geteuid() == 0 else ["-r"]
    argv = ["unshare", *user, "-m", "sh", "-euc", script, "sh", sys.executable, START, *arguments]
    return subprocess.run(argv, cwd=TOP, capture_output=True, text=True, check=False)


def test_in_a_read_only_repository_a_change_is_refused_and_reading_works(repo: Path) -> None:
    put(repo, ISSUE, TEXT)
    before = git(repo, "rev-parse", "main")
    done = in_namespace(
        'mount --bind "$3" "$3"; mount -o remount,ro,bind "$3"; exec "$1" -c "$2" "$3"', str(repo)
    )
    assert done.returncode == 7, done.stderr
    assert "Read-only" in done.stdout
    assert git(repo, "rev-parse", "main") == before
    assert git(repo, "status", "--porcelain") == ""


def test_on_a_full_disk_a_change_is_refused_whole(repo: Path, tmp_path: Path) -> None:
    put(repo, ISSUE, TEXT)
    small = tmp_path / "small"
    small.mkdir()
    kept = tmp_path / "kept"
    script = """
        mount -t tmpfs -o size=4m none "$3"
        cp -a "$4" "$3/w"
        dd if=/dev/zero of="$3/fill" bs=1k count=9000 2>/dev/null || true
        status=0; "$1" -c "$2" "$3/w" || status=$?
        rm "$3/fill"
        cp -a "$3/w" "$5"
        exit $status
    """
    done = in_namespace(script, str(small), str(repo), str(kept))
    assert done.returncode == 7, done.stderr
    assert git(kept, "rev-parse", "main") == git(repo, "rev-parse", "main")
    assert git(kept, "status", "--porcelain") == ""
    assert not (kept / ".git/index.lock").exists()
    git(kept, "fsck", "--strict")
    shutil.rmtree(kept)
