"""Captions: lengths, wordings, plain English, truth by an independent reader, and what a bag of
words must not give away.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations

import numpy as np
import pytest

from core.cave.captions import DENSITIES, LEVELS, WORDINGS, describe, plural
from core.cave.events import (
    COLORS,
    KINDS,
    SCENES,
    SIZES,
    TIMES,
    WEATHERS,
    Event,
    Thing,
    events,
    reality,
)

pytestmark = pytest.mark.slow

RANGES = {"5": (3, 7), "10": (8, 13), "20": (16, 25), "40": (33, 48)}
COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4}
RELATIONS = {
    "left of": lambda a, b: a.x < b.x,
    "right of": lambda a, b: a.x > b.x,
    "behind": lambda a, b: a.depth > b.depth,
    "in front of": lambda a, b: a.depth < b.depth,
}


@pytest.fixture(scope="module")
def held_out() -> list[Event]:
    return list(events("test", 1024))


@pytest.fixture(scope="module")
def captions(held_out) -> dict[str, list[str]]:
    return {level: [describe(event, level) for event in held_out] for level in LEVELS}


def meanings(concepts, form=lambda wording: wording) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for concept in concepts:
        for wording in WORDINGS[concept]:
            found.setdefault(form(wording), set()).add(concept)
    return found


def alternatives(wordings) -> str:
    return "|".join(re.escape(wording) for wording in sorted(wordings, key=len, reverse=True))


NOUNS = meanings(KINDS)
PLURALS = meanings(KINDS, plural)
ADJECTIVES = {"color": meanings(COLORS), "size": meanings(SIZES)}
NUMBERS = meanings(COUNTS)
PHRASE = (
    rf"(?:(?P<number>{alternatives(NUMBERS)})|an?)"
    rf" (?:(?P<size>{alternatives(ADJECTIVES['size'])}) )?"
    rf"(?:(?P<color>{alternatives(ADJECTIVES['color'])})"
    rf" )?(?P<noun>{alternatives(NOUNS | PLURALS)})(?![\w-])"
    rf"(?: (?:{alternatives(WORDINGS['painted'])})"
    rf" (?P<painted>{alternatives(ADJECTIVES['color'])}))?"
)


def candidates(match: dict[str, str | None], things: tuple[Thing, ...]) -> list[tuple[Thing, ...]]:
    """Return the groups of things that a noun phrase can mean."""
    concept = next(iter(NUMBERS[match["number"]])) if match["number"] else "one"
    kinds = (PLURALS if COUNTS[concept] > 1 else NOUNS)[match["noun"]]
    fit = [
        thing
        for thing in things
        if thing.kind in kinds
        and (not match["color"] or thing.color in ADJECTIVES["color"][match["color"]])
        and (not match["painted"] or thing.color in ADJECTIVES["color"][match["painted"]])
        and (not match["size"] or thing.size_class in ADJECTIVES["size"][match["size"]])
    ]
    return list(combinations(fit, COUNTS[concept]))


def untrue_phrases(text: str, event: Event) -> list[str]:
    return [
        match[0]
        for match in re.finditer(PHRASE, text)
        if not candidates(match.groupdict(), event.things)
    ]


def untrue_relations(text: str, event: Event) -> tuple[list[str], int]:
    wordings = meanings(RELATIONS)
    other = re.sub(r"\?P<(\w+)>", r"?P<\1_2>", PHRASE)
    matches = list(re.finditer(rf"{PHRASE} (?P<relation>{alternatives(wordings)}) {other}", text))
    wrong = []
    for match in matches:
        parts = match.groupdict()
        firsts = candidates(parts, event.things)
        seconds = candidates(
            {name: parts[f"{name}_2"] for name in ("number", "noun", "color", "painted", "size")},
            event.things,
        )
        holds = RELATIONS[next(iter(wordings[parts["relation"]]))]
        if not any(all(holds(a, b) for a in one for b in two) for one in firsts for two in seconds):
            wrong.append(match[0])
    return wrong, len(matches)


@pytest.mark.parametrize("level", LEVELS)
def test_a_density_has_its_length_and_at_least_six_frames(captions, level):
    lengths = [len(text.split()) for text in captions[level]]
    least, most = RANGES[level]
    assert min(lengths) >= least
    assert max(lengths) <= most
    assert np.mean(lengths) == pytest.approx(float(level), rel=0.15)
    assert len(set(DENSITIES[level].frames)) >= 6


def test_every_concept_has_four_wordings_and_all_of_them_occur():
    texts = " ".join(
        describe(event, level) for event in events("train", 800) for level in LEVELS
    ).lower()
    words = Counter(re.findall(r"[a-z-]+", texts))
    forms = {
        wording: (wording, plural(wording))
        for wording in {w for wordings in WORDINGS.values() for w in wordings}
    }
    single = [
        w for w, both in forms.items() if " " not in w and not any(words[form] for form in both)
    ]
    assert [w for w in forms if " " in w and w.lower() not in texts] + single == []
    assert {concept for concept, wordings in WORDINGS.items() if len(set(wordings)) < 4} == set()


@pytest.mark.parametrize("level", LEVELS)
def test_sentences_are_plain_english(captions, level):
    for text in captions[level]:
        assert all(sentence[0].isupper() for sentence in text.split(". "))
        assert text.endswith(".")
        assert not re.search(r"  | ,| \.|\.\.|[{}]", text)
        assert not re.search(r"\ba [aeiou]|\ban [^aeiou]", text, flags=re.IGNORECASE)
        assert not re.search(r"\b(\w+) \1\b", text)


@pytest.mark.parametrize("level", LEVELS)
def test_what_is_said_of_things_is_true(captions, held_out, level):
    wrong = [
        found
        for text, event in zip(captions[level], held_out, strict=True)
        for found in untrue_phrases(text.lower(), event)
    ]
    assert wrong == []


def test_what_is_said_again_is_true(captions, held_out):
    again = (
        rf"the ({alternatives(NOUNS | PLURALS)}) (is|are) ({alternatives(ADJECTIVES['color'])})\."
    )
    found = 0
    for text, event in zip(captions["40"], held_out, strict=True):
        for noun, verb, color in re.findall(again, text.lower()):
            meant = [
                thing
                for thing in event.things
                if thing.kind in (NOUNS if verb == "is" else PLURALS)[noun]
            ]
            right = [thing for thing in meant if thing.color in ADJECTIVES["color"][color]]
            assert len(right) >= (1 if verb == "is" else 2)
            found += 1
    assert found > 500


@pytest.mark.parametrize("level", LEVELS)
def test_relations_are_true(captions, held_out, level):
    found = [
        untrue_relations(text.lower(), event)
        for text, event in zip(captions[level], held_out, strict=True)
    ]
    assert [wrong for wrong, _ in found if wrong] == []
    assert sum(count for _, count in found) >= (1 if level == "5" else 20)


@pytest.mark.parametrize(
    ("factor", "values"), [("scene", SCENES), ("time", TIMES), ("weather", WEATHERS)]
)
def test_scene_time_and_weather_are_true_and_told_at_the_right_densities(
    captions, held_out, factor, values
):
    wordings = meanings(values, str.lower)
    told = {}
    for level in LEVELS:
        pairs = [
            (getattr(event, factor), wordings[found])
            for text, event in zip(captions[level], held_out, strict=True)
            for found in re.findall(rf"\b({alternatives(wordings)})\b", text.lower())
        ]
        assert all(value in meant for value, meant in pairs)
        told[level] = len(pairs) / len(held_out)
    assert told["40"] == 1
    assert told["5"] < told["20"]


def test_facing_and_place_are_true_of_some_thing(captions, held_out):
    for text, event in zip(captions["40"], held_out, strict=True):
        for side in ("left", "right"):
            if any(wording in text for wording in WORDINGS[f"facing {side}"]):
                assert any(thing.facing == side for thing in event.things)
        if any(wording in text.lower() for wording in WORDINGS["far"] if wording != "far away"):
            assert any(thing.depth > 0.7 for thing in event.things)
        if any(wording in text.lower() for wording in WORDINGS["near"]):
            assert any(thing.depth < 0.3 for thing in event.things)


@pytest.mark.parametrize("level", LEVELS)
def test_a_bag_of_words_stays_within_three_times_chance_of_reality(captions, held_out, level):
    words = [Counter(re.findall(r"[a-z-]+", text.lower())) for text in captions[level]]
    vocabulary = sorted(set().union(*words))
    bags = np.array([[bag[word] for word in vocabulary] for bag in words], dtype=float)
    score = mutual_knn(bags, np.stack([reality(event) for event in held_out]))
    assert score < 3 * 10 / 1023


def mutual_knn(x: np.ndarray, y: np.ndarray) -> float:
    def nearest(space: np.ndarray) -> np.ndarray:
        unit = space / np.linalg.norm(space, axis=1, keepdims=True)
        likeness = unit @ unit.T
        np.fill_diagonal(likeness, -np.inf)
        return np.argsort(-likeness, axis=1, kind="stable")[:, :10]

    return float(
        np.mean(
            [len(np.intersect1d(a, b)) / 10 for a, b in zip(nearest(x), nearest(y), strict=True)]
        )
    )
