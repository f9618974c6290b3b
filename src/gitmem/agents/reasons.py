"""From what a program says about its trouble to a `Reason`: structured fields first, then words.

The words are the program's own error texts, never the agent's: an agent may write about
anything.
"""

from __future__ import annotations

import re

from gitmem.core.states import Reason

_BY_STATUS = {
    401: Reason.AUTH,
    402: Reason.QUOTA,
    403: Reason.AUTH,
    404: Reason.BAD_CONFIG,  # no such model, or a base URL that is no model server
    408: Reason.NETWORK,
    413: Reason.CONTEXT_OVERFLOW,
    429: Reason.RATE_LIMITED,
}

# In this order: a text that fits several is what the first says.
_WORDS: tuple[tuple[Reason, str], ...] = (
    (
        Reason.CONTEXT_OVERFLOW,
        r"prompt is too long|context[ _](window|length)|maximum context|too many tokens",
    ),
    (
        Reason.QUOTA,
        r"usage limit|hit your( \w+)? limit|insufficient[_ ]quota|quota exceeded|credit balance"
        r"|out of credits",
    ),
    (Reason.RATE_LIMITED, r"rate[ _-]?limit|too many requests"),
    (
        Reason.AUTH,
        r"invalid (x-)?api[ -]key|api key (is )?(not|missing|required)|missing .*api[_ ]key"
        r"|missing environment variable|not logged in|please (run )?/?log ?in|authentication"
        r"|unauthorized|permission_error|token (has )?expired",
    ),
    (
        Reason.NETWORK,
        r"econn(refused|reset|aborted)|enotfound|etimedout|eai_again|getaddrinfo|socket hang up"
        r"|connection (refused|reset|failed|closed|error)|network error|waiting for network"
        r"|error sending request|fetch failed|stream (disconnected|closed|ended)",
    ),
    (
        Reason.PROVIDER_ERROR,
        r"overloaded|high demand|internal server error|service unavailable|bad gateway"
        r"|server[_ ]error|api_error|at capacity",
    ),
    (
        Reason.BAD_CONFIG,
        r"unknown (option|argument)|unexpected argument|unrecognized|invalid value|error loading config"
        r"|invalid config|model .*(not found|not exist|not supported)|invalid model"
        r"|cannot be used with root",
    ),
)
_BY_WORDS = tuple((re.compile(pattern, re.IGNORECASE), reason) for reason, pattern in _WORDS)

_STATUS_IN_WORDS = re.compile(
    r"(?:\b|_)(?:status|error|http|code)[\": (]*([45]\d\d)\b|\(([45]\d\d)\)|^([45]\d\d)\b", re.IGNORECASE
)


def of_status(status: int, words: str = "") -> Reason | None:
    """The reason that an HTTP status means; `words` tell a spent quota from a rate limit."""
    found = _BY_STATUS.get(status)
    if found is Reason.RATE_LIMITED and of_words(words) is Reason.QUOTA:
        return Reason.QUOTA
    if found is None and 400 <= status < 500:
        return of_words(words) or Reason.BAD_CONFIG
    return found or (Reason.PROVIDER_ERROR if status >= 500 else None)


def of_words(words: str) -> Reason | None:
    """The reason that an error text names, else None."""
    return next((reason for pattern, reason in _BY_WORDS if pattern.search(words)), None)


def of_text(text: str) -> Reason | None:
    """The reason in an error text that may quote an HTTP status."""
    quoted = _STATUS_IN_WORDS.search(text)
    if quoted:
        return of_status(int(next(filter(None, quoted.groups()))), text)
    return of_words(text)
