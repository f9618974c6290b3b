"""Running the `git` program: one way to start it, one way to fail."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING

from gitmem.core.errors import ConflictError, GitError, GitmemError, LockedError, StorageError
from gitmem.store.git_env import clean_environment

if TYPE_CHECKING:
    import subprocess


class RefMovedError(ConflictError):
    """A ref was not at the value we expected: somebody moved it first."""


def run(
    args: Iterable[str],
    *,
    cwd: Path,
    data: bytes = b"",
    env: Mapping[str, str] | None = None,
    ok: Container[int] = (0,),
) -> bytes:
    """Run `git args…` in `cwd` and return its standard output.

    Raises RefMovedError, LockedError, StorageError or GitError, told apart by git's words (in
    the C locale), where the exit status is not in `ok`.
    """
    import subprocess  # late, here and below: 5 ms that a reading command does without

    argv = ["git", *args]
    try:
        done = subprocess.run(
            argv, cwd=cwd, input=data, env=clean_environment(env), capture_output=True, check=False
        )
    except FileNotFoundError:
        raise not_started(cwd) from None
    if done.returncode in ok:
        return done.stdout
    raise failure(argv, done.returncode, done.stderr.decode("utf-8", "replace"))


def not_started(cwd: Path) -> GitError:
    """Why git could not be started in `cwd`."""
    if not cwd.is_dir():
        return GitError(f"{cwd} is not a folder")
    return GitError("the program git was not found", "install git 2.34 or newer")


def start(
    args: Iterable[str], *, cwd: Path, env: Mapping[str, str] | None = None, keep: Iterable[int] = ()
) -> subprocess.Popen[bytes]:
    """Start `git args…` with pipes on all three streams; it inherits the open files in `keep`.

    The caller ends it with `finish` or `abandon`.
    """
    import subprocess

    try:
        return subprocess.Popen(
            ["git", *args],
            cwd=cwd,
            env=clean_environment(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=tuple(keep),
        )
    except FileNotFoundError:
        raise not_started(cwd) from None


def feed(process: subprocess.Popen[bytes], data: bytes) -> None:
    """Give a started git its whole input now, so that it works beside us; it must be small."""
    stdin, process.stdin = process.stdin, None
    assert stdin is not None
    try:
        with stdin:
            stdin.write(data)
    except BrokenPipeError:
        return  # it has ended already; `finish` tells why


def finish(process: subprocess.Popen[bytes]) -> bytes:
    """Wait for a started git and return its output; raises like `run`."""
    out, err = process.communicate()
    if process.returncode != 0:
        words = err.decode("utf-8", "replace")
        raise failure(list(map(str, process.args)), process.returncode, words)  # type: ignore[arg-type]
    return out


def abandon(process: subprocess.Popen[bytes]) -> None:
    """End a git whose output nobody reads any more, and close its pipes."""
    if process.poll() is None:
        process.kill()
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()
    process.wait()


_MOVED = (
    "but expected",
    "reference already exists",
    "unable to resolve reference",
    "reference is missing",
)
_STORAGE = ("No space left", "Read-only file system", "Permission denied", "File too large", "Disk quota")


def failure(argv: list[str], status: int, words: str) -> GitmemError:
    """The typed error for a git that ended with `status` and said `words`."""
    said = words.strip() or f"exit status {status}"
    command = " ".join(argv[:3])
    if any(sign in said for sign in _STORAGE):
        return StorageError(f"git could not write: {last_line(said)}", "nothing was changed")
    if any(sign in said for sign in _MOVED):
        return RefMovedError(f"someone changed it first: {last_line(said)}", "run the command again")
    if ".lock': File exists" in said:
        return LockedError(
            f"another git process is at work here: {said.splitlines()[0]}",
            "wait until it has ended; if none runs, `gitmem doctor` says what is left over",
        )
    if "dubious ownership" in said:
        return GitError("git does not trust this repository: it belongs to another user", last_line(said))
    return GitError(f"{command} failed: {last_line(said)}", status=status, stderr=said[-4000:])


def last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    return (fatal or lines or [""])[-1]


class ObjectReader:
    """One long-lived `git cat-file --batch`: reads any object, packed, loose or borrowed."""

    def __init__(self, cwd: Path) -> None:
        self._cwd = cwd
        self._process: subprocess.Popen[bytes] | None = None

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        if self._process is None or self._process.poll() is not None:
            import subprocess

            self.close()
            # stderr is dropped: an unread pipe that fills would stop git for ever.
            self._process = subprocess.Popen(
                ["git", "cat-file", "--batch"],
                cwd=self._cwd,
                env=clean_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        return self._process.stdin, self._process.stdout

    def read(self, oid: str) -> tuple[str, bytes]:
        """(type, content) of the object; GitError where there is none."""
        stdin, stdout = self._pipes()
        try:
            stdin.write(oid.encode() + b"\n")
            stdin.flush()
        except BrokenPipeError:
            self.close()
            raise GitError(f"git cannot read objects in {self._cwd}") from None
        return self._answer(oid, stdout)

    def read_many(self, oids: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """(oid, content) of each object, in order; asks in windows that cannot fill a pipe."""
        window: list[str] = []
        for oid in oids:
            window.append(oid)
            if len(window) == 256:  # 256 × 41 bytes of questions stay far below a 64 KiB pipe
                yield from self._read_window(window)
                window = []
        yield from self._read_window(window)

    def _read_window(self, oids: list[str]) -> Iterator[tuple[str, bytes]]:
        stdin, stdout = self._pipes()
        stdin.write("".join(f"{oid}\n" for oid in oids).encode())
        stdin.flush()
        answers = [(oid, self._answer(oid, stdout)[1]) for oid in oids]
        yield from answers

    def _answer(self, oid: str, stdout: IO[bytes]) -> tuple[str, bytes]:
        header = stdout.readline().decode().split()
        if len(header) != 3:
            if not header:
                self.close()
            raise GitError(
                f"object {oid} is not in this repository", "the repository may be damaged: git fsck"
            )
        size = int(header[2])
        content = stdout.read(size)
        stdout.read(1)
        if len(content) != size:
            self.close()
            raise GitError(f"git stopped while reading object {oid}")
        return header[1], content

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()
