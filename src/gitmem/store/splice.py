"""Changes to one value of a YAML text that leave every other byte as it stands.

Each function takes the text and returns the new text; the tree is read again between two
steps, so that no span is ever stale. Comments, key order, quotes, blank lines and line ends
survive because they are never written, only copied.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from gitmem.store.yamlread import Node, Shape, load
from gitmem.store.yamlwrite import entry_lines, flow_value, is_inline, scalar, value_lines

STEPS_MAX = 200  # a list that differs in more items is written anew: each takes a reading of the text

Trail = tuple[str, ...]  # keys that lead from the top to a mapping


def same(one: Any, other: Any) -> bool:
    """Equality that tells `1` from `true`; the order of keys does not matter."""
    return _fingerprint(one) == _fingerprint(other)


def _fingerprint(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def assign(text: str, trail: Trail, key: str, value: Any, order: Sequence[str] = ()) -> str:
    """`text` with `key` of the mapping at `trail` set to `value`.

    `order` is where new keys belong: after the nearest earlier one of `order` that is there.
    """
    mapping = _at(text, trail)
    if mapping is None or not mapping.keys:
        return _first_key(text, mapping, key, value)
    pair = mapping.pair(key)
    if pair is None:
        return _add_key(text, mapping, key, value, order)
    old = pair[1]
    if same(old.value, value):
        return text
    if old.value and value and old.shape is Shape.MAPPING and isinstance(value, dict):
        return _assign_mapping(text, (*trail, key), old.value, value)
    if old.value and value and old.shape is Shape.LIST and isinstance(value, list):
        steps = _list_steps(old.value, value)
        if steps is not None:
            return _assign_list(text, (*trail, key), steps)
    return _replace(text, mapping, *pair, value)


def remove(text: str, trail: Trail, key: str) -> str:
    """`text` without `key` of the mapping at `trail`, its line's comment and one blank line beside it."""
    mapping = _at(text, trail)
    pair = mapping.pair(key) if mapping else None
    if mapping is None or pair is None:
        return text
    if mapping.style == "flow":
        return _cut_flow(text, mapping.items, mapping.items.index(pair[1]), start_of=mapping.keys)
    start, end = _line_start(text, pair[0].start), _line_end(text, pair[1].content_end(text))
    before, after = text[:start], text[end:]
    blank = re.match(r"[ \t]*\r?\n", after)
    if blank and (not before or _ends_blank(before)):
        after = after[blank.end() :]
    elif not after.strip():
        before = re.sub(r"(?<=\n)[ \t]*\r?\n\Z", "", before)
    return before + after


def _at(text: str, trail: Trail) -> Node | None:
    node = load(text)
    for key in trail:
        pair = node.pair(key) if node else None
        node = pair[1] if pair else None
    return node


def _assign_mapping(text: str, trail: Trail, old: dict[str, Any], new: dict[str, Any]) -> str:
    # Set before removing: a mapping that is empty for a moment would lose its style.
    for key, value in new.items():
        text = assign(text, trail, key, value, tuple(new))
    for key in old.keys() - new.keys():
        text = remove(text, trail, key)
    return text


# Lists


_Steps = list[tuple[int, int, list[Any]]]


def _assign_list(text: str, trail: Trail, steps: _Steps) -> str:
    """One item at a time, so that the items that stay keep their bytes and comments."""
    for start, end, values in reversed(steps):
        # Insert before deleting, so that the list is never empty for a moment.
        for value in reversed(values):
            text = _insert_item(text, _list(text, trail), end, value)
        for index in range(end - 1, start - 1, -1):
            text = _delete_item(text, _list(text, trail), index)
    return text


def _list_steps(current: list[Any], wanted: list[Any]) -> _Steps | None:
    """(start, end, values): put `values` in place of `current[start:end]`; None for too many steps."""
    import difflib  # late: 6 ms, only where a list changes

    old, new = [_fingerprint(value) for value in current], [_fingerprint(value) for value in wanted]
    head = _shared(old, new)
    tail = _shared(old[head:][::-1], new[head:][::-1])
    old, new = old[head : len(old) - tail], new[head : len(new) - tail]
    if max(len(old), len(new)) > STEPS_MAX:
        return None
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    return [
        (head + start, head + end, wanted[head + new_start : head + new_end])
        for verb, start, end, new_start, new_end in matcher.get_opcodes()
        if verb != "equal"
    ]


