"""Colors stay apart for everyone, sizes follow the count, and data is escaped."""

import itertools
import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from core.figures.palette import (
    CATEGORIES,
    FURTHER,
    SHADES,
    UNTRAINED,
    Look,
    assign,
    look_of,
    show,
)
from core.figures.theme import (
    INK,
    hue,
    mark_sizes,
    plain,
    symbol,
    wrap,
)
from core.modalities import LANGUAGE, VISION

MODES = ("light", "dark")
SEEN_AS = {  # Machado, Oliveira and Fernandes 2009, severity 1
    "all colors": np.eye(3),
    "no red": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "no green": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def linear(color: str) -> np.ndarray:
    rgb = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    to_cones = np.array(
        [[0.41222, 0.53633, 0.05145], [0.21190, 0.68070, 0.10740], [0.08830, 0.28172, 0.62998]]
    )
    to_lab = np.array(
        [[0.21045, 0.79362, -0.00407], [1.97800, -2.42859, 0.45059], [0.02590, 0.78277, -0.80868]]
    )
    return to_lab @ np.cbrt(to_cones @ np.clip(rgb, 0, 1))


def contrast(one: str, other: str) -> float:
    dark, light = sorted(float(linear(color) @ [0.2126, 0.7152, 0.0722]) for color in (one, other))
    return (light + 0.05) / (dark + 0.05)


RAMPS = (*SHADES.values(), FURTHER)


@pytest.mark.parametrize("sight", SEEN_AS)
def test_modalities_differ_whatever_one_sees(sight):
    colors = [oklab(SEEN_AS[sight] @ linear(shades[0])) for shades in RAMPS]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(colors, 2)) > 0.04
    first = [oklab(SEEN_AS[sight] @ linear(SHADES[name][0])) for name in ("vision", "language")]
    assert np.linalg.norm(first[0] - first[1]) > 0.2


def test_shades_of_a_modality_differ_and_are_closer_to_it_than_to_another():
    for shades in RAMPS:
        colors = [oklab(linear(shade)) for shade in shades]
        assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(colors, 2)) > 0.03
    vision, language = (
        [oklab(linear(shade)) for shade in SHADES[name]] for name in ("vision", "language")
    )
    assert min(np.linalg.norm(a - b) for a in vision for b in language) > 0.15
    assert len(set(CATEGORIES)) == 10


@pytest.mark.parametrize("mode", MODES)
def test_marks_and_text_stand_out_from_the_paper(mode):
    ink = INK[mode]
    marks = [shade for shades in RAMPS for shade in shades]
    assert min(contrast(color, ink.paper) for color in [*marks, UNTRAINED, ink.chance]) >= 3.0
    assert min(contrast(color, ink.paper) for color in (ink.text, ink.soft, ink.ember)) > 4.5


@pytest.mark.parametrize("mode", MODES)
def test_the_scale_changes_lightness_in_one_direction(mode):
    steps = np.diff([oklab(linear(color))[0] for color in INK[mode].scale])
    assert (steps < 0).all() if mode == "light" else (steps > 0).all()


def test_an_unknown_family_keeps_its_hue_and_reality_is_ink():
    assert hue("Mamba", "light") == hue("mamba", "dark")
    assert hue("reality", "dark") == INK["dark"].text


@pytest.fixture
def shown():
    """Return a function that draws groups of one dataset as it assigns them."""
    yield lambda names, modality: show(assign((name, modality, "own") for name in names))
    show({})


def test_each_group_of_a_modality_has_a_shade_of_its_own(shown):
    shown(["DINOv2", "SimCLR", "SigLIP", "BYOL", "CLIP", "MAE"], "vision")
    assert [hue(name, "dark") for name in ("DINOv2", "MAE")] == [
        SHADES["vision"][0],
        SHADES["vision"][-1],
    ]


def test_further_groups_change_no_color_and_beyond_the_shades_the_marks_change(shown):
    names = [f"family {place}" for place in range(15)]
    few, many = (
        assign((name, "language", "family") for name in names[:most]) for most in (7, len(names))
    )
    assert few.items() <= many.items()
    assert len(set(many.values())) == len(names)
    shown(names, "language")
    marks = [symbol(name, LANGUAGE) for name in names]
    assert marks == ["circle"] * 6 + ["circle-dot"] * 6 + ["circle-open-dot"] * 3
    assert [go.scatter.Marker(symbol=each).symbol for each in marks] == marks


def test_families_take_no_shade_of_objectives_and_sizes_none_of_a_modality():
    groups = [("MAE", "vision", "objective"), ("ViT", "vision", "family"), ("1B", "", "size")]
    looks = assign(groups)
    assert [looks[name].hue for name in ("mae", "vit", "1b")] == [
        SHADES["vision"][0],
        SHADES["vision"][0],
        FURTHER[0],
    ]


def test_a_part_of_a_group_has_its_look_and_untrained_ones_and_reality_none(shown):
    shown(["supervised", "supervised, fewer tasks", "untrained", "reality"], "vision")
    assert look_of("supervised, later") == look_of("supervised") == Look(SHADES["vision"][0])
    assert hue("untrained", "light") == UNTRAINED
    assert symbol("supervised", VISION) == "square"


def test_marks_are_sized_over_the_models_shown():
    assert mark_sizes(pd.Series([1e5, 1e6, math.nan])).tolist() == pytest.approx([9, 15, 7])
    published = pd.Series([5.6e8, 7e9, 1.3e10, 6.5e10, 7e10])
    sizes = mark_sizes(published)
    assert sizes.is_monotonic_increasing
    assert sizes.diff().min() > 0  # none is alike another
    assert mark_sizes(pd.Series([1e4, 1e8])).tolist() == pytest.approx([9, 26])
    assert mark_sizes(pd.Series([3e7, 3e7])).tolist() == [9, 9]


def test_labels_escape_markup_and_break_lines():
    assert plain("<b>a & b</b>") == "&lt;b&gt;a &amp; b&lt;/b&gt;"
    assert wrap("one two three", 8) == "one two<br>three"
    assert wrap("as found: q = .003, n < 5", 12) == "as found:<br>q = .003,<br>n < 5"


def test_data_is_no_markup_no_template_and_no_control():
    assert plain("<b>%{meta.title}</b> & \x1b\u202e") == (
        "&lt;b&gt;%&#123;meta.title}&lt;/b&gt; &amp; \\x1b\\u202e"
    )
