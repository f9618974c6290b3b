"""YAML as the format allows it, read into a tree whose nodes know their place in the text.

Mappings, lists, strings, `null`, `true`/`false` and plain integers; nothing else is guessed
(YAML 1.1 readers turn `no`, `0123`, `12:30`, `1.10` and dates into other types). Duplicate
keys, tags, anchors and aliases are faults with a place. The tree is built from libyaml's
events: that is faster than its composer and the only way to see tags and anchors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

DEPTH_MAX = 32  # deeper than any record; libyaml itself stops at 1,000
INT_DIGITS_MAX = 640  # the lowest limit that Python's own int() may be given

_INT = re.compile(rf"-?(?:0|[1-9][0-9]{{0,{INT_DIGITS_MAX - 1}}})")
_WORDS: dict[str, Any] = {"null": None, "true": True, "false": False, "": None}

# What libyaml refuses, and the breaks that YAML 1.1 has and 1.2 and editors have not.
ODD_CHARACTER = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|\r(?!\n)"  # \x85 is in \x7f-\x9f
)


class Shape(StrEnum):
    SCALAR = "scalar"
    LIST = "list"
    MAPPING = "mapping"


@dataclass(slots=True, eq=False)
class Node:
    """A value and its span `[start, end)` in characters of the text it was read from.

    `style` of a scalar is `""` (plain), `'`, `"`, `|` or `>`; of a list or mapping `flow` or
    `block`. The end of a block list, mapping or `|` scalar lies after trailing blank lines and
    comments, as libyaml tells it: use `content_end`.
    """

    shape: Shape
    start: int
    end: int
    style: str
    value: Any
    items: list[Node] = field(default_factory=list)
    keys: list[Node] = field(default_factory=list)  # of a mapping, beside `items`

    def pair(self, key: str) -> tuple[Node, Node] | None:
        """The nodes of a mapping's key and value."""
        for name, item in zip(self.keys, self.items, strict=True):
            if name.value == key:
                return name, item
        return None

    def content_end(self, text: str) -> int:
        """The index after the last character that is really the node's own."""
        if self.style == "block":
            return self.items[-1].content_end(text)
        if self.style in {"|", ">"}:
            return self.start + len(text[self.start : self.end].rstrip())
        return self.end


