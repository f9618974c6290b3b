"""The fields of a record against its JSON Schema: a list of problems, each with what to type."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from gitmem.core.model import first_heading
from gitmem.core.record import Kind, Problem, Severity
from gitmem.store.document import Document, key_position, position
from gitmem.store.schemafiles import schema as schema
from gitmem.store.schemafiles import schemas_dir as schemas_dir
from gitmem.store.yamlwrite import entry_lines, flow_value

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator, ValidationError

PROBLEMS_MAX = 50  # of one kind in one file; who has more mends these first
SHOWN_MAX = 60  # characters of a wrong value that a message repeats

_NEEDS_TITLE = frozenset({Kind.ISSUE})
_CODES = {
    "type": "wrong-type",
    "enum": "unknown-value",
    "pattern": "bad-format",
    "required": "missing-key",
    "minLength": "too-short",
    "maxLength": "too-long",
    "minimum": "out-of-range",
}
_TYPE_WORDS = {
    "string": "text",
    "array": "a list",
    "object": "keys with values",
    "integer": "a whole number",
    "boolean": "true or false",
    "null": "null",
}


def problems(kind: Kind, document: Document, path: str) -> list[Problem]:
    """What the schema of `kind` says against the fields; unknown keys are warnings.

    A document that could not be read has no fields to judge, and so no problems here.
    """
    if document.is_broken or kind is Kind.CONTEXT:
        return []
    value = document.value if document.value is not None or kind is Kind.LIBRARIES else {}
    errors = list(islice(_validator(kind).iter_errors(value), PROBLEMS_MAX))
    errors.sort(key=lambda error: list(map(str, error.path)))
    found = [_problem(document, path, error) for error in errors]
    if kind in _NEEDS_TITLE and not document.fields.get("title") and not first_heading(document.body):
        message = "the issue has no title and no heading"
        place = position(document, ("title",))
        found.append(Problem(path, *place, Severity.ERROR, "missing-key", message, "add a line  title: …"))
    return [*found, *_unknown_keys(kind, document, path)]


@cache
def _validator(kind: Kind) -> Draft202012Validator:
    from jsonschema import Draft202012Validator  # late: 86-280 ms

    return Draft202012Validator(schema(kind))


def _unknown_keys(kind: Kind, document: Document, path: str) -> Iterator[Problem]:
    known = schema(kind).get("properties", {})
    unknown = (key for key in document.fields if key not in known)
    for key in islice(unknown, PROBLEMS_MAX):
        near = difflib.get_close_matches(key.lower(), known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]}?" if near else None
        place = key_position(document, key)
        message = f"{key!r} is not a key of this kind of file ({kind}); it is kept as it is"
        yield Problem(path, *place, Severity.WARNING, "unknown-key", message, hint)


@dataclass(frozen=True, slots=True)
class _Fault:
    """A validation error: where, the value there, what the schema's keyword asks, the schema around it."""

    steps: list[str | int]
    value: Any
    wanted: Any
    schema: dict[str, Any]


_Words = tuple[str, str | None]  # message and hint


def _problem(document: Document, path: str, error: ValidationError) -> Problem:
    keyword = str(error.validator)
    around = error.schema if isinstance(error.schema, dict) else {}
    fault = _Fault(list(error.absolute_path), error.instance, error.validator_value, around)
    words = _MESSAGES.get(keyword)
    message, hint = words(fault) if words else (f"{_name(fault.steps)}: {error.message[:200]}", None)
    place = position(document, fault.steps)
    return Problem(path, *place, Severity.ERROR, _CODES.get(keyword, "bad-value"), message, hint)


def _name(steps: list[str | int]) -> str:
    out = ""
    for step in steps:
        out += f"[{step}]" if isinstance(step, int) else f".{step}" if out else step
    return out or "the file"


def _shown(value: Any) -> str:
    text = flow_value(value)
    return text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "…"


def _line(steps: list[str | int], value: Any) -> str:
    """The line to type for `value` at that place."""
    if steps and isinstance(steps[-1], str):
        return "\n".join(entry_lines(steps[-1], value))
    return f"- {flow_value(value)}"


def _wrong_type(fault: _Fault) -> _Words:
    types = [fault.wanted] if isinstance(fault.wanted, str) else list(fault.wanted)
    words = " or ".join(_TYPE_WORDS.get(name, name) for name in types)
    message = f"{_name(fault.steps)} is {_shown(fault.value)}; it must be {words}"
    return message, _typed_hint(fault, types)


def _typed_hint(fault: _Fault, types: list[str]) -> str | None:
    value = fault.value
    if not isinstance(value, dict | list) and value is not None and "string" in types:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        fits = re.search(fault.schema.get("pattern", ""), text)
        return f"write: {_line(fault.steps, text)}" if fits else _example(fault)
    if isinstance(value, str) and "boolean" in types and value.lower() in {"yes", "no", "on", "off"}:
        return f"write: {_line(fault.steps, value.lower() in {'yes', 'on'})}"
    if isinstance(value, str) and "integer" in types and value.strip().lstrip("-").isdecimal():
        return f"write: {_line(fault.steps, int(value))}"
    return _example(fault)


def _unknown_value(fault: _Fault) -> _Words:
    choices = [choice for choice in fault.wanted if choice is not None]
    message = f"{_name(fault.steps)} is {_shown(fault.value)}; it must be one of {', '.join(choices)}"
    plain = str(fault.value).strip().lower().replace(" ", "_")
    near = difflib.get_close_matches(plain, choices, n=1, cutoff=0.5)
    return message, f"write: {_line(fault.steps, near[0])}" if near else None


def _bad_format(fault: _Fault) -> _Words:
    message = f"{_name(fault.steps)} is {_shown(fault.value)}, which does not have the right form"
    return message, _example(fault)


def _missing(fault: _Fault) -> _Words:
    key = next((key for key in fault.wanted if key not in fault.value), "")
    where = f" in {_name(fault.steps)}" if fault.steps else ""
    examples = fault.schema.get("properties", {}).get(key, {}).get("examples")
    shown = _line([key], examples[0]) if examples else f"{key}: …"
    return f"{key} is missing{where}", f"add a line  {shown}"


def _too_short(fault: _Fault) -> _Words:
    return f"{_name(fault.steps)} is empty", _example(fault)


def _too_long(fault: _Fault) -> _Words:
    message = f"{_name(fault.steps)} has {len(fault.value)} characters; the limit is {fault.wanted}"
    return message, "say the rest in the body"


def _too_small(fault: _Fault) -> _Words:
    return f"{_name(fault.steps)} is {fault.value}; the least is {fault.wanted}", None


def _example(fault: _Fault) -> str | None:
    if fault.steps == ["id"]:  # an example would be copied, and be two records' id
        return "remove the line; gitmem check --fix fills in an id"
    examples = fault.schema.get("examples")
    return f"for example: {_line(fault.steps, examples[0])}" if examples else None


_MESSAGES: dict[str, Callable[[_Fault], _Words]] = {
    "type": _wrong_type,
    "enum": _unknown_value,
    "pattern": _bad_format,
    "required": _missing,
    "minLength": _too_short,
    "maxLength": _too_long,
    "minimum": _too_small,
}
