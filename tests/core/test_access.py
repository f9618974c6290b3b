from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitmem.core.access import Item, decide, item_of, landing, trusted
from gitmem.core.ids import Actor, ActorKind, parse_actor
from gitmem.core.policy import (
    ALWAYS_REVIEWED,
    Level,
    Policy,
    Right,
    highest,
    level_of,
    path_matches,
    policy_of,
)
from gitmem.core.record import Kind, Record

ANA, BOB, CLAUDE, CODEX = map(parse_actor, ("member:ana", "member:bob", "agent:claude", "agent:codex"))
NO_FILE = policy_of({})
TEAM = policy_of(
    {
        "roles": {
            "coder": {
                "may": ["read", "write"],
                "kinds": ["issue", "comment", "knowledge", "skill"],
                "projects": ["web"],
            },
            "archivist": {"may": ["read"], "deny": [{"kinds": ["run"]}]},
        },
        "actors": {
            "member:ana": {"role": "owner"},
            "member:bob": {"role": "archivist"},
            "agent:claude": {"role": "coder", "projects": ["web"]},
            "agent:lead": {"role": "orchestrator"},
            "agent:odd": {"role": "wizard"},
        },
        "land": [{"kinds": ["comment"], "by": "any"}, {"kinds": ["skill"], "by": "agent", "as": "candidate"}],
        "trusted": ["member:ana", "agent:claude"],
        "require_sandbox": "confidential",
    }
)


def issue(**attributes: Any) -> Item:
    return Item(
        **{"kind": Kind.ISSUE, "name": "7k3q9d2m", "path": "issues/2026-11/7k3q9d2m-x.md", **attributes}
    )


def may_read(policy: Policy, actor: Actor, item: Item, working_on: str | None = None) -> bool:
    return decide(policy, actor, item, working_on=working_on).allowed


def test_without_a_policy_everybody_reads_what_is_internal() -> None:
    assert may_read(NO_FILE, ANA, issue())
    assert may_read(NO_FILE, CLAUDE, issue())


def test_without_a_policy_a_member_may_do_everything_and_an_agent_may_not_review() -> None:
    assert all(decide(NO_FILE, ANA, issue(), right).allowed for right in Right)
    assert not decide(NO_FILE, CLAUDE, issue(), Right.REVIEW).allowed


@pytest.mark.parametrize(
    ("level", "readers"),
    [
        (Level.PUBLIC, {"member:ana", "agent:claude", "agent:lead"}),
        (Level.INTERNAL, {"member:ana", "agent:claude", "agent:lead"}),
        (Level.CONFIDENTIAL, {"agent:claude"}),
        (Level.SECRET, {"agent:lead"}),
    ],
)
def test_each_level_is_read_by_those_it_is_for(level: Level, readers: set[str]) -> None:
    item = issue(level=level, allowed=frozenset({"coder"}), creator="member:zoe")
    actors = map(parse_actor, ("member:ana", "agent:claude", "agent:lead"))
    assert {str(actor) for actor in actors if may_read(TEAM, actor, item)} == readers


@pytest.mark.parametrize("level", list(Level))
def test_the_creator_reads_at_every_level(level: Level) -> None:
    assert may_read(NO_FILE, ANA, issue(level=level, creator="member:ana"))


def test_an_allowed_actor_or_role_reads_a_confidential_item() -> None:
    assert may_read(NO_FILE, CODEX, issue(level=Level.CONFIDENTIAL, allowed=frozenset({"agent:codex"})))
    assert not may_read(NO_FILE, CLAUDE, issue(level=Level.CONFIDENTIAL, allowed=frozenset({"agent:codex"})))


def test_an_agent_reads_only_its_projects() -> None:
    assert may_read(TEAM, CLAUDE, issue(project="web"))
    decision = decide(TEAM, CLAUDE, issue(project="ops"))
    assert decision == decide(TEAM, CLAUDE, issue(project="ops"), working_on="ops")
    assert not decision.allowed
    assert decision.reason == "internal to project ops"


