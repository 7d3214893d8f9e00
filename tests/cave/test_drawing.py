"""The Cave's pictures show what is the case by shapes, and nothing of it by palette, light or
viewpoint.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from core.cave.drawing import (
    _LAB_TO_LMS,
    _LMS_TO_RGB,
    TEXTURES,
    draw,
    draw_look,
    seen_color,
    to_rgb,
)
from core.cave.events import (
    KINDS,
    SCENES,
    TEST_SIZE,
    TIMES,
    WEATHERS,
    Event,
    Thing,
    draw_event,
    event_rng,
    events,
    reality,
)

pytestmark = pytest.mark.slow

NEIGHBORS = 10
CHANCE = NEIGHBORS / (TEST_SIZE - 1)


@pytest.fixture(scope="module")
def held_out() -> list[Event]:
    return list(events("test", TEST_SIZE))


@pytest.fixture(scope="module")
def pictures(held_out: list[Event]) -> np.ndarray:
    """Return every test picture at the models' 48 px, as numbers from 0 to 1."""
    return np.stack([_pixels(draw(event, size=48)) for event in held_out]) / 255


def _pixels(image: Image.Image) -> np.ndarray:
    return np.asarray(image, dtype=np.float64)


def _event(*things: Thing, index: int = 0, **case: str) -> Event:
    return replace(Event("test", index, "farm", "noon", "clear", things), **case)


def _thing(**look: object) -> Thing:
    return replace(Thing("ball", 225.0, 0.5, 0.5, 0.3, "right"), **look)


def _footprint(thing: Thing, index: int = 0) -> np.ndarray:
    """Return where a thing changes the picture of its event, as a mask of 96 × 96 pixels."""
    with_thing, without = (
        _pixels(draw(event, size=96)) for event in (_event(thing, index=index), _event(index=index))
    )
    return np.abs(with_thing - without).max(axis=2) > 12


def _center(mask: np.ndarray) -> tuple[float, float]:
    rows, columns = np.nonzero(mask)
    return columns.mean() / mask.shape[1], rows.mean() / mask.shape[0]


def _overlap(x: np.ndarray, y: np.ndarray) -> float:
    """Return the mutual nearest neighbors of two spaces, 0 … 1."""
    near = []
    for space in (x, y):
        rows = space / np.linalg.norm(space, axis=1, keepdims=True)
        products = rows @ rows.T
        np.fill_diagonal(products, -np.inf)
        near.append(np.argsort(-products, axis=1)[:, :NEIGHBORS])
    return float(np.mean([len(set(a) & set(b)) / NEIGHBORS for a, b in zip(*near, strict=True)]))


def to_lch(rgb: np.ndarray) -> np.ndarray:
    """Return 8-bit sRGB colors as OKLCH rows: the inverse of `to_rgb`."""
    coded = rgb / 255
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(linear @ np.linalg.inv(_LMS_TO_RGB)) @ np.linalg.inv(_LAB_TO_LMS)
    lightness, a, b = lab.T
    return np.stack([lightness, np.hypot(a, b), np.rad2deg(np.arctan2(b, a)) % 360], axis=1)


def world_hue(seen: float) -> float:
    """Return the hue of the world that an OKLCH hue shows, in degrees: the inverse of
    `seen_color`.
    """
    world = np.arange(0.0, 360.0, 0.5)
    return float(
        world[np.argmin([abs((seen_color(hue)[2] - seen + 180) % 360 - 180) for hue in world])]
    )


@pytest.mark.parametrize("index", range(12))
def test_every_size_shows_the_same_picture(index: int) -> None:
    event = draw_event("test", index)
    reduced = draw(event).resize((48, 48), Image.Resampling.BICUBIC)
    assert np.abs(_pixels(reduced) - _pixels(draw(event, size=48))).mean() < 6