class YamlError(Exception):
    """Why a text is not YAML as the format allows it, and the index where.

    `other` is the index of a second place that the fault is about: the first of two equal keys.
    """

    def __init__(
        self, code: str, message: str, index: int, hint: str | None = None, *, other: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.index = index
        self.hint = hint
        self.other = other


def load(text: str) -> Node | None:
    """The tree of the one document in `text`; None where there is nothing but comments.

    Raises YamlError.
    """
    odd = ODD_CHARACTER.search(text)
    if odd:
        message = f"the character U+{ord(odd.group()[0]):04X} cannot stand in YAML as it is"
        raise YamlError("odd-character", message, odd.start(), "remove it, or write it in double quotes")
    import yaml  # late: 20 ms, and a warm index parses nothing

    parser = yaml.CSafeLoader(text)
    try:
        return _Builder(parser).document()
    except yaml.MarkedYAMLError as error:
        raise _error_of(error, text) from None
    except yaml.YAMLError as error:
        raise YamlError("yaml-syntax", _words(str(error)), 0) from None
    finally:
        parser.dispose()


def resolve(text: str) -> Any:
    """What a plain scalar means."""
    if text in _WORDS:
        return _WORDS[text]
    return int(text) if _INT.fullmatch(text) else text


_PLAINER = {
    "mapping values are not allowed in this context": "': ' cannot stand here: quote the value",
    "did not find expected key": "this does not fit what stands before it (quotes, brackets, indentation)",
    "found character that cannot start any token": "a value cannot start with this character unless quoted",
}
# Faults that libyaml notices below the place where a person has to look: code and words.
_LATE = {
    "found unexpected end of stream": ("yaml-unclosed", "the quote that opens here is never closed"),
    "did not find expected ',' or ']'": ("yaml-unclosed", "the [ that opens here is not closed properly"),
    "did not find expected ',' or '}'": ("yaml-unclosed", "the { that opens here is not closed properly"),
    "could not find expected ':'": ("missing-colon", "this line has no ': '"),
}


def _error_of(error: Any, text: str) -> YamlError:
    problem = error.problem or ""
    mark = error.problem_mark or error.context_mark
    code = "misplaced-colon" if problem.startswith("mapping values") else "yaml-syntax"
    message = _words(problem)
    if problem in _LATE and error.context_mark:
        mark = error.context_mark
        code, message = _LATE[problem]
    index = min(mark.index, len(text)) if mark else 0
    if text[index : index + 1] == "\t":
        return YamlError("tab-indent", "a tab cannot indent a line of YAML", index, "replace it by spaces")
    return YamlError(code, message, index)


def _words(problem: str) -> str:
    return _PLAINER.get(problem, f"not YAML: {problem}")


class _Builder:
    """Builds the tree from events; one use per text."""

    def __init__(self, parser: Any) -> None:
        self._next = parser.get_event

    def document(self) -> Node | None:
        self._next()  # stream start
        event = self._next()
        if type(event).__name__ == "StreamEndEvent":
            return None
        node = self._node(self._next(), 0)
        end = self._next()
        event = self._next()
        if type(event).__name__ != "StreamEndEvent":
            where = max(end.start_mark.index, event.start_mark.index)
            raise YamlError("several-documents", "a second YAML document starts here", where)
        empty = node.shape is Shape.SCALAR and node.start == node.end
        return None if empty else node

    def _node(self, event: Any, depth: int) -> Node:
        name = type(event).__name__
        start = event.start_mark.index
        self._refuse(event, name, start)
        if name == "ScalarEvent":
            style = event.style or ""
            style = "" if style == "\0" else style
            value = event.value if style else resolve(event.value)
            return Node(Shape.SCALAR, start, event.end_mark.index, style, value)
        if depth >= DEPTH_MAX:
            raise YamlError("nested-too-deep", f"values are nested more than {DEPTH_MAX} deep", start)
        style = "flow" if event.flow_style else "block"
        if name == "SequenceStartEvent":
            return self._list(Node(Shape.LIST, start, start, style, []), depth)
        return self._mapping(Node(Shape.MAPPING, start, start, style, {}), depth)

    def _list(self, node: Node, depth: int) -> Node:
        while True:
            event = self._next()
            if type(event).__name__ == "SequenceEndEvent":
                node.end = event.end_mark.index
                return node
            item = self._node(event, depth + 1)
            node.items.append(item)
            node.value.append(item.value)

    def _mapping(self, node: Node, depth: int) -> Node:
        while True:
            event = self._next()
            if type(event).__name__ == "MappingEndEvent":
                node.end = event.end_mark.index
                return node
            key = self._key(event, node)
            item = self._node(self._next(), depth + 1)
            node.keys.append(key)
            node.items.append(item)
            node.value[key.value] = item.value

    def _key(self, event: Any, mapping: Node) -> Node:
        """A key is its text: `1:`, `no:` and `"1":` are strings, as in JSON."""
        start = event.start_mark.index
        name = type(event).__name__
        self._refuse(event, name, start)
        if name != "ScalarEvent":
            raise YamlError("key-not-text", "a key must be text, not a list or a mapping", start)
        first = mapping.pair(event.value) if event.value in mapping.value else None
        if first:
            message = f"the key {event.value!r} stands twice"
            raise YamlError("duplicate-key", message, start, other=first[0].start)
        return Node(Shape.SCALAR, start, event.end_mark.index, event.style or "", event.value)

    def _refuse(self, event: Any, name: str, start: int) -> None:
        if name == "AliasEvent":
            raise YamlError("yaml-alias", f"aliases (*{event.anchor}) are not part of the format", start)
        if event.anchor is not None:
            raise YamlError("yaml-anchor", f"anchors (&{event.anchor}) are not part of the format", start)
        if event.tag is not None:
            raise YamlError("yaml-tag", f"tags ({event.tag}) are not part of the format", start)