def _shared(one: list[str], other: list[str]) -> int:
    """How many items the two have in common at the start."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((index for index, (a, b) in pairs if a != b), min(len(one), len(other)))


def _list(text: str, trail: Trail) -> Node:
    node = _at(text, trail)
    if node is None or node.shape is not Shape.LIST:
        raise ValueError("the list has gone")
    return node


def _insert_item(text: str, node: Node, index: int, value: Any) -> str:
    if node.style == "flow":
        return _insert_flow(text, node.items, index, flow_value(value))
    indent = " " * _column(text, node.start)
    lines = [indent + line for line in value_lines([value])]
    if index == 0:
        return _insert_lines(text, _line_start(text, node.start), lines)
    return _insert_lines(text, _line_end(text, node.items[index - 1].content_end(text)), lines)


def _delete_item(text: str, node: Node, index: int) -> str:
    if node.style == "flow":
        return _cut_flow(text, node.items, index, start_of=node.items)
    searched = node.items[index - 1].content_end(text) if index else _line_start(text, node.start)
    dash = re.compile(rf"^ {{{_column(text, node.start)}}}-(?=\s|$)", re.MULTILINE).search(text, searched)
    if dash is None:
        raise ValueError("the item's dash does not begin its line")
    return text[: dash.start()] + text[_line_end(text, node.items[index].content_end(text)) :]


def _insert_flow(text: str, items: list[Node], index: int, piece: str) -> str:
    if index == 0:
        start = items[0].start
        return f"{text[:start]}{piece}, {text[start:]}"
    end = items[index - 1].end
    return f"{text[:end]}, {piece}{text[end:]}"


def _cut_flow(text: str, items: list[Node], index: int, *, start_of: list[Node]) -> str:
    if index + 1 < len(items):
        return text[: start_of[index].start] + text[start_of[index + 1].start :]
    start = items[index - 1].end if index else start_of[index].start
    return text[:start] + text[items[index].end :]


# Keys


def _first_key(text: str, mapping: Node | None, key: str, value: Any) -> str:
    """A key where there is none yet: nothing but comments, or `{}`."""
    if mapping is None:
        return _insert_lines(text, len(text), list(entry_lines(key, value)))
    if mapping.start == 0 and not text[mapping.end :].strip():
        lines = entry_lines(key, value)
        return line_break(text).join(lines) + text[mapping.end :]
    return f"{text[: mapping.start]}{flow_value({key: value})}{text[mapping.end :]}"


def _add_key(text: str, mapping: Node, key: str, value: Any, order: Sequence[str]) -> str:
    index = _place(mapping, key, order)
    if mapping.style == "flow":
        piece = flow_value({key: value})[1:-1]
        if index == 0:
            return f"{text[: mapping.keys[0].start]}{piece}, {text[mapping.keys[0].start :]}"
        return _insert_flow(text, mapping.items, index, piece)
    indent = " " * _column(text, mapping.keys[0].start)
    lines = [indent + line for line in entry_lines(key, value)]
    spaced = _is_spaced(text, mapping)
    if index == 0:
        start = _skip_comments_up(text, _line_start(text, mapping.keys[0].start))
        return _insert_lines(text, start, [*lines, ""] if spaced else lines)
    end = _line_end(text, mapping.items[index - 1].content_end(text))
    if not spaced:
        return _insert_lines(text, end, lines)
    return _insert_lines(text, _skip_comments_down(text, end), ["", *lines])


def _place(mapping: Node, key: str, order: Sequence[str]) -> int:
    """The index among the keys that are there at which `key` is to stand."""
    present = list(mapping.value)
    if key in order:
        rank = order.index(key)
        for earlier in reversed(order[:rank]):
            if earlier in present:
                return present.index(earlier) + 1
        if any(later in present for later in order[rank + 1 :]):
            return 0
    return len(present)


def _is_spaced(text: str, mapping: Node) -> bool:
    """True where keys are set apart by blank lines; a lone key of a file has the format's own style."""
    gaps = [
        re.search(r"\n[ \t]*\r?\n", text[item.content_end(text) : key.start]) is not None
        for item, key in zip(mapping.items, mapping.keys[1:], strict=False)
    ]
    return 2 * sum(gaps) >= len(gaps) if gaps else _column(text, mapping.keys[0].start) == 0


