"""The texts of the runbook agent: shell blocks in Markdown, and the Markdown it hands back.

Pure, and standard library only: the program must start fast. It writes YAML without a YAML
library: a JSON string is a YAML double-quoted scalar.
"""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from gitmem.core.layout import is_made_name, slug
from gitmem.core.model import first_heading

SHELLS = frozenset({"sh", "bash", "shell"})
_NAME_MAX = 64  # Agent Skills specification
_DESCRIPTION_MAX = 1024
_SHOWN_MAX = 4096
_YAML_WORDS = frozenset({"null", "true", "false", "yes", "off"})
_FENCE = re.compile(r"(?P<indent> {0,3})(?P<fence>`{3,}|~{3,})(?P<info>.*)")


@dataclass(frozen=True)
class Block:
    shell: str
    script: str


@dataclass(frozen=True)
class Step:
    """A block that was run; `exit` is 127 where it could not be started."""

    block: Block
    exit: int
    output: str


@dataclass(frozen=True)
class Issue:
    id: str
    title: str
    body: str


def parse_issue(source: str) -> Issue:
    """The issue in a file with front matter or, without one, with a first heading as its title."""
    front = re.match(r"\ufeff?---[ \t]*\r?\n(.*?\n)---[ \t]*(?:\r?\n|\Z)", source, re.DOTALL)
    body = source[front.end() :] if front else source
    fields = front.group(1) if front else ""
    title = _scalar(fields, "title") or first_heading(body) or "Runbook"
    return Issue(_scalar(fields, "id"), title, body)


def _scalar(fields: str, name: str) -> str:
    """A one-line scalar of a mapping; empty where it is missing, null or of another shape."""
    found = re.search(rf"^{name}:[ \t]+(\S.*?)[ \t]*\r?$", fields, re.MULTILINE)
    value = found.group(1) if found else ""
    if value.startswith('"'):
        try:
            return str(json.loads(value))
        except ValueError:
            return value.strip('"')
    if value.startswith("'"):
        return value.strip("'").replace("''", "'")
    value = re.split(r"\s#", value)[0].rstrip()
    return "" if value in {"null", "~", "|", ">", "|-", ">-"} else value


def blocks(markdown: str) -> Iterator[Block]:
    """The closed fenced blocks in sh, bash or shell (CommonMark 4.5), in order.

    A fence inside a longer fence or inside an HTML comment is text, not a block.
    """
    lines = iter(markdown.splitlines())
    for line in lines:
        if line.lstrip().startswith("<!--"):
            while "-->" not in line:
                line = next(lines, "-->")
            continue
        opening = _FENCE.fullmatch(line)
        if opening is None or (opening["fence"][0] == "`" and "`" in opening["info"]):
            continue
        script = _until_closed(lines, opening["fence"], len(opening["indent"]))
        language = opening["info"].split()[0].lower() if opening["info"].strip() else ""
        if script is not None and language in SHELLS and script.strip():
            yield Block(_shell(language), script)


def _until_closed(lines: Iterator[str], fence: str, indent: int) -> str | None:
    kept: list[str] = []
    for line in lines:
        bare = line.strip()
        if len(bare) >= len(fence) and set(bare) == {fence[0]} and len(line) - len(line.lstrip(" ")) <= 3:
            return "\n".join(kept)
        kept.append(line[min(indent, len(line) - len(line.lstrip(" "))) :])
    return None


def _shell(language: str) -> str:
    """A `bash` block may use what only bash has."""
    return "bash" if language == "bash" and shutil.which("bash") else "sh"


def printable(output: str) -> str:
    """Output without colours, cursor movements and invisible characters; a redrawn line as it ended."""
    plain = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[@-_]", "", output)
    lines = (line.rstrip("\r").rsplit("\r", 1)[-1] for line in plain.split("\n"))
    return "\n".join("".join(c for c in line if c == "\t" or _is_visible(c)) for line in lines).strip("\n")


def _is_visible(char: str) -> bool:
    return (char.isascii() and char.isprintable()) or unicodedata.category(char)[0] != "C"


def last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else "it printed nothing"