def test_an_agent_without_projects_reads_the_project_it_works_on() -> None:
    assert may_read(NO_FILE, CLAUDE, issue(project="web"), working_on="web")
    assert not may_read(NO_FILE, CLAUDE, issue(project="ops"), working_on="web")
    assert not may_read(NO_FILE, CLAUDE, issue(project="ops"))
    assert may_read(NO_FILE, ANA, issue(project="ops"))


def test_a_quarantined_item_never_goes_to_an_agent() -> None:
    held = issue(quarantined=True, level=Level.PUBLIC)
    assert not may_read(NO_FILE, CLAUDE, held)
    assert may_read(NO_FILE, ANA, held)


def test_an_agents_own_memory_is_not_read_by_another_agent() -> None:
    note = Item(Kind.KNOWLEDGE, "agent-claude/habits", "knowledge/agent-claude/habits.md")
    assert may_read(NO_FILE, CLAUDE, note)
    assert may_read(NO_FILE, ANA, note)
    assert not may_read(NO_FILE, CODEX, note)


def test_deny_wins_over_a_role_that_grants() -> None:
    run = Item(Kind.RUN, "r1", "runs/2026-11/r1.md")
    assert "denies" in decide(TEAM, BOB, run).reason
    assert not may_read(TEAM, BOB, run)
    assert may_read(TEAM, BOB, issue())


def test_what_the_policy_does_not_define_is_refused() -> None:
    assert "not defined" in decide(TEAM, parse_actor("agent:odd"), issue()).reason
    assert level_of("topsecret") is Level.SECRET
    assert level_of(None) is Level.INTERNAL


def test_a_role_restricted_to_kinds_still_gets_the_context_and_its_own_instructions() -> None:
    assert may_read(TEAM, CLAUDE, Item(Kind.CONTEXT, "context", "context.md"))
    assert may_read(TEAM, CLAUDE, Item(Kind.AGENT, "claude", "agents/claude.md"))
    assert not may_read(TEAM, CLAUDE, Item(Kind.AGENT, "codex", "agents/codex.md"))
    assert not decide(TEAM, CLAUDE, Item(Kind.CONTEXT, "context", "context.md"), Right.WRITE).allowed


def test_the_role_of_a_members_file_counts_where_the_policy_is_silent() -> None:
    policy = policy_of({}, {"member:ana": "observer"})
    assert not decide(policy, ANA, issue(), Right.WRITE).allowed


def test_only_named_members_are_trusted() -> None:
    assert trusted(TEAM, ANA)
    assert not trusted(TEAM, BOB)
    assert not trusted(TEAM, CLAUDE), "an agent's text must never become a command"
    assert not trusted(NO_FILE, ANA)


def test_comments_status_and_candidates_land_by_default() -> None:
    for kind in ("comment", "run", "issue.status", "issue.new"):
        assert landing(NO_FILE, kind, CLAUDE, "any/path.md").lands
    skill = landing(NO_FILE, "skill", CLAUDE, "skills/x/SKILL.md")
    assert (skill.lands, skill.status) == (True, "candidate")
    assert not landing(NO_FILE, "issue.edit", CLAUDE, "issues/2026-11/7k3q9d2m-x.md").lands


@pytest.mark.parametrize("kind", sorted(ALWAYS_REVIEWED))
def test_what_steers_later_runs_always_waits(kind: str) -> None:
    everything = policy_of({"land": [{"by": "any"}]})
    assert landing(everything, "issue.edit", CLAUDE, "issues/x.md").lands
    assert not landing(everything, kind, CLAUDE, "policy.yaml").lands


def test_a_skill_that_people_wrote_always_waits() -> None:
    ours = item_of(Record(Kind.SKILL, "x", "skills/x/SKILL.md", "", {"metadata": {"gitmem-run": "r1"}}))
    theirs = item_of(Record(Kind.SKILL, "x", "skills/x/SKILL.md", "", {}))
    assert landing(NO_FILE, "skill", CLAUDE, ours.path, ours).lands
    assert not landing(NO_FILE, "skill", CLAUDE, theirs.path, theirs).lands


