"""Values as YAML text that every common reader, of YAML 1.1 or 1.2, reads as the same values.

A string is written plain only where no reader could take it for something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gitmem.core.errors import InvalidDocumentError
from gitmem.store.yamlread import DEPTH_MAX, INT_DIGITS_MAX, ODD_CHARACTER

# libyaml gives up on a key after 1,024 characters, and an escape is at most four for each byte.
KEY_BYTES_MAX = 250
NUMERIC_MAX = 100  # characters; what is longer and begins like a number is quoted unseen

_WORDS = frozenset(
    ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf", "~", "<<", "=", "..."]
)
# Numbers, sexagesimal numbers and times of the YAML 1.1 types and the YAML 1.2 core schema.
_NUMERIC = re.compile(
    r"""[-+]?(?:
        0[xob][0-9a-f_]*
      | (?=\.?[0-9])(?:[0-9][0-9_,]*)?\.?[0-9_]*(?:e[-+]?[0-9]*)?
      | [0-9][0-9_]*(?::[0-9]{1,2})+(?:\.[0-9_]*)?
      | \.(?:inf|nan)
    )
    | [0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[t\s].*)?""",
    re.VERBOSE | re.IGNORECASE,
)
_INDICATORS = "-?:,[]{}#&*!|>'\"%@`<="  # the last two begin conflict markers
_UNSAFE = re.compile(r":\s|\s#|:$|[\t\r\n]|^\.\.\. ")
_FLOW_UNSAFE = re.compile(r"[,\[\]{}?]")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ESCAPED = re.compile(f'["\\\\\t\n]|\r|{ODD_CHARACTER.pattern}')


def plain_value(value: Any, depth: int = 0) -> Any:
    """`value` in the types that the format has: None, bool, int, str, list, dict with text keys.

    Raises InvalidDocumentError for any other type: a float or a time would be read back as a string.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) >= 10**INT_DIGITS_MAX:
            raise InvalidDocumentError("a number is too long to be kept")
        return int(value)
    if isinstance(value, str):
        return plain_text(value)
    if depth >= DEPTH_MAX:
        raise InvalidDocumentError(f"values are nested more than {DEPTH_MAX} deep")
    if isinstance(value, Mapping):
        return {_key(key): plain_value(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(item, depth + 1) for item in value]
    raise InvalidDocumentError(
        f"a value of type {type(value).__name__} cannot be kept", "the format has strings and whole numbers"
    )


def plain_text(value: str) -> str:
    """`value` if it can be encoded; raises InvalidDocumentError for half a surrogate pair."""
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InvalidDocumentError(f"{value[:80]!r} is not valid Unicode") from None
    return str(value)


def _key(key: Any) -> str:
    if not isinstance(key, str) or len(key.encode("utf-8", "surrogatepass")) > KEY_BYTES_MAX:
        raise InvalidDocumentError(f"{str(key)[:80]!r} cannot be a key")
    return plain_text(key)


def is_plain(text: str, *, flow: bool = False) -> bool:
    """True where `text` may stand without quotes and every reader takes it for this string."""
    return not (
        not text
        or text != text.strip()
        or text[0] in _INDICATORS
        or text.lower() in _WORDS
        or _UNSAFE.search(text)
        or ODD_CHARACTER.search(text)
        or _is_numeric(text)
        or (flow and _FLOW_UNSAFE.search(text))
    )


def _is_numeric(text: str) -> bool:
    """True for what some reader takes for a number or a time; `_NUMERIC` is slow on long texts."""
    if len(text) > NUMERIC_MAX:
        return text[0] in "+-.0123456789"
    return _NUMERIC.fullmatch(text) is not None


def double_quoted(text: str) -> str:
    return '"' + _ESCAPED.sub(lambda found: _escape(found.group()), text) + '"'


def _escape(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"


def scalar(value: str | int | None, *, style: str = "", flow: bool = False) -> str:
    """`null`, `true`, `12` or a string in quotes of the kind `style` asks for, where it can have them."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if style == "'" and not ODD_CHARACTER.search(value) and not re.search(r"[\t\r\n]", value):
        return "'" + value.replace("'", "''") + "'"
    if style != '"' and is_plain(value, flow=flow):
        return value
    return double_quoted(value)


def flow_value(value: Any) -> str:
    """Any value on one line."""
    if isinstance(value, dict):
        inner = ", ".join(f"{scalar(key, flow=True)}: {flow_value(item)}" for key, item in value.items())
        return "{" + inner + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_value, value)) + "]"
    return scalar(value, flow=True)


def is_inline(value: Any) -> bool:
    """True for a value that is written on its key's line: a scalar, an empty list or mapping."""
    return not isinstance(value, dict | list) or not value


def entry_lines(key: str, value: Any) -> Iterator[str]:
    """`key: value` as lines without their ends: scalars on one line, lists one item per line."""
    if is_inline(value):
        yield f"{scalar(key)}: {flow_value(value)}"
        return
    yield f"{scalar(key)}:"
    yield from (f"  {line}" for line in value_lines(value))


def value_lines(value: dict[str, Any] | list[Any]) -> Iterator[str]:
    """The lines of a list or mapping that is not empty."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield from entry_lines(key, item)
        return
    for item in value:
        if isinstance(item, dict) and item:
            first, *rest = value_lines(item)
            yield f"- {first}"
            yield from (f"  {line}" for line in rest)
        else:
            yield f"- {flow_value(item)}"
