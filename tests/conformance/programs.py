"""The real agent programs under test: exact versions from npm, and settings for a model on loopback.

Adding one is an entry in `PROGRAMS`.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Without exact versions npm silently takes an older release whose `engines` fit the node that runs it.
NODE = ("node", "24.21.0")

# Named so that nothing else of the machine is found before, after or instead.
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Program:
    """A program of `package` at `version`; `settings` writes its configuration below a home that
    points at a model server's URL, and gives the variables that go with it."""

    adapter: str
    package: str
    version: str
    settings: Callable[[Path, str], Mapping[str, str]]


def _claude(_home: Path, url: str) -> Mapping[str, str]:
    return {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
    }


def _codex(home: Path, url: str) -> Mapping[str, str]:
    folder = home / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(
        f"""model = "gpt-5"
model_provider = "scripted"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
env_key = "SCRIPTED_API_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
"""
    )
    return {"SCRIPTED_API_KEY": "scripted"}


def _gemini(home: Path, url: str) -> Mapping[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": False, "maxAttempts": 2},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(home / ".gemini" / "settings.json", json.dumps(settings))
    return {"GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "scripted", "GEMINI_MODEL": "gemini-2.5-flash"}


def _qwen(home: Path, url: str) -> Mapping[str, str]:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
    }
    _write(home / ".qwen" / "settings.json", json.dumps(settings))
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "scripted", "OPENAI_MODEL": "scripted"}


def _pi(home: Path, url: str) -> Mapping[str, str]:
    models = [{"id": name, "contextWindow": 200_000} for name in ("scripted", "scripted-model-7")]
    provider = {"baseUrl": f"{url}/v1", "api": "openai-completions", "apiKey": "scripted", "models": models}
    settings = {
        "defaultProvider": "scripted",
        "defaultModel": "scripted",
        "retry": {"maxRetries": 1, "baseDelayMs": 100},
    }
    folder = home / ".pi" / "agent"
    _write(folder / "models.json", json.dumps({"providers": {"scripted": provider}}))
    _write(folder / "settings.json", json.dumps(settings))
    return {"PI_OFFLINE": "1", "PI_TELEMETRY": "0"}


def _kimi(home: Path, url: str) -> Mapping[str, str]:
    models = "\n".join(
        f"""[models.{name}]
provider = "scripted"
model = "{name}"
max_context_size = 200000
"""
        for name in ("scripted", "scripted-model-7")
    )
    config = f"""default_model = "scripted"
telemetry = false
[providers.scripted]
type = "openai"
base_url = "{url}/v1"
api_key = "scripted"
[loop_control]
max_attempts_per_step = 2
{models}"""
    _write(home / ".kimi-code" / "config.toml", config)
    return {"KIMI_DISABLE_TELEMETRY": "1"}


def _write(path: Path, words: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(words)


PROGRAMS = {
    program.adapter: program
    for program in (
        Program("claude", "@anthropic-ai/claude-code", "2.1.332", _claude),
        Program("codex", "@openai/codex", "0.171.0", _codex),
        Program("gemini", "@google/gemini-cli", "0.61.0", _gemini),
        Program("kimi", "@moonshot-ai/kimi-code", "2.1.0", _kimi),
        Program("pi", "@earendil-works/pi-coding-agent", "1.6.0", _pi),
        Program("qwen", "@qwen-code/qwen-code", "0.24.4", _qwen),
    )
}


def cache() -> Path:
    """`$GITMEM_TEST_CACHE`, else `.cache/` of the checkout."""
    named = os.environ.get("GITMEM_TEST_CACHE")
    return Path(named) if named else Path(__file__).parents[2] / ".cache"


def installed(folder: Path, package: str, version: str, path: str) -> Path:
    """The `bin` folder of a package, installed once for all test workers."""
    place = folder / f"{package.replace('/', '-').lstrip('@')}-{version}"
    with _locked(folder, place.name):
        if not place.exists():
            aside = Path(f"{place}.installing")
            shutil.rmtree(aside, ignore_errors=True)
            aside.mkdir()
            (aside / "package.json").write_text("{}")
            subprocess.run(
                ["npm", "install", "--no-audit", "--no-fund", "--save-exact", f"{package}@{version}"],
                cwd=aside,
                env={**os.environ, "PATH": path},
                check=True,
                capture_output=True,
                timeout=900,
            )
            aside.rename(place)
    return place / "node_modules" / ".bin"


@contextmanager
def _locked(folder: Path, name: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
