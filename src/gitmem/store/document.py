"""Bytes to front matter and body, and back: the one reader and writer of the record files.

`parse` never raises: what is wrong comes as problems with line, column and what to type.
`edit` changes the bytes of the fields it is asked to change and no others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gitmem.core.config import DEFAULT_LIMITS
from gitmem.core.errors import InvalidDocumentError
from gitmem.core.layout import kind_of
from gitmem.core.record import Kind, Problem, Severity
from gitmem.store import frontmatter, splice
from gitmem.store.frontmatter import Parts, line_column
from gitmem.store.requote import requoted
from gitmem.store.schemafiles import key_order
from gitmem.store.yamlread import Node, Shape, YamlError, load
from gitmem.store.yamlwrite import entry_lines, plain_text, plain_value, value_lines

FILE_BYTES_MAX = DEFAULT_LIMITS["file_bytes"]
_REPAIRS_MAX = 20
_REPAIRABLE = frozenset({"misplaced-colon", "yaml-syntax"})  # quotes add nothing that was not meant


class _Delete:
    def __repr__(self) -> str:
        return "DELETE"


DELETE: Final = _Delete()  # as a value in `edit`: remove the key

KeyPath = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Document:
    """What a file says.

    `value` is the YAML as it stands (a list in libraries.yaml); `fields` is it where it is a
    mapping, else empty. `body` keeps the file's own line ends.
    """

    fields: dict[str, Any]
    body: str
    raw: bytes
    problems: tuple[Problem, ...] = ()
    value: Any = None
    _parts: Parts | None = field(default=None, repr=False, compare=False)
    _tree: Node | None = field(default=None, repr=False, compare=False)

    @property
    def is_broken(self) -> bool:
        return any(problem.severity is Severity.ERROR for problem in self.problems)


def parse(data: bytes, path: str, *, whole_yaml: bool = False, limit: int = FILE_BYTES_MAX) -> Document:
    """The document in `data`; never raises.

    `path` names the file in problems; a `.yaml` file is YAML as a whole. `limit` is in bytes.
    """
    whole_yaml = whole_yaml or _is_yaml(path)
    unreadable = frontmatter.undecodable(data, path, limit)
    if unreadable:
        return Document({}, "", data, (unreadable,))
    parts = frontmatter.split(data, whole_yaml=whole_yaml)
    problems = list(frontmatter.structure_problems(parts, path, whole_yaml=whole_yaml))
    document = Document({}, parts.body, data, tuple(problems), _parts=parts)
    if document.is_broken:
        return document
    try:
        tree = load(parts.yaml) if parts.yaml else None
    except YamlError as error:
        return replace(document, problems=(*problems, _yaml_problem(parts, path, error)))
    if tree is None:
        return document
    if tree.shape is Shape.MAPPING:
        return replace(document, fields=tree.value, value=tree.value, _tree=tree)
    if tree.shape is Shape.LIST and kind_of(path) is Kind.LIBRARIES:
        return replace(document, value=tree.value, _tree=tree)
    return replace(document, problems=(*problems, _not_a_mapping(parts, path, tree)))


def position(document: Document, key_path: KeyPath) -> tuple[int, int]:
    """Line and column, from 1, of the value at `key_path`, or of the nearest that is there."""
    parts, node = document._parts, document._tree
    if parts is None:
        return 0, 0
    index = node.start if node else 0
    for step in key_path:
        found = _child(node, step)
        if found is None:
            break
        node = found
        index = node.start
    return line_column(parts.text, len(parts.opening) + index)


def key_position(document: Document, key: str) -> tuple[int, int]:
    """Line and column of a top-level key itself."""
    pair = document._tree.pair(key) if document._tree else None
    if pair is None or document._parts is None:
        return position(document, ())
    return line_column(document._parts.text, len(document._parts.opening) + pair[0].start)


def edit(data: bytes, path: str, changes: Mapping[str, Any]) -> bytes:
    """`data` with the top-level keys in `changes` set, or removed where the value is DELETE.

    Only the bytes of those fields change; a new key is written in the file's own style, after
    the key that precedes it in the format. Lists change item by item, mappings key by key.
    Raises InvalidDocumentError, and nothing is changed, where the file has errors or the
    result would not say exactly what was asked.
    """
    document = _editable(data, path)
    parts = document._parts or Parts("", "", "", "", "")
    wanted = dict(document.fields)
    yaml, order = parts.yaml, key_order(kind_of(path))
    try:
        for key, value in changes.items():
            if value is DELETE:
                wanted.pop(key, None)
                yaml = splice.remove(yaml, (), key)
            else:
                wanted[key] = plain_value(value)
                yaml = splice.assign(yaml, (), key, wanted[key], order)
    except (YamlError, ValueError) as error:
        raise _cannot_edit(path, str(error)) from None
    if "\n" not in parts.yaml:
        yaml = yaml.replace("\n", parts.end_of_line)
    if not parts.opening and not _is_yaml(path) and wanted:
        fence = "---" + parts.end_of_line
        parts = replace(parts, opening=fence, closing=fence)
    return _checked(replace(parts, yaml=yaml), path, wanted, parts.body)


def edit_body(data: bytes, path: str, body: str) -> bytes:
    """`data` with another body; its `\\n` are written as the file's own line ends.

    Raises InvalidDocumentError where the file has errors.
    """
    document = _editable(data, path)
    parts = document._parts or Parts("", "", "", "", "")
    body, end = plain_text(body), parts.end_of_line
    if not parts.opening and body.lstrip().startswith("---"):  # else the body would become front matter
        parts = replace(parts, opening=f"---{end}", closing=f"---{end}")
    if end == "\r\n":
        body = re.sub(r"\r?\n", end, body)
    return _checked(replace(parts, body=body), path, document.fields, body)


def render(fields: Mapping[str, Any] | Sequence[Any], body: str | None) -> bytes:
    """A new file: keys in the order given, one blank line between them, then the body.

    A `body` of None makes a plain YAML file. Raises InvalidDocumentError for a value that the
    format cannot keep.
    """
    value = plain_value(fields)
    if isinstance(value, list):
        yaml = "\n".join(value_lines(value)) + "\n" if value else "[]\n"
    else:
        yaml = "\n".join("\n".join(entry_lines(key, item)) + "\n" for key, item in value.items())
    if body is None:
        return (yaml or "{}\n").encode()
    return f"---\n{yaml}---\n{plain_text(body)}".encode()


def repaired(data: bytes, path: str) -> bytes | None:
    """`data` with the values in quotes that are no YAML without them, such as `title: Fix: this`.

    None where there is nothing to repair, or quotes alone do not make the file readable.
    """
    if frontmatter.undecodable(data, path, FILE_BYTES_MAX):
        return None
    parts = frontmatter.split(data, whole_yaml=_is_yaml(path))
    if any(True for _ in frontmatter.structure_problems(parts, path, whole_yaml=_is_yaml(path))):
        return None
    done = 0
    for _ in range(_REPAIRS_MAX):
        try:
            load(parts.yaml)
        except YamlError as error:
            line = requoted(parts.yaml, error, after=done) if error.code in _REPAIRABLE else None
            if line is None:
                return None
            parts, done = replace(parts, yaml=line.text), line.end
        else:
            out = parts.joined()
            return out if out != data else None
    return None


# Inside


def _is_yaml(path: str) -> bool:
    return path.endswith((".yaml", ".yml"))


def _child(node: Node | None, step: str | int) -> Node | None:
    if node is None:
        return None
    if isinstance(step, str):
        pair = node.pair(step)
        return pair[1] if pair else None
    return node.items[step] if node.shape is Shape.LIST and step < len(node.items) else None


def _editable(data: bytes, path: str) -> Document:
    if not data:
        return Document({}, "", data, _parts=Parts("", "", "", "", ""))
    document = parse(data, path)
    if document.is_broken or isinstance(document.value, list):
        first = document.problems[0] if document.problems else None
        reason = f"line {first.line}: {first.message}" if first else "it is a list"
        raise InvalidDocumentError(
            f"{path} cannot be edited: {reason}", first.hint if first else None, problems=document.problems
        )
    return document


def _checked(parts: Parts, path: str, fields: Mapping[str, Any], body: str) -> bytes:
    """The bytes of `parts`, read again and found to say `fields` and `body`."""
    data = parts.joined()
    if not data and not fields and not body:
        return data
    result = parse(data, path, limit=max(FILE_BYTES_MAX, len(data)))
    if result.is_broken or not splice.same(result.fields, fields) or result.body != body:
        problem = result.problems[0].message if result.problems else "the result would not say what was asked"
        raise _cannot_edit(path, problem)
    return data


def _cannot_edit(path: str, reason: str) -> InvalidDocumentError:
    return InvalidDocumentError(
        f"{path} cannot be edited safely: {reason}", "change it in an editor, then run gitmem check"
    )


def _not_a_mapping(parts: Parts, path: str, tree: Node) -> Problem:
    what = "the front matter" if parts.opening else "the file"
    place = line_column(parts.text, len(parts.opening) + tree.start)
    return Problem(
        path,
        *place,
        Severity.ERROR,
        "not-a-mapping",
        f"{what} is a {'list' if tree.shape is Shape.LIST else 'single value'}, not keys with values",
        "write lines of the form key: value",
    )


def _yaml_problem(parts: Parts, path: str, error: YamlError) -> Problem:
    text, offset = parts.text, len(parts.opening)
    line, column = line_column(text, offset + error.index)
    code, hint = error.code, error.hint
    if error.other is not None:
        first, _ = line_column(text, offset + error.other)
        hint = f"keep one of the lines {first} and {line} and remove the other"
    elif fixed := requoted(parts.yaml, error):
        hint = f"write: {fixed.line}"
        code = "unquoted-colon" if code == "misplaced-colon" else code
    return Problem(path, line, column, Severity.ERROR, code, error.message, hint)
