"""The real agent programs under test: exact versions from npm or PyPI, and settings for a model on loopback.

Adding one is an entry in `PROGRAMS`.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# Without exact versions npm silently takes an older release whose `engines` fit the node that runs it.
NODE = ("node", "24.21.0")

# The models that are configured for every program: the one in use, and another to be asked for.
MODELS = ("scripted", "scripted-model-7")

# Named so that nothing else of the machine is found before, after or instead.
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class Program:
    """A program of `package` at `version`; `settings` writes its configuration below a home that
    points at a model server's URL, and gives the variables that go with it.

    `model` is its name of the server's `scripted-model-7`. `quiet_s` is the idle limit of a turn
    that should end by itself, `refused_s` the same where nobody listens, `start_s` what it may
    need until its first request. One that is `heavy` is driven once at a time. One that
    `tells_at_end` prints session and tools only when it has ended. One that
    `tells_tools_late` prints a tool call when the tool has ended.
    """

    adapter: str
    package: str
    version: str
    settings: Callable[[Path, str], Mapping[str, str]]
    model: str = "scripted-model-7"
    quiet_s: float = 60
    refused_s: float = 6
    start_s: float = 0
    heavy: bool = False
    tells_at_end: bool = False
    tells_tools_late: bool = False
    index: str = "npm"


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
        # Of the client; its own seven attempts, of a minute and a half in all, cannot be set.
        "model": {"generationConfig": {"maxRetries": 0}},
    }
    _write(home / ".qwen" / "settings.json", json.dumps(settings))
    return {"OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "scripted", "OPENAI_MODEL": "scripted"}


def _pi(home: Path, url: str) -> Mapping[str, str]:
    models = [{"id": name, "contextWindow": 200_000} for name in MODELS]
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
        for name in MODELS
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


def _opencode(home: Path, url: str) -> Mapping[str, str]:
    models = {name: {"limit": {"context": 200_000, "output": 8000}} for name in MODELS}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{url}/v1", "apiKey": "scripted"},
        "models": models,
    }
    own = {"model": "scripted/scripted", "small_model": "scripted/scripted", "share": "disabled"}
    path = home / ".config" / "opencode" / "opencode.json"
    _write(path, json.dumps({**own, "provider": {"scripted": provider}}))
    names = ("MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS")
    return {f"OPENCODE_DISABLE_{name}": "1" for name in names}


def _copilot(_home: Path, url: str) -> Mapping[str, str]:
    return {
        "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
        "COPILOT_PROVIDER_TYPE": "openai",
        # It masks the key wherever it occurs in what it prints.
        "COPILOT_PROVIDER_API_KEY": "sk-of-nobody",
        "COPILOT_MODEL": "scripted",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "200000",
        "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "4000",
        "COPILOT_OFFLINE": "true",
        # It unpacks 235 MB of itself there.
        "XDG_CACHE_HOME": str(cache() / "copilot-unpacked"),
    }


def _droid(home: Path, url: str) -> Mapping[str, str]:
    models = [
        {
            "model": name,
            "displayName": name,
            "baseUrl": f"{url}/v1",
            "apiKey": "scripted",
            "provider": "generic-chat-completion-api",
            "maxOutputTokens": 4000,
        }
        for name in MODELS
    ]
    own = {"model": "custom:scripted-0", "cloudSessionSync": False, "customModels": models}
    _write(home / ".factory" / "settings.json", json.dumps(own))
    return {"FACTORY_API_KEY": "fk-scripted", "FACTORY_API_BASE_URL": url}


def _openclaw(home: Path, url: str) -> Mapping[str, str]:
    models = [
        {"id": name, "name": name, "input": ["text"], "contextWindow": 200_000, "maxTokens": 8000}
        for name in MODELS
    ]
    provider = {
        "baseUrl": f"{url}/v1",
        "apiKey": "scripted",
        "api": "openai-completions",
        "models": models,
    }
    config = {
        "agents": {"defaults": {"skipBootstrap": True, "model": {"primary": "scripted/scripted"}}},
        "models": {"mode": "replace", "providers": {"scripted": provider}},
        "tools": {"profile": "coding"},
        "gateway": {"mode": "local"},
        "update": {"checkOnStart": False},
    }
    _write(home / ".openclaw" / "openclaw.json", json.dumps(config))
    return {"OPENCLAW_NO_AUTO_UPDATE": "1", "OPENCLAW_SKIP_CHANNELS": "1"}


def _write(path: Path, words: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(words)


def _hermes(home: Path, url: str) -> Mapping[str, str]:
    config = f"""model:
  default: scripted
  provider: custom
  base_url: {url}/v1
  api_key: scripted
  context_length: 200000
agent:
  api_max_retries: 1
"""
    _write(home / ".hermes" / "config.yaml", config)
    return {"OPENAI_API_KEY": "scripted"}


PROGRAMS = {
    program.adapter: program
    for program in (
        Program("claude", "@anthropic-ai/claude-code", "2.1.332", _claude),
        Program("codex", "@openai/codex", "0.171.0", _codex),
        Program("copilot", "@github/copilot", "1.0.102", _copilot, quiet_s=20),
        Program(
            "droid",
            "droid",
            "0.215.0",
            _droid,
            model="custom:scripted-model-7-1",
        ),
        Program("gemini", "@google/gemini-cli", "0.61.0", _gemini),
        Program("hermes", "hermes-agent[acp]", "0.19.0", _hermes, start_s=15, index="pypi"),
        Program("kimi", "@moonshot-ai/kimi-code", "2.1.0", _kimi, tells_tools_late=True),
        Program(
            "openclaw",
            "openclaw",
            "2026.9.6",
            _openclaw,
            model="scripted/scripted-model-7",
            quiet_s=45,
            start_s=45,
            heavy=True,
            tells_at_end=True,
        ),
        Program(
            "opencode",
            "opencode-ai",
            "1.18.33",
            _opencode,
            model="scripted/scripted-model-7",
            quiet_s=20,
            start_s=15,
        ),
        Program("pi", "@earendil-works/pi-coding-agent", "1.6.0", _pi),
        Program("qwen", "@qwen-code/qwen-code", "0.24.4", _qwen, quiet_s=150, refused_s=150),
    )
}


def cache() -> Path:
    """`$GITMEM_TEST_CACHE`, else `.cache/` of the checkout."""
    named = os.environ.get("GITMEM_TEST_CACHE")
    return Path(named) if named else Path(__file__).parents[2] / ".cache"


def installed(folder: Path, package: str, version: str, path: str) -> Path:
    """The `bin` folder of a package, installed once for all test workers."""
    place = folder / f"{package.replace('/', '-').lstrip('@')}-{version}"
    with locked(folder, place.name):
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


def installed_from_pypi(folder: Path, package: str, version: str) -> Path:
    """The `bin` folder of a virtual environment that holds a package, made once for all test workers."""
    place = folder / f"{re.sub(r'[^a-z0-9]+', '-', package).strip('-')}-{version}"
    done = place / "installed"
    with locked(folder, place.name):
        if not done.exists():
            python = place / "bin" / "python"
            subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True, capture_output=True)
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", f"{package}=={version}"],
                check=True,
                capture_output=True,
                timeout=900,
            )
            done.touch()
    return place / "bin"


@contextmanager
def locked(folder: Path, name: str) -> Iterator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
