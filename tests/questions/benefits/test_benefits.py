"""Exchange rates, trends over size and sentences over hand-made tables whose answers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_1samp

from core.cave.reading import judge
from core.cave.world import WORLD
from core.encoders.encoder import ModelCard
from core.questions.benefits import (
    AMPLIFICATION,
    BELOW,
    BEYOND,
    DISTANCE,
    IMPOSSIBLE,
    MEAN,
    NO_CAPTION,
    REAL,
    SEVERAL,
    SHUFFLED,
    Learner,
    amplification,
    controls,
    distance,
    equal_share,
    exchange,
    in_short,
    learner_of,
    overview,
    shares,
    size_findings,
    transfer_findings,
    transfer_verdicts,
    uniform_distance,
    with_trends,
)
from core.questions.finding import Finding
from core.statistics.intervals import t_test

SHARES = np.array([1 / 16, 1 / 4, 1.0])


def test_equal_share_lies_on_the_curve_and_never_beyond_it() -> None:
    curve = np.array([0.1, 0.3, 0.4])
    assert equal_share(SHARES, curve, 0.2) == (pytest.approx(1 / 8), "")
    assert equal_share(SHARES, curve, 0.3)[0] == pytest.approx(1 / 4)
    assert equal_share(SHARES, curve, 0.41)[1] == BEYOND
    assert equal_share(SHARES, curve, 0.09)[1] == BELOW
    assert np.isnan(equal_share(SHARES, curve, np.nan)[0])


def test_no_share_is_made_up_where_a_curve_is_flat_or_bends() -> None:
    assert equal_share(SHARES, np.array([0.1, 0.1, 0.1]), 0.1)[1] == SEVERAL
    bent = np.array([0.1, 0.3, 0.1])
    assert equal_share(SHARES, bent, 0.2)[1] == SEVERAL
    assert equal_share(SHARES, bent, 0.3)[0] == pytest.approx(1 / 4)


def test_the_interval_and_p_are_students() -> None:
    mean, low, high, p = t_test(np.array([1.0, 2.0, 3.0]))
    assert p == pytest.approx(ttest_1samp([1.0, 2.0, 3.0], 0).pvalue)
    assert (mean, low) == (2.0, pytest.approx(2 - 4.302653 / np.sqrt(3), abs=1e-5))
    assert high == pytest.approx(4 - low)
    assert np.isnan(t_test(np.array([1.0]))[1:]).all()
    assert np.isnan(t_test(np.array([1.0, 1.0, 1.0]))[1:]).all()


def family(gain: float) -> tuple[list[Learner], pd.Series]:
    """Return vision learners at three shares and seeds, each about `gain` better with transfer."""
    every, values = [], {}
    for seed in range(3):
        for place, share in enumerate(SHARES):
            for teacher in ("", "gpt"):
                name = f"{share}{teacher}#{seed}"
                every.append(Learner(name, "vision", "ViT", float(share), seed, teacher))
                values[name] = (
                    0.2
                    + 0.1 * place
                    + 0.001 * seed
                    + (gain + 1e-4 * (seed - 1) if teacher else 0.0)
                )
    return every, pd.Series(values)


def test_exchange_rate_is_data_per_event_shown() -> None:
    table = exchange(*family(0.05))
    means = table[table["seed"] == MEAN].set_index("share")
    assert means["gain"].to_numpy() == pytest.approx([0.05] * 3)
    assert means["rate"].to_numpy()[:2] == pytest.approx(
        [1.0, 1.0], abs=0.01
    )  # half-way in log N: twice N
    assert means["reason"].iloc[2] == f"3 of 3 seeds: {BEYOND}"
    assert (means["events"] == means["shown"]).all()
    helped, worth = gains(table), transfer_findings(table)[1::2]
    assert [one.verdict for one in helped] == ["supported"] * 3
    assert [one.value for one in worth[:2]] == pytest.approx([1.0, 1.0], abs=0.01)
    assert worth[2].reason == f"3 of 3 seeds: {BEYOND}"


def gains(table: pd.DataFrame) -> list[Finding]:
    """Return whether transfer helps, by share."""
    return [one for one in transfer_findings(table) if one.expected]


def test_no_gain_is_open_and_harm_contradicts() -> None:
    rng = np.random.default_rng(0)
    every, values = family(0.0)
    noisy = values + rng.normal(0, 0.01, len(values))
    assert {one.verdict for one in gains(exchange(every, noisy))} == {"open"}
    assert {one.verdict for one in gains(exchange(*family(-0.05)))} == {"contradicted"}
    assert gains(exchange([], values)) == []


def test_transfer_helps_or_hurts_in_one_idle_world_of_twenty() -> None:
    rng = np.random.default_rng(0)

    def verdicts(gain: float, noise: float) -> set[str]:
        every, values = family(gain)
        return {
            one.verdict
            for one in gains(exchange(every, values + rng.normal(0, noise, len(values))))
        }

    idle = [verdicts(0.0, 0.01) != {"open"} for _ in range(100)]
    assert np.mean(idle) <= 0.05 + 2 * 0.0218
    assert np.mean(["supported" in verdicts(0.05, 0.005) for _ in range(20)]) >= 0.9


def test_a_share_whose_learners_were_not_all_measured_is_unknown() -> None:
    every, values = family(0.05)
    left_out = next(one.model for one in every if not one.teacher and one.share == 1)
    found = gains(exchange(every, values.drop(left_out)))
    assert [one.verdict for one in found] == ["supported", "supported", "unknown"]
    assert "nan" not in found[2].sentence


def sized(rise: float) -> pd.DataFrame:
    """Return three families in three sizes and two seeds, `rise` more per tenfold."""
    rng = np.random.default_rng(1)
    rows = [
        {
            "measure": DISTANCE,
            "model": f"{line}-{size}#{seed}",
            "title": line,
            "line": line,
            "recipe": f"{line}-{size}",
            "parameters": 10.0**size,
            "value": 0.5 + rise * (size - 5) + rng.normal(0, 0.01),
            "reason": "",
        }
        for line in ("a", "b", "c")
        for size in (5.0, 5.5, 6.0)
        for seed in range(2)
    ]
    second = [row | {"measure": AMPLIFICATION, "value": 0.0} for row in rows]
    return with_trends(pd.DataFrame(rows + second), draws=199, seed=0)


def test_trends_take_one_value_per_recipe() -> None:
    table = sized(-0.2)
    row = table.iloc[0]
    assert row["rise"] == pytest.approx(-0.2, abs=0.03)
    assert row["recipes"] == 9
    assert row["p"] <= 0.05
    for rise, verdict in ((-0.2, "supported"), (0.2, "contradicted"), (0.0, "open")):
        assert size_findings(sized(rise))[0].verdict == verdict


def test_distance_and_amplification() -> None:
    law = np.array([0.4, 0.4, 0.2])
    assert distance(law, law) == 0
    assert distance(np.array([1.0, 0, 0]), law) == pytest.approx(0.6)
    assert amplification(np.array([0.5, 0.5, 0.0]), law) == pytest.approx(0.2)
    assert amplification(np.ones(3) / 3, law) == pytest.approx(-2 / 15)


def test_the_first_caption_of_a_text_is_judged() -> None:
    judged = judge("A red car. Three cars and two boats. At dawn, a ca")
    assert (judged.text, judged.verdict) == ("A red car.", "possible")
    assert judge("Three cars and two boats. A red car.").why == "number"
    assert judge("Red a car. A boat.").verdict == "no caption"
    verdicts = ["possible", "possible", "impossible", "no caption"]
    assert shares(verdicts) == {IMPOSSIBLE: pytest.approx(1 / 3), NO_CAPTION: 0.25}
    assert np.isnan(shares(["no caption"])[IMPOSSIBLE])


def test_controls_find_nothing_in_real_captions_and_no_caption_in_shuffled_words() -> None:
    rates = {
        title: shares([judge(text).verdict for text in texts])
        for title, texts in controls(WORLD).items()
    }
    assert rates[REAL] == {IMPOSSIBLE: 0, NO_CAPTION: 0}
    assert rates[SHUFFLED][NO_CAPTION] > 0.95


def test_only_trainings_that_differ_in_data_and_teacher_are_compared() -> None:
    def card(name: str, **config: object) -> ModelCard:
        whole = {"name": name, "steps": 5, "size": "xs", **config}
        training = {"steps": 5, "config": whole}
        layers = ("embedding",)
        return ModelCard(
            name, name, "vision", f"timm:{name}", "ViT", "multitask", 1, "w", layers, training
        )

    about = learner_of(card("taught", teacher="gpt2-s", varies="transfer", data=0.25, seed=2))
    assert about == Learner("taught", "vision", "ViT XS multitask", 0.25, 2, "gpt2-s")
    assert learner_of(card("usual")) == Learner("usual", "vision", "ViT XS multitask", 1.0, 0, "")
    assert learner_of(card("wide", varies="width")) is None
    assert learner_of(card("copy", steps=9)) is None
    assert learner_of(card("tuned", start="other")) is None


def test_a_verdict_says_whether_transfer_helps_hurts_or_does_neither() -> None:
    def claim(gain: float, noise: float) -> str:
        every, values = family(gain)
        values = values + np.random.default_rng(0).normal(0, noise, len(values))
        (found,) = transfer_verdicts(exchange(every, values))
        return found.claim

    assert claim(0.05, 0.001).startswith("transfer from captions helps vision models with ")
    assert claim(-0.05, 0.001).startswith("transfer from captions hurts vision models with ")
    assert (
        claim(0.0, 0.01)
        == "transfer from captions has no clear effect on vision models with all the training data"
    )


def test_a_verdict_has_its_share_of_the_data_and_an_adjusted_p() -> None:
    """The share is the one with the largest change that is sure, and all if none is."""
    every, values = family(0.05)
    (found,) = transfer_verdicts(table := exchange(every, values))
    row = table[(table["seed"] == MEAN) & (table["gain_q"] < 0.05)]
    row = row.loc[row["gain"].abs().idxmax()]
    share = "all" if row["share"] == 1 else f"1/{1 / row['share']:.0f} of"
    assert (
        found.claim == f"transfer from captions helps vision models with {share} the training data"
    )
    assert (found.value, found.p) == (row["gain"], row["gain_q"])
    assert "q " in found.line


def test_uniform_colors_are_half_the_summed_difference_from_the_law():
    law = pd.DataFrame({"kind": ["car", "car", "tree", "tree"], "law": [1.0, 0.0, 0.5, 0.5]})
    assert uniform_distance(law) == pytest.approx((0.5 + 0.0) / 2)


def test_the_verdict_is_one_sentence_with_what_is_sure_first_and_what_is_missing_last():
    trend = {"name": "change", "n": 9, "expected": "-"}
    less = Finding("larger language models are less biased", -0.3, p=0.01, **trend)
    open_ = Finding("larger language models hallucinate less", -0.1, p=0.5, **trend)
    harm = Finding("transfer from images hurts language models with 1/4 of the training data", -0.1)
    none = Finding("transfer from captions has no clear effect on vision models", 0.1, p=0.9)
    assert in_short([harm, none, less, open_]) == [
        "Larger models are less biased; transfer from images hurts language models with 1/4 of the"
        " training data; hallucination and transfer from captions: no clear effect."
    ]
    more = Finding("larger language models hallucinate less", 0.1, p=0.01, **trend)
    unknown = Finding("No learner was trained")
    assert in_short([unknown, more]) == [
        "Larger language models hallucinate more.",
        "No learner was trained.",
    ]


def test_each_line_over_size_has_its_name_and_each_panel_its_test():
    rows = [
        ("bias", f"{family} language", size, y / size)
        for family, y in (("GPT-2", 3.0), ("LLaMA", 6.0))
        for size in (10.0, 20.0)
    ]
    table = pd.DataFrame(rows, columns=["panel", "line", "x", "y"])
    table = table.assign(modality="language", title="", low=np.nan, high=np.nan, p=0.02, rise=-0.1)
    for narrow in (False, True):
        figure = overview(table, 0.7).draw("light", narrow=narrow)
        texts = [text for trace in figure.data for text in trace.text or () if text]
        assert texts == ["GPT-2", "LLaMA"]
        assert "−0.100, p = .02" in figure.layout.annotations[0].text


def test_intervals_of_transfer_stand_next_to_each_other():
    kinds = [("language", 0.01), ("vision", 0.02)]
    rows = [(kind, kind, share, gain) for kind, gain in kinds for share in (1 / 16, 1.0)]
    table = pd.DataFrame(rows, columns=["modality", "line", "x", "y"])
    table = table.assign(panel="transfer", title="", low=-0.1, high=0.1, p=0.5, rise=np.nan)
    figure = overview(table).draw("light")
    dots = [trace.x for trace in figure.data if trace.mode == "markers" and len(trace.x) == 2]
    assert len({tuple(x) for x in dots}) == 2
    assert figure.layout.annotations[0].text.count("all data") == 2  # at their true share