# Values


def _replace(text: str, mapping: Node, key: Node, old: Node, value: Any) -> str:
    """Another value in place of one that it shares no items with."""
    in_flow = mapping.style == "flow"
    was_inline = old.style != "block"
    stays_flow = in_flow or (old.shape is not Shape.SCALAR and old.style == "flow" and bool(old.value))
    if was_inline and (is_inline(value) or stays_flow or _prefers_flow(text, value)):
        return _put(text, old, _inline(value, old, in_flow=in_flow))
    colon = text.index(":", key.end) + 1
    if was_inline:
        between = text[colon : old.start].rstrip() if "#" in text[colon : old.start] else ""
        text = text[:colon] + between + _header_comment(text, old) + text[old.content_end(text) :]
    else:
        end = _line_end(text, old.content_end(text))
        start = _line_end(text, colon)
        if is_inline(value):
            return f"{text[:colon]} {flow_value(value)}{text[colon:start]}{text[end:]}"
        text = text[:start] + text[end:]
    indent = " " * (_column(text, key.start) + 2)
    return _insert_lines(text, _line_end(text, colon), [indent + line for line in value_lines(value)])


def _put(text: str, old: Node, piece: str) -> str:
    end = old.content_end(text)
    space = "" if text[old.start - 1] in " \t\n[{," else " "
    return f"{text[: old.start]}{space}{piece}{_header_comment(text, old)}{text[end:]}"


def _inline(value: Any, old: Node, *, in_flow: bool) -> str:
    if is_inline(value) and not isinstance(value, dict | list):
        quotes = old.style if old.style in {"'", '"'} else ""
        return scalar(value, style=quotes, flow=in_flow)
    return flow_value(value)


def _header_comment(text: str, old: Node) -> str:
    """The comment on the first line of a `|` scalar, which the new value keeps."""
    if old.style not in {"|", ">"}:
        return ""
    found = re.match(r"[|>][-+0-9]*([ \t]+#[^\r\n]*)", text[old.start : old.end])
    return found.group(1) if found else ""


def _prefers_flow(text: str, value: Any) -> bool:
    """True for a list in a file whose other lists are all written `[a, b]`."""
    root = load(text)
    if not isinstance(value, list) or root is None:
        return False
    styles = {node.style for node in root.items if node.shape is Shape.LIST and node.value}
    return styles == {"flow"}


# Lines


def line_break(text: str) -> str:
    """The line end that the text uses first; `\\n` where it has none."""
    index = text.find("\n")
    return "\r\n" if index > 0 and text[index - 1] == "\r" else "\n"


def _insert_lines(text: str, index: int, lines: Iterable[str]) -> str:
    """Whole lines at the start of a line or the end of the text, whose missing last end stays missing."""
    end = line_break(text)
    before, after = text[:index], text[index:]
    if before and not before.endswith("\n"):
        return before + "".join(end + line for line in lines) + after
    return before + "".join(line + end for line in lines) + after


def _line_start(text: str, index: int) -> int:
    return text.rfind("\n", 0, index) + 1


def _line_end(text: str, index: int) -> int:
    """The start of the next line."""
    found = text.find("\n", index)
    return len(text) if found < 0 else found + 1


def _column(text: str, index: int) -> int:
    return index - _line_start(text, index)


def _ends_blank(text: str) -> bool:
    return re.search(r"(?:\A|\n)[ \t]*\r?\n\Z", text) is not None


def _skip_comments_up(text: str, start: int) -> int:
    """The start of the comment lines that stand directly above `start`."""
    while start > 0:
        above = _line_start(text, start - 1)
        if not text[above:start].lstrip().startswith("#"):
            break
        start = above
    return start


def _skip_comments_down(text: str, end: int) -> int:
    """The end of the comment lines that stand directly below `end` and above a blank line or the end."""
    below = re.compile(r"(?:[ \t]*#[^\n]*\n)*(?=[ \t]*(?:\r?\n|\Z))").match(text, end)
    return below.end() if below else end
