"""Sentences from small tables: each says what holds, and what speaks against the published work."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.questions.dispersion import findings

TITLES = {"a:1": "ViT A", "b:1": "DINO-v2 B", "c:1": "CLIP C"}


def tell_effect(table: pd.DataFrame, *, higher_is_better: bool = True) -> str:
    return " ".join(findings.effect(table, higher_is_better=higher_is_better))


def tell_drop(table: pd.DataFrame, *, repeats: int, higher_is_better: bool = True) -> str:
    return " ".join(findings.drop(table, repeats=repeats, higher_is_better=higher_is_better))


def tell_parts(table: pd.DataFrame) -> str:
    return " ".join(findings.parts(table))


def tell_words(table: pd.DataFrame) -> str:
    return " ".join(findings.words(table))


def tell_held_out(table: pd.DataFrame) -> str:
    return " ".join(findings.held_out(table))


def ratios(*rows: tuple[float, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["score", "low", "high"]).assign(
        vision=list(TITLES.values())[: len(rows)], language=""
    )
    single = table.assign(
        language="gpt", score=99.0
    )  # the ratio of one language model counts for nothing
    return pd.concat([table, single]).assign(set="low/high")


def test_ratios_above_below_and_about_one_are_told_apart():
    said = tell_effect(ratios((1.62, 1.3, 1.9), (0.7, 0.6, 0.9), (1.1, 0.9, 1.4)))
    assert "better aligned than the high one for 1 of 3 models: ViT A (ratio 1.62)." in said
    assert "The reverse holds for 1 of 3 models: DINO-v2 B (ratio 0.70)." in said
    assert "cannot be distinguished for 1 of 3 models: CLIP C (ratio 1.10)." in said
    assert "Because 3 models are tested, this is judged by wider intervals" in said
    assert said.endswith("The largest ratio is 1.62; the published work found up to 2 with CKNNA.")


def test_an_interval_that_leaves_out_1_alone_does_not_among_several():
    """By hand: of two models the bounds are 2.2414 / 1.96 times as far, on the scale of
    logarithms.
    """
    one = (1.5, 1.5 * np.exp(-0.38), 1.5 * np.exp(0.38))  # log 1.5 = 0.405
    assert "better aligned than the high one for ViT A (ratio 1.50)." in tell_effect(ratios(one))
    assert "wider intervals" not in tell_effect(ratios(one))
    assert "cannot be distinguished for 2 of 2 models: ViT A (ratio 1.50)" in tell_effect(
        ratios(one, one)
    )
    near = (1.5, 1.5 * np.exp(-0.35), 1.5 * np.exp(0.35))  # 0.35 · 1.1436 = 0.4003 < 0.405
    assert "better aligned than the high one for 2 of 2 models" in tell_effect(ratios(near, near))


def dropped(*scores: tuple[float, float, float]) -> pd.DataFrame:
    rows = [
        {
            "vision": vision,
            "language": "",
            "set": name,
            "score": score,
            "p": 0.04 if abs(score - three[1]) > 0.1 else 0.5,
        }
        for vision, three in zip(TITLES.values(), scores, strict=False)
        for name, score in zip(
            ("without high", "without random", "without low"), three, strict=True
        )
    ]
    return pd.DataFrame(rows)


def test_leaving_out_agrees_with_the_published_work_where_every_model_does_both_beyond_chance():
    said = tell_drop(dropped((0.4, 0.2, 0.05), (0.45, 0.3, 0.1)), repeats=50)
    assert "better without the most dispersed ones in 2 of 2 models (beyond chance in 2)" in said
    assert said.endswith(
        "worse without the least dispersed ones in 2 of 2 (beyond chance in 2): both in every"
        " model, and beyond chance."
    )


def test_too_few_random_sets_are_said_to_be_too_few():
    said = tell_drop(dropped((0.4, 0.2, 0.15)).assign(p=2 / 39), repeats=38)
    assert "both in every model, not beyond chance in every one" in said
    assert said.endswith(". 38 random sets are too few to judge chance; 39 are needed.")
    assert "beyond chance in" not in said.replace("not beyond chance in every one", "")
    assert "both in every model, and beyond chance" in tell_drop(
        dropped((0.4, 0.2, 0.15)).assign(p=2 / 40), repeats=39
    )


def test_without_any_effect_the_claim_is_rarely_made():
    rng = np.random.default_rng(0)
    claimed = 0
    for _ in range(80):
        drawn, (high, low) = rng.normal(size=50), rng.normal(size=2)
        table = dropped((high, drawn.mean(), low))
        p = {
            "without high": tail_of(high, drawn),
            "without low": tail_of(low, drawn),
            "without random": np.nan,
        }
        claimed += "and beyond chance" in tell_drop(table.assign(p=table["set"].map(p)), repeats=50)
    assert claimed <= 1


def tail_of(value: float, drawn: np.ndarray) -> float:
    return min(
        1.0, 2 * (1 + min((drawn >= value).sum(), (drawn <= value).sum())) / (len(drawn) + 1)
    )


def parts(**scores: list[float]) -> pd.DataFrame:
    rows = [
        {
            "vision": TITLES[f"{name}:1"],
            "language": language,
            "set": str(part),
            "score": score + (language == "gpt"),
        }
        for name, run in scores.items()
        for part, score in enumerate(run, start=1)
        for language in ("", "gpt")
    ]
    return pd.DataFrame([*rows, {"vision": "ViT A", "language": "", "set": "full", "score": 9.0}])


def test_trends_along_the_parts_are_told_by_rank():
    said = tell_parts(
        parts(a=[0.9, 0.5, 0.4, 0.3, 0.2, 0.1], b=[1, 2, 3, 4, 5, 60], c=[1, 5, 2, 4, 3, 1.5])
    )
    assert (
        said == "The score falls with dispersion for ViT A (ρ = −1.00). It rises for DINO-v2 B (ρ ="
        " 1.00). "
        "No trend can be distinguished from chance for CLIP C (ρ = 0.03)."
    )


def test_few_parts_are_tested_exactly():
    """ρ = −0.9 of five parts: 10 of the 120 orders are as far from 0, so p = 0.083; the t
    approximation gives 0.037.
    """
    said = tell_parts(parts(a=[0.5, 0.4, 0.3, 0.1, 0.2]))
    assert said == "No trend can be distinguished from chance for ViT A (ρ = −0.90)."
    assert "falls with dispersion for ViT A" in tell_parts(parts(a=[0.5, 0.4, 0.3, 0.2, 0.1]))


def test_words_are_named_by_the_set_that_has_them():
    table = pd.DataFrame(
        {
            "word": ["fog", "owl", "a"],
            "in_low": [9, 1, 5],
            "low": 10,
            "in_high": [1, 9, 6],
            "high": 10,
            "p_adjusted": [0.01, 0.02, 0.9],
        }
    )
    assert (
        tell_words(table)
        == "Words that distinguish the two sets: 2 of 3, above all “fog” in the low set; “owl” in"
        " the high set."
    )
    assert tell_words(table.head(1)).endswith("1 of 1, above all “fog” in the low set.")
    assert tell_words(table.assign(p_adjusted=1.0)) == "None of 3 words distinguishes the two sets."


def fits(*rows: tuple[float, float, float, float]) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=["pearson", "pearson_low", "pearson_high", "shuffled_p"])
    return table.assign(
        space=list(TITLES.values())[: len(rows)], shuffled=-0.1, partial=table["pearson"] - 0.05
    )


SURE, CHANCE, INVERSE = (0.5, 0.4, 0.6, 0.005), (0.2, 0.1, 0.3, 0.6), (-0.2, -0.3, -0.1, 1.0)


def test_p_alone_is_no_claim_where_the_interval_holds_0():
    assert "no better than chance" in tell_held_out(fits((0.02, -0.04, 0.08, 0.005)))


def test_an_inverse_relation_is_told_as_one():
    said = tell_held_out(fits(SURE, INVERSE))
    assert "The reverse holds for DINO-v2 B." in said
    assert "no better than chance" in tell_held_out(
        fits((-0.2, -0.3, -0.1, 0.5))
    )  # as low where nothing is shared


def test_p_of_several_models_is_adjusted():
    unsure = (0.2, 0.1, 0.3, 0.03)
    assert "too, in every model" in tell_held_out(fits(unsure))
    assert "held-out" not in tell_held_out(fits(unsure, CHANCE))
