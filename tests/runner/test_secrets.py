from __future__ import annotations

import pytest

from gitmem.runner.secrets import scrub

# Put together at run time, so that no scanner takes this file for a leak.
KEYS = {
    "AWS Access Key": "AKIA" + "QYLPMN5HFIQR7XYA",
    "GitHub Token": "ghp_" + "abcdefghijklmnopqrstuvwxyzABCDEFGH12",
    "Slack Token": "xoxb-" + "123456789012-1234567890123-abcdefghijklmnopqrstuvwx",
    "Anthropic API Key": "sk-ant-" + "api03-abcdefghijklmnopqrstuvwxyz0123456789",
    "GitLab Token": "glpat-" + "abcdefghij0123456789",
    "Google API Key": "AIza" + "SyA1234567890abcdefghijklmnopqrstuv",
    "NPM tokens": "npm_" + "abcdefghijklmnopqrstuvwxyz0123456789",
}


@pytest.mark.parametrize(("kind", "key"), KEYS.items())
def test_a_credential_is_replaced_whole(kind: str, key: str) -> None:
    done = scrub(f"use {key}, then go")
    assert done.text == f"use [redacted: {kind}], then go"
    assert done.kinds == (kind,)


def test_a_private_key_goes_with_its_whole_block() -> None:
    block = "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIabc\ndef\n-----END " + "RSA PRIVATE KEY-----"
    assert scrub(f"a\n{block}\nb").text == "a\n[redacted: Private Key]\nb"


def test_the_password_in_an_address_goes() -> None:
    assert "hunter2pass" not in scrub("postgres://user:" + "hunter2pass@db/x").text


def test_commit_ids_hashes_addresses_and_prose_stay() -> None:
    text = "4b825dc642cb6eb9a060e54bf8d69288fbee4904 10.0.0.1 8.8.8.8 password: see the vault, token: none\n"
    assert scrub(text).text == text