@pytest.mark.parametrize("index", range(4))
def test_a_thing_stands_where_it_is(index: int) -> None:
    x, y = (
        _center(_footprint(_thing(x=0.1, depth=0.1), index)),
        _center(_footprint(_thing(x=0.9, depth=0.1), index)),
    )
    assert y[0] - x[0] > 0.4
    near, far = (_footprint(_thing(depth=depth), index) for depth in (0.0, 1.0))
    assert _center(near)[1] - _center(far)[1] > 0.1
    assert near.sum() > 1.3 * far.sum()


@pytest.mark.parametrize(
    ("factor", "values"), [("scene", SCENES), ("time", TIMES), ("weather", WEATHERS)]
)
def test_every_place_time_and_weather_shows(factor: str, values: tuple[str, ...]) -> None:
    drawn = [_pixels(draw(_event(**{factor: value}), size=96)) for value in values]
    apart = [
        (np.abs(a - b).max(axis=2) > 12).mean() for i, a in enumerate(drawn) for b in drawn[:i]
    ]
    assert min(apart) > 0.015


@pytest.mark.parametrize("index", range(3))
def test_what_is_the_case_leaves_the_look_alone(index: int) -> None:
    looks = [
        draw_look(event_rng(_event(index=index, time=time, weather=weather), purpose="image"))
        for time, weather in zip(TIMES, WEATHERS, strict=True)
    ]
    assert all(look.palette == looks[0].palette and look.light == looks[0].light for look in looks)
    assert looks[0].texture in TEXTURES


@pytest.fixture(scope="module")
def backdrops(held_out: list[Event]) -> np.ndarray:
    """Return the mean color and the mean and median brightness of every test picture without its
    things, whose hues are Z's.
    """
    flat = np.stack(
        [_pixels(draw(replace(event, things=()), size=32)) for event in held_out]
    ).reshape(TEST_SIZE, -1, 3)
    return np.column_stack(
        [flat.mean(axis=1), flat.mean(axis=(1, 2)), np.median(flat.mean(axis=2), axis=1)]
    )


@pytest.mark.parametrize(
    ("factor", "values"), [("scene", SCENES), ("time", TIMES), ("weather", WEATHERS)]
)
def test_palette_and_brightness_tell_nothing(
    factor: str, values: tuple[str, ...], held_out: list[Event], backdrops: np.ndarray
) -> None:
    labels = np.array([values.index(getattr(event, factor)) for event in held_out])
    probe = make_pipeline(
        StandardScaler(), LogisticRegression(class_weight="balanced", max_iter=500)
    )
    found = cross_val_score(probe, backdrops, labels, cv=5, scoring="balanced_accuracy").mean()
    # four standard errors of 1,024 answers
    assert found < 1 / len(values) + 0.055


@pytest.mark.parametrize("kind", KINDS)
def test_a_drawn_color_deserves_its_name(kind: str) -> None:
    for index, hue in enumerate(np.arange(8) * 45.0 + np.tile((0.0, 15.0, -15.0, 8.0), 2)):
        thing = _thing(kind=kind, hue=float(hue % 360), size=1.0, depth=0.0)
        drawn = _pixels(draw(_event(thing, index=index), size=96))[_footprint(thing, index)]
        vivid = drawn[to_lch(drawn)[:, 1] > 0.09]
        seen = float(to_lch(np.median(vivid, axis=0)[None])[0, 2])
        assert replace(thing, hue=world_hue(seen)).color == thing.color


def test_oklch_is_the_published_space() -> None:
    # the sRGB primaries and white as given by CSS Color 4
    colors = [
        (0.62796, 0.25768, 29.234),
        (0.86644, 0.29483, 142.495),
        (0.45201, 0.31321, 264.052),
        (1.0, 0.0, 0.0),
    ]
    rgb = [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)]
    assert to_rgb(colors) == rgb
    assert to_lch(np.array(rgb, dtype=np.float64))[:3] == pytest.approx(
        np.array(colors)[:3], abs=2e-3
    )


def test_raw_pixels_do_not_give_the_world_away(held_out: list[Event], pictures: np.ndarray) -> None:
    world = np.stack([reality(event) for event in held_out])
    assert _overlap(world, world) == 1.0
    assert CHANCE / 2 < _overlap(pictures.reshape(len(pictures), -1), world) < 3 * CHANCE