def front_matter(fields: Mapping[str, object]) -> str:
    """Front matter with a blank line between its keys."""
    return "---\n" + "\n".join(_field(name, value) for name, value in fields.items()) + "---\n"


def _field(name: str, value: object) -> str:
    if isinstance(value, Mapping):
        return f"{name}:\n" + "".join(f"  {key}: {quoted(str(item))}\n" for key, item in value.items())
    if isinstance(value, Sequence) and not isinstance(value, str):
        listed = "".join(f"  - {quoted(str(item))}\n" for item in value)
        return f"{name}:\n{listed}" if listed else f"{name}: []\n"
    return f"{name}: {'null' if value is None else quoted(str(value))}\n"


def quoted(value: str) -> str:
    """A YAML scalar on one line: a plain word, else double-quoted with what YAML does not print escaped."""
    if re.fullmatch(r"[a-z]{3,}(-[a-z0-9]+)*", value) and value not in _YAML_WORDS:
        return value
    as_json = json.dumps(value, ensure_ascii=False)
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]", lambda m: f"\\u{ord(m[0]):04x}", as_json
    )


def fenced(content: str, language: str = "") -> str:
    """A fenced block that nothing in `content` can close."""
    longest = max((len(run) for run in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{content}\n{fence}\n"


def steps(done: Sequence[Step]) -> str:
    """Each block with what it printed."""
    return "\n".join(_step(step) for step in done)


def _step(step: Step) -> str:
    script = fenced(step.block.script, step.block.shell)
    if not step.output:
        return f"{script}\nexited {step.exit}, and printed nothing.\n"
    return f"{script}\nexited {step.exit}:\n\n{fenced(step.output, 'text')}"


def comment(summary: str, last: Step) -> str:
    """The summary and, where the last block failed, what it printed at its end."""
    if not last.exit:
        return f"{summary}\n"
    script = fenced(last.block.script, last.block.shell)
    return f"{summary}\n\n{script}\n{fenced(last.output[-_SHOWN_MAX:], 'text')}"


def skill_name(issue: Issue) -> str:
    name = slug(issue.title, _NAME_MAX)
    if name and is_made_name(name):
        return name
    return slug(f"runbook {issue.id or name}", _NAME_MAX)


def skill(name: str, issue: Issue, done: Sequence[Step]) -> str:
    """A SKILL.md of the Agent Skills specification from an issue whose steps all worked."""
    title = _one_line(issue.title)
    why = _first_paragraph(issue.body)
    metadata = {
        "gitmem-status": "candidate",
        "gitmem-issue": issue.id,
        "gitmem-asks": title.replace(";", ","),
    }
    fields = {
        "name": name,
        "description": _description(title, why),
        "metadata": {key: value for key, value in metadata.items() if value},
    }
    commands = "\n".join(fenced(step.block.script, step.block.shell) for step in done)
    printed = "\n".join(fenced(step.output[-_SHOWN_MAX:], "text") for step in done if step.output)
    parts = [
        f"# {title}\n",
        f"## When to use\n\n{why or title}\n",
        f"## Steps\n\nRun these in order; stop at the first that fails.\n\n{commands}",
        f"## What it printed\n\n{printed}" if printed else "It printed nothing when it worked.\n",
    ]
    return front_matter(fields) + "\n".join(parts)


def _description(title: str, why: str) -> str:
    """What it does, then when to use it: an agent chooses a skill by this alone."""
    sentence = f"Use when asked to: {title.rstrip('.')}."
    room = _DESCRIPTION_MAX - len(sentence) - 1
    about = why if len(why) <= room else why[: room - 1].rsplit(" ", 1)[0] + "…"
    return f"{about} {sentence}".strip()[:_DESCRIPTION_MAX]


def _first_paragraph(body: str) -> str:
    """The first lines that are prose: no heading, fence, list or quotation."""
    for paragraph in re.split(r"\n\s*\n", body):
        if paragraph.strip() and not re.match(r"\s*(#|```|~~~|[-*+>] |\d+\. |<)", paragraph):
            return _one_line(paragraph)
    return ""


def _one_line(value: str) -> str:
    return " ".join(printable(value).split())
