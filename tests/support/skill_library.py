"""Skills such as a team has: made from a vocabulary of software topics, the same for the same seed."""

from __future__ import annotations

import random
from typing import NamedTuple


class MadeSkill(NamedTuple):
    name: str
    description: str
    body: str


# topic: things | what is done to them | what they are done with
TOPICS = """
kubernetes: pod ingress namespace rollout replica sidecar | scale drain inspect roll | kubectl helm kustomize
terraform: module state workspace provider plan | import lint refactor apply | terraform tflint terragrunt
react: component hook context reducer suspense prop | memoise split extract profile | vite storybook jsx
accessibility: contrast landmark focus caption | audit annotate correct review | axe pa11y screenreader
graphql: resolver schema mutation fragment subscription | stitch paginate deprecate mock | apollo dataloader
android: activity gradle manifest intent fragment | obfuscate instrument sign sideload | kotlin espresso
ios: storyboard provisioning simulator keychain entitlement | notarise archive localise snapshot | swift xcode
django: queryset signal middleware serializer admin fixture | prefetch squash seed migrate | celery orm
rust: crate borrow lifetime macro trait feature | vendor audit fuzz benchmark | cargo clippy miri
golang: goroutine channel interface struct module race | vendor profile generate vet | pprof gofmt delve
spreadsheets: pivot formula chart sheet column lookup | clean merge chart summarise | openpyxl xlsx
pdf: form annotation outline page watermark attachment | fill split redact stamp | qpdf pypdf
email: newsletter campaign template unsubscribe segment inbox | draft personalise schedule warm | mjml dkim
statistics: regression sample variance outlier cohort | fit bootstrap test simulate | scipy statsmodels
machine-learning: embedding checkpoint epoch dataset | train distill evaluate quantise | pytorch onnx
speech: transcript speaker phoneme waveform subtitle silence | diarise align denoise segment | whisper ffmpeg
video: codec frame keyframe bitrate subtitle scene | transcode trim stitch stabilise | ffmpeg mkv
maps: tile projection polygon geocode route elevation | reproject simplify geocode render | geopandas leaflet
games: sprite shader collision level physics tilemap | animate bake tune export | godot unity
music: chord tempo midi stem mixdown playlist | transpose master quantise mix | ableton lilypond
legal: clause contract liability licence privacy retention | compare draft redline summarise | docx
hiring: candidate interview scorecard offer onboarding resume | screen schedule debrief rank | greenhouse
marketing: funnel landing keyword persona headline banner | segment brainstorm position measure | analytics
brand: palette logo typeface tone tagline guideline | apply audit refresh document | figma
research: citation abstract hypothesis survey bibliography | synthesise cite review outline | zotero bibtex
networking: subnet vlan gateway firewall packet route | capture trace allocate segment | wireshark iptables
linux: kernel systemd cgroup swap inode daemon | tune harden bisect patch | strace perf
windows: registry powershell installer driver hive msi | package sign automate repair | wix winget
observability: trace span dashboard histogram alert | instrument sample correlate downsample | tempo loki
security: vulnerability exploit dependency sandbox | triage threat-model harden pentest | semgrep trivy
cryptography: nonce cipher keypair entropy digest salt | derive encrypt verify seal | age gpg
messaging: topic partition offset consumer producer broker | replay rebalance compact mirror | kafka nats
warehouse: fact dimension lineage partition snapshot | model backfill deduplicate partition | dbt snowflake
scraping: selector crawler robots captcha proxy sitemap | crawl throttle parse rotate | playwright scrapy
compilers: lexer parser register intermediate optimiser symbol | lower inline fold emit | llvm antlr
embedded: firmware bootloader interrupt register gpio | flash debounce solder calibrate | zephyr openocd
robotics: actuator odometry joint gripper lidar trajectory | calibrate plan simulate tune | ros gazebo
chemistry: molecule bond reagent solvent titration spectrum | balance dock simulate plot | rdkit
biology: genome sequence protein primer variant alignment | align annotate assemble call | blast samtools
astronomy: exposure telescope photometry catalogue asteroid spectrum | stack calibrate reduce plot | astropy
""".strip()

_TITLES = ("{verb}-{a}-{b}", "{topic}-{a}-{verb}", "{verb}-{topic}-{b}", "{a}-{b}-with-{tool}")
_DESCRIPTIONS = (
    "{Verb} the {a} and the {b} of a {topic} project with {tool}. Use when a {c} is changed or checked.",
    "Guides through work on {topic}: how to {verb} a {a}, when a {b} is missing, what to do about the {c}.",
    "Use this skill to {verb} {a} and {b} files, to debug a failing {c}, or when the user mentions {tool}.",
    "Helps to write, run and fix {topic} code. Covers {a}, {b} and {c}; runs {tool} and reports errors.",
)


def skill_library(count: int, seed: int) -> list[MadeSkill]:
    """`count` skills with different names."""
    rng = random.Random(seed)
    made: dict[str, MadeSkill] = {}
    lines = TOPICS.splitlines()
    while len(made) < count:
        topic, rest = rng.choice(lines).split(": ")
        things, verbs, tools = (part.split() for part in rest.split(" | "))
        a, b, c = rng.sample(things, 3)
        fill = {"topic": topic, "verb": rng.choice(verbs), "tool": rng.choice(tools), "a": a, "b": b, "c": c}
        name = rng.choice(_TITLES).format(**fill)
        text = rng.choice(_DESCRIPTIONS).format(Verb=fill["verb"].capitalize(), **fill)
        steps = "\n".join(f"{n}. {rng.choice(verbs)} the {rng.choice(things)}" for n in range(1, 6))
        made[name] = MadeSkill(name, text, f"# {name}\n\n{steps}\n")
    return list(made.values())