def test_the_workspaces_own_rules_replace_the_default() -> None:
    assert landing(TEAM, "skill", CLAUDE, "skills/x/SKILL.md").status == "candidate"
    assert not landing(TEAM, "skill", BOB, "skills/x/SKILL.md").lands
    assert not landing(TEAM, "knowledge", CLAUDE, "knowledge/workspace/x.md").lands
    assert landing(TEAM, "comment", BOB, "comments/x.md").lands


def test_an_item_reads_its_attributes_from_the_front_matter() -> None:
    fields = {
        "sensitivity": "confidential",
        "project": "web",
        "created_by": "member:ana",
        "allowed": ["coder"],
        "trust": "quarantined",
    }
    item = item_of(Record(Kind.ISSUE, "7k3q9d2m", "issues/x.md", "", fields))
    assert item == Item(
        Kind.ISSUE,
        "7k3q9d2m",
        "issues/x.md",
        Level.CONFIDENTIAL,
        "web",
        "member:ana",
        frozenset({"coder"}),
        quarantined=True,
    )


def test_a_skill_reads_its_attributes_from_its_metadata() -> None:
    metadata = {
        "gitmem-sensitivity": "secret",
        "gitmem-trust": "quarantined",
        "gitmem-allowed": "agent:a; coder",
    }
    item = item_of(Record(Kind.SKILL, "x", "skills/x/SKILL.md", "", {"metadata": metadata}))
    assert (item.level, item.quarantined) == (Level.SECRET, True)
    assert item.allowed == {"agent:a", "coder"}


@pytest.mark.parametrize(
    "fields", [{"roles": [1]}, {"actors": "x"}, {"land": [None, 3]}, {"trusted": {"a": 1}}]
)
def test_an_ill_typed_policy_is_read_without_raising_and_grants_nothing_more(fields: dict[str, Any]) -> None:
    policy = policy_of(fields)
    assert not trusted(policy, ANA)
    assert not decide(policy, CLAUDE, issue(), Right.ADMIN).allowed


def test_what_is_made_from_items_inherits_the_highest_level() -> None:
    assert highest([Level.INTERNAL, Level.CONFIDENTIAL, Level.PUBLIC]) is Level.CONFIDENTIAL
    assert highest([]) is Level.PUBLIC


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("issues/**", "issues/2026-11/a.md", True),
        ("issues/*", "issues/2026-11/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "a/b/c.md", True),
        ("knowledge/agent-?/x.md", "knowledge/agent-a/x.md", True),
        ("a.md", "aXmd", False),
    ],
)
def test_globs_respect_folders(pattern: str, path: str, matches: bool) -> None:
    assert path_matches(pattern, path) is matches


names = st.sampled_from(
    ["member:ana", "member:bob", "agent:claude", "agent:codex", "agent:lead", "system:runner"]
)
items = st.builds(
    Item,
    kind=st.sampled_from(list(Kind)),
    name=st.sampled_from(["x", "agent-claude/x", "workspace/x"]),
    path=st.sampled_from(["issues/x.md", "runs/r.md", "knowledge/agent-claude/x.md"]),
    level=st.sampled_from(list(Level)),
    project=st.sampled_from([None, "web", "ops"]),
    creator=st.one_of(st.none(), names),
    allowed=st.frozensets(names, max_size=2),
    quarantined=st.booleans(),
)


@given(names.map(parse_actor), items, st.sampled_from(list(Right)))
def test_adding_a_denial_never_allows_more(actor: Actor, item: Item, right: Right) -> None:
    denying = policy_of({"actors": {str(actor): {"role": "owner", "deny": [{}]}}})
    assert not decide(denying, actor, item, right).allowed


@given(names.map(parse_actor), items)
def test_a_secret_item_goes_only_to_its_creator_orchestrators_and_gitmem_itself(
    actor: Actor, item: Item
) -> None:
    secret = replace(item, level=Level.SECRET)
    if decide(TEAM, actor, secret).allowed and str(actor) != item.creator:
        assert TEAM.role_name(actor) in {"orchestrator", "system"}


@given(items, names.map(parse_actor))
def test_no_agent_ever_reads_a_quarantined_item(item: Item, actor: Actor) -> None:
    if item.quarantined and actor.kind is ActorKind.AGENT:
        assert not decide(NO_FILE, actor, item).allowed
