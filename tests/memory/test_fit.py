from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitmem.memory.fit import Corpus, Fit, Part, fit, is_generic, kin_of, most_telling, terms_of
from gitmem.memory.terms import stems, words

NOTHING = Corpus(0, lambda _: 0)
TEXT = st.text(alphabet=st.characters(codec="utf-8"), max_size=60)


def judged(title: str, name: str, *, body: str = "", about: str = "") -> Fit:
    query = [Part("title", title, 1.0), Part("body", body, 0.5)]
    document = [Part("name", name, 1.0), Part("description", about, 0.8)]
    asked, found = terms_of([query, document])
    return fit(most_telling(asked, NOTHING), found, NOTHING)


def test_the_same_words_fit_in_full() -> None:
    result = judged("Renew the staging certificate", "renew-staging-certificate")
    assert result.fits
    assert result.score == 1.0
    assert result.answered == 1.0


def test_one_rare_word_in_common_is_a_coincidence() -> None:
    assert not judged("Paint the staging of the theatre blue", "renew-staging-certificate").fits


def test_generic_words_alone_never_fit() -> None:
    assert not judged(
        "Fix the failing test of the new feature", "update-test-setup", body="The build is broken."
    ).fits


def test_one_telling_word_is_enough_where_it_is_all_that_is_asked() -> None:
    assert judged("Kubernetes", "kubernetes-rollout").fits
    assert not judged("Publish it", "rotate-key", about="Publish both keys for a week.").fits


def test_a_synonym_counts_less_than_the_word() -> None:
    same = judged("flaky login", "flaky-login")
    kin = judged("intermittent signin", "flaky-login")
    assert kin.fits
    assert 0 < kin.evidence < same.evidence
    assert {(match.asked.word, match.found.word) for match in kin.matches} == {
        ("intermittent", "flaky"),
        ("signin", "login"),
    }


def test_an_abbreviation_meets_its_word() -> None:
    assert [match.found.word for match in judged("cert", "certificate").matches] == ["certificate"]


def test_a_word_of_every_document_tells_little() -> None:
    rare, common = Corpus(200, lambda _: 0), Corpus(200, lambda _: 200)
    assert common.weight("login") < rare.weight("login") / 3
    assert rare.weight("login") == rare.unseen
    assert NOTHING.weight("test") < NOTHING.weight("login") / 2


def test_words_come_apart_as_code_is_written() -> None:
    assert set(words("fixLoginTest in src/auth_flow.py")) >= {
        "fix",
        "login",
        "test",
        "auth",
        "flow",
        "fixlogintest",
    }
    assert "https" not in words("see https://example.org/login")
    assert {"登录", "录测", "测试"} <= set(words("登录测试"))


def test_stems_are_those_of_the_index() -> None:
    assert stems(["fails", "failing", "ärger"]) == {"fails": "fail", "failing": "fail", "ärger": "arger"}
    assert stems([]) == {}


def test_word_lists_are_known_by_their_stems() -> None:
    assert is_generic(stems(["updating"])["updating"])
    assert "intermitt" in kin_of("flaki")


@given(TEXT, TEXT, TEXT, TEXT)
def test_any_texts_are_judged_within_bounds(title: str, body: str, name: str, about: str) -> None:
    result = judged(title, name, body=body, about=about)
    assert 0 <= result.score <= 1
    assert result.evidence >= 0
    assert 0 <= result.answered <= 1.000001
    assert len({match.asked.stem for match in result.matches}) == len(result.matches)
    assert len({match.found.stem for match in result.matches}) == len(result.matches)


@given(TEXT, TEXT)
def test_what_is_judged_twice_is_judged_the_same(title: str, name: str) -> None:
    assert judged(title, name) == judged(title, name)


@given(st.lists(TEXT, max_size=20))
def test_every_word_has_a_stem(texts: list[str]) -> None:
    found = [word for text in texts for word in words(text)]
    assert set(stems(found)) == set(found)
