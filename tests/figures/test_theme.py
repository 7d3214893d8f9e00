"""Colors stay apart for everyone, sizes follow the count, and data is escaped."""

import itertools
import math

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

from core.figures.palette import FAMILIES, OBJECTIVES, Look, assign, look_of, show
from core.figures.theme import (
    INK,
    hue,
    mark_sizes,
    plain,
    proportional_sizes,
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


@pytest.mark.parametrize("sight", SEEN_AS)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("palette", [OBJECTIVES, FAMILIES], ids=["objectives", "families"])
def test_any_two_hues_of_a_palette_differ_whatever_one_sees(palette, mode, sight):
    colors = [oklab(SEEN_AS[sight] @ linear(pair[MODES.index(mode)])) for pair in palette.values()]
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(colors, 2)) > 0.1


@pytest.mark.parametrize("mode", MODES)
def test_marks_and_text_stand_out_from_the_paper(mode):
    ink = INK[mode]
    marks = [pair[MODES.index(mode)] for pair in (*OBJECTIVES.values(), *FAMILIES.values())]
    assert min(contrast(color, ink.paper) for color in [*marks, ink.chance]) > 3.0
    assert min(contrast(color, ink.paper) for color in (ink.text, ink.soft, ink.ember)) > 4.5


@pytest.mark.parametrize("mode", MODES)
def test_the_scale_changes_lightness_in_one_direction(mode):
    steps = np.diff([oklab(linear(color))[0] for color in INK[mode].scale])
    assert (steps < 0).all() if mode == "light" else (steps > 0).all()


@pytest.mark.parametrize(
    ("one", "same"),
    [
        ("MAE", "masked autoencoder"),
        ("DINO", "SimCLR"),
        ("GPT-2", "gpt"),
        ("CLIP fine-tuned", "clip-ft"),
        ("RoBERTa", "BERT"),
    ],
)
def test_other_words_for_an_objective_or_family_have_its_hue(one, same):
    assert hue(one, "light") == hue(same, "light") != hue("supervised", "light")


def test_an_unknown_family_keeps_its_hue_and_reality_is_ink():
    assert hue("Mamba", "light") == hue("mamba", "light")
    assert hue("reality", "dark") == INK["dark"].text


REAL = ("GPT-2", "OPT", "Mistral", "T5", "Pythia", "Gemma", "Qwen", "LLaMA", "BLOOM", "RoBERTa")
SEEING = ("DINOv2", "SimCLR", "SigLIP", "BYOL", "CLIP", "MAE", "supervised")


@pytest.fixture
def shown():
    """Return a function that draws groups of one dataset as it assigns them."""
    yield lambda names, grouping: show(assign((name, grouping) for name in names))
    show({})


def test_each_of_ten_groups_of_a_dataset_has_a_hue_of_its_own(shown):
    for names, grouping in ((REAL, "family"), (SEEING, "objective")):
        shown(names, grouping)
        assert len({hue(name, "dark") for name in names}) == len(names)
    assert hue("CLIP", "light") == OBJECTIVES["clip"][0]  # no stranger took the hue of a kind


def test_further_groups_change_no_color_and_from_the_eleventh_on_the_marks_change(shown):
    names = [f"family {place}" for place in range(25)]
    few, many = (assign((name, "family") for name in names[:most]) for most in (7, 25))
    assert few.items() <= many.items()
    assert len(set(many.values())) == 25
    shown(names, "family")
    marks = [symbol(name, LANGUAGE) for name in names]
    assert marks == ["circle"] * 10 + ["circle-dot"] * 10 + ["circle-open-dot"] * 5
    assert [go.scatter.Marker(symbol=each).symbol for each in marks] == marks


def test_a_part_of_a_group_has_its_look_or_that_of_its_own_kind_and_untrained_ones_and_reality_none(
    shown,
):
    shown(["supervised", "supervised, fewer tasks", "untrained", "reality"], "objective")
    looks = [
        look_of(name) for name in ("supervised", "supervised, later", "supervised, fewer tasks")
    ]
    assert looks == [Look(OBJECTIVES[kind]) for kind in ("supervised", "supervised", "multitask")]
    assert hue("untrained", "light") not in {light for light, _ in OBJECTIVES.values()}
    assert symbol("supervised", VISION) == "square"


def test_marks_are_sized_over_the_models_shown():
    assert mark_sizes(pd.Series([1e5, 1e6, math.nan])).tolist() == pytest.approx([9, 15, 7])
    published = pd.Series([5.6e8, 7e9, 1.3e10, 6.5e10, 7e10])
    sizes = mark_sizes(published)
    assert sizes.is_monotonic_increasing
    assert sizes.diff().min() > 0  # none is alike another
    assert mark_sizes(pd.Series([1e4, 1e8])).tolist() == pytest.approx([9, 26])
    assert mark_sizes(pd.Series([3e7, 3e7])).tolist() == [9, 9]
    assert proportional_sizes(pd.Series([1e9, 1e10, math.nan])).tolist() == [4, 26, 7]


def test_labels_escape_markup_and_break_lines():
    assert plain("<b>a & b</b>") == "&lt;b&gt;a &amp; b&lt;/b&gt;"
    assert wrap("one two three", 8) == "one two<br>three"


def test_data_is_no_markup_no_template_and_no_control():
    assert plain("<b>%{meta.title}</b> & \x1b\u202e") == (
        "&lt;b&gt;%&#123;meta.title}&lt;/b&gt; &amp; \\x1b\\u202e"
    )
