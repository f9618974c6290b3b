"""Lint of a skill: the Agent Skills specification, and what goes wrong with skills that pass it.

The rules are pure: bytes of a folder in, problems out. Secrets are looked for elsewhere, on
every way in.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from posixpath import dirname, normpath
from urllib.parse import unquote

from gitmem.core.layout import path_problem
from gitmem.core.record import Kind, Problem, Severity, text
from gitmem.core.tokens import estimate
from gitmem.memory.fencing import hidden_in
from gitmem.memory.words import HOLLOW
from gitmem.store import document, schema
from gitmem.store.document import Document

MAIN_FILE = "SKILL.md"

_KEY_HINT = "move it under metadata: as text"

# The specification asks for less than 500 lines and 5,000 tokens: an agent loads the body whole.
BODY_LINES_MAX = 500
BODY_TOKENS_MAX = 5000

# Below this an agent that sees only name and description cannot tell when to load the skill.
DESCRIPTION_WORDS_MIN = 5


def lint(name: str, files: Mapping[str, bytes], executable: Collection[str] = ()) -> list[Problem]:
    """What is wrong with the skill in folder `name`; paths in `files` are relative to that folder.

    Paths in the problems start at the workspace root. An error keeps a skill from being
    delivered, a warning does not.
    """
    root = f"skills/{name}/"
    main = files.get(MAIN_FILE)
    if main is None:
        return [_problem(root + MAIN_FILE, "no-skill-file", f"the folder has no {MAIN_FILE}")]
    parsed = document.parse(main, root + MAIN_FILE)
    found = list(parsed.problems)
    if not parsed.is_broken:
        found += [*_of_format(name, parsed, root + MAIN_FILE), *_of_use(parsed, root + MAIN_FILE)]
    for path, data in sorted(files.items()):
        found += _of_file(root, path, data, files)
        found += _of_script(root, path, data, executable)
    return found


def _problem(
    path: str,
    code: str,
    message: str,
    hint: str | None = None,
    *,
    at: tuple[int, int] = (0, 0),
    severity: Severity = Severity.ERROR,
) -> Problem:
    return Problem(path, at[0], at[1], severity, code, message, hint)


def _of_format(name: str, parsed: Document, path: str) -> Iterator[Problem]:
    """What the specification forbids: in the schema, save what depends on the folder.

    Keys of other programs are kept on reading, but the specification has none beside its own.
    """
    for problem in schema.problems(Kind.SKILL, parsed, path):
        is_key = problem.code == "unknown-key"
        yield problem._replace(severity=Severity.ERROR, hint=_KEY_HINT) if is_key else problem
    said = parsed.fields.get("name")
    if isinstance(said, str) and said != name:
        yield _problem(
            path,
            "name-not-folder",
            f"the name is {said!r} and the folder {name!r}",
            f"write: name: {name}",
            at=document.position(parsed, ("name",)),
        )


def _of_use(parsed: Document, path: str) -> Iterator[Problem]:
    """What makes a valid skill a poor one."""
    description = text(parsed.fields.get("description")) or ""
    telling = set(re.findall(r"\w+", description.lower())) - HOLLOW
    # A script that writes no spaces makes one long word of a whole sentence.
    if description and len(telling) < DESCRIPTION_WORDS_MIN and len(description) < 40:
        yield _problem(
            path,
            "vague-description",
            "the description does not tell when to use the skill",
            "say what it does and in which situation, in the words a task would use",
            at=document.position(parsed, ("description",)),
            severity=Severity.WARNING,
        )
    lines, tokens = parsed.body.count("\n"), estimate(parsed.body)
    if lines > BODY_LINES_MAX or tokens > BODY_TOKENS_MAX:
        yield _problem(
            path,
            "long-body",
            f"the body has {lines} lines and about {tokens} tokens",
            f"keep it under {BODY_LINES_MAX} lines and {BODY_TOKENS_MAX} tokens; link to files for detail",
            severity=Severity.WARNING,
        )
    if not parsed.body.strip():
        yield _problem(
            path, "empty-body", "the skill has no instructions", "write the steps below the front matter"
        )


def _of_file(root: str, path: str, data: bytes, files: Mapping[str, bytes]) -> Iterator[Problem]:
    reason = path_problem(path)
    if reason:
        yield _problem(root + path, "bad-name", reason, "rename the file")
    try:
        content = data.decode("utf-8")
    except UnicodeDecodeError:
        return
    yield from _hidden_characters(root + path, content)
    if path.endswith(".md"):
        yield from _dead_links(root, path, content, files)


def _hidden_characters(path: str, content: str) -> Iterator[Problem]:
    for number, line in enumerate(content.removeprefix("\ufeff").split("\n"), 1):
        for at in hidden_in(line)[:1]:  # one a line is enough to find the rest
            yield _problem(
                path,
                "hidden-character",
                f"an invisible character U+{ord(line[at]):04X}",
                "remove it: people do not see it and agents read it",
                at=(number, at + 1),
            )


_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})")
_LINK = re.compile(r"(?<!\\)\]\(\s*(?:<([^>\n]*)>|([^()\s]*(?:\([^()\s]*\)[^()\s]*)*))(?:\s+[\"'(][^\n]*)?\)")
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:\s*(?:<([^>\n]*)>|(\S+))")
_ELSEWHERE = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//|#|$")


def _dead_links(root: str, path: str, content: str, files: Mapping[str, bytes]) -> Iterator[Problem]:
    for number, line in _prose(content):
        for found in (*_LINK.finditer(line), *_DEFINITION.finditer(line)):
            target = unquote(found.group(1) or found.group(2) or "")
            reason = None if _ELSEWHERE.match(target) else _link_problem(path, target, files)
            if reason:
                yield _problem(
                    root + path,
                    "dead-link",
                    f"the link {target!r} {reason}",
                    "link to a file of the skill, relative to this one",
                    at=(number, found.start() + 1),
                )


def _link_problem(path: str, target: str, files: Mapping[str, bytes]) -> str | None:
    place = re.split(r"[?#]", target, maxsplit=1)[0]
    if place.startswith("/"):
        return "is absolute"
    resolved = normpath(f"{dirname(path) or '.'}/{place}")
    if resolved.startswith(".."):
        return "leads out of the skill"
    is_folder = resolved == "." or any(name.startswith(f"{resolved}/") for name in files)
    return None if resolved in files or is_folder else "leads to no file of the skill"


def _prose(content: str) -> Iterator[tuple[int, str]]:
    """The lines outside fenced code, code spans taken out."""
    fence = ""
    for number, line in enumerate(content.splitlines(), 1):
        mark = _FENCE.match(line)
        if fence:
            fence = "" if mark and mark.group(1).startswith(fence) else fence
        elif mark:
            fence = mark.group(1)
        else:
            yield number, re.sub(r"(`+).*?\1", lambda span: " " * len(span.group()), line)


def _of_script(root: str, path: str, data: bytes, executable: Collection[str]) -> Iterator[Problem]:
    """A file that is meant to be executed needs a first line that says by what."""
    name = path.rsplit("/", 1)[-1]
    meant = path in executable or (
        path.startswith("scripts/") and ("." not in name or name.endswith((".sh", ".bash")))
    )
    if meant and data and not data.startswith((b"#!", b"\x7fELF")):
        yield _problem(
            root + path,
            "no-shebang",
            "the script does not say what runs it",
            "write: #!/usr/bin/env bash",
            at=(1, 1),
            severity=Severity.WARNING,
        )
