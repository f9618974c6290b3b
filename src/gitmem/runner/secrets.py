"""Keeping credentials out of the history: what is committed stays for ever.

The patterns are those of detect-secrets whose match is a token of a known form, and a few of
the same kind that it lacks. Its entropy and keyword heuristics are left out: they take every
commit id and every `password:` in prose for a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Any

# Where a detector's pattern is only a hint: an address is no credential, entropy is no evidence.
_HEURISTIC = frozenset(
    {"Base64HighEntropyString", "HexHighEntropyString", "KeywordDetector", "IPPublicDetector"}
)

# Documented token forms: Anthropic (sk-ant-), Google API keys (AIza + 35), npm granular tokens,
# fine-grained GitHub tokens, Slack app tokens.
_MORE = {
    "Anthropic API Key": r"sk-ant-[A-Za-z0-9_-]{24,}",
    "Google API Key": r"AIza[0-9A-Za-z_-]{35}",
    "NPM tokens": r"npm_[A-Za-z0-9]{36}",
    "GitHub Token": r"github_pat_[A-Za-z0-9_]{36,}",
    "Slack Token": r"xapp-\d-[A-Z0-9]+-\d+-[a-f0-9]{32,}",
}

# A key is its whole block, not the line that announces it.
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Scrubbed:
    """A text with its secrets replaced, and the kinds of secret that were in it."""

    text: str
    kinds: tuple[str, ...]


def scrub(text: str) -> Scrubbed:
    """Replace every credential in `text` by `[redacted: <kind>]`."""
    found: list[str] = []
    for kind, pattern in _patterns():

        def redact(_: re.Match[str], kind: str = kind) -> str:
            found.append(kind)
            return f"[redacted: {kind}]"

        text = pattern.sub(redact, text)
    return Scrubbed(text, tuple(dict.fromkeys(found)))


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str]], ...]:
    from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class  # late: 100 ms

    found = [("Private Key", _PRIVATE_KEY)]
    detector: Any
    for kind, detector in get_mapping_from_secret_type_to_class().items():
        if detector.__name__ not in _HEURISTIC and kind != "Private Key":
            found += [(kind, pattern) for pattern in detector().denylist]
    return (*found, *((kind, re.compile(pattern)) for kind, pattern in _MORE.items()))
