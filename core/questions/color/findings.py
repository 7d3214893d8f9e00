"""What the tables of colors say, in plain sentences, whichever way it goes."""

from __future__ import annotations

import numpy as np
import pandas as pd

from core.figures.numbers import p_text
from core.modalities import LANGUAGE
from core.questions.color.geometry.agreement import DISSIMILARITIES
from core.questions.color.question import PERCEPTION, ColorAgreement, ColorModels
from core.questions.sentences import listed
from core.statistics.correlations import SURE, Correlation, spearman_interval
from core.statistics.nulls import adjust
from core.study.models import lines


def agreement_findings(_: ColorAgreement, agreement: pd.DataFrame) -> list[str]:
    """Say which sources agree with perception, then how the others agree among each other.

    agreement: as `core.questions.color.answer.compare_colors` returns it.
    """
    sentences = [*perception_findings(agreement), other_findings(agreement)]
    return [sentence for sentence in sentences if sentence]


def model_findings(_: ColorModels, models: pd.DataFrame) -> list[str]:
    """Say how many models know perception, and whether the more competent know it better.

    models: as `core.questions.color.answer.compare_models` returns them.
    """
    by_competence = finished_correlation(models, "competence", "kendall")
    return model_sentences(models, by_competence)


def finished_correlation(models: pd.DataFrame, x: str, y: str) -> Correlation:
    """Return Spearman's ρ of two columns over the models whose training is finished; language
    models of one group, which is their family, are relatives.
    """
    finished = models[~models["copy"] & ~models["untrained"]]
    kin = lines(finished.assign(modality=LANGUAGE.name, family=finished["group"]))
    one, other = (finished[name].to_numpy(np.float64) for name in (x, y))
    return spearman_interval(one, other, [kin[name] for name in finished["model"]])


def perception_findings(agreement: pd.DataFrame) -> list[str]:
    """Say which sources arrange colors as perception does, by Kendall's τ of dissimilarities and
    its adjusted p; pairs without either are left out.
    """
    rows = _ranked(agreement)
    near = rows[(rows["x"] == PERCEPTION) | (rows["y"] == PERCEPTION)]
    near = near.assign(other=near["y"].where(near["x"] == PERCEPTION, near["x"]))
    sure = near["p_adjusted"] < SURE
    sentences = [
        _about(
            f"The {rows['colors'].max()} colors that all sources know are arranged as in"
            " perception, beyond chance, by {}.",
            near[sure & (near["value"] > 0)],
        ),
        _about("Agreement with perception is no better than by chance for {}.", near[~sure]),
    ]
    return [one for one in sentences if one] or ["Nothing could be compared with perception."]


def other_findings(agreement: pd.DataFrame) -> str:
    """Say how many pairs of other sources agree, and which two agree most; "" where there is only
    one other.
    """
    rows = _ranked(agreement)
    rows = rows[(rows["x"] != PERCEPTION) & (rows["y"] != PERCEPTION)]
    if rows.empty:
        return ""
    first, sure = rows.iloc[0], int((rows["p_adjusted"] < SURE).sum())
    return (
        f"Of the {len(rows)} pairs without perception, {sure} agree beyond chance; the most similar"
        f" are {first['x']} and {first['y']} (τ {_number(first['value'])})."
    )


def model_sentences(models: pd.DataFrame, by_competence: Correlation) -> list[str]:
    """Say how many finished, unfinished and untrained models know perception, and whether the more
    competent know it better.
    """
    measured = models.dropna(subset=["kendall", "kendall_p"])
    kinds = {
        "finished": ~measured["copy"] & ~measured["untrained"],
        "unfinished": measured["copy"],
        "untrained": measured["untrained"],
    }
    sure = pd.Series(adjust(measured["kendall_p"].to_numpy(np.float64)) < SURE, measured.index)
    counts = [
        f"{int(sure[rows].sum())} of {int(rows.sum())} {kind} models"
        for kind, rows in kinds.items()
        if rows.any()
    ]
    if not counts:
        return ["No language model here can be asked about colors."]
    return [
        f"{listed(counts)} order color differences as perception does (p < {SURE}, adjusted for"
        f" {len(measured)} models).",
        *_trend(by_competence),
    ]


def _trend(correlation: Correlation) -> list[str]:
    if np.isnan(correlation.low):
        return [
            "Whether more competent models know color better cannot be tested:"
            f" {correlation.reason}."
        ]
    rho = (
        f"Spearman {_number(correlation.value)}, {_number(correlation.low)} to"
        f" {_number(correlation.high)}, {p_text(correlation.p)}"
    )
    better = "better" if correlation.value > 0 else "worse"
    answer = (
        f"the more competent know color {better}"
        if correlation.sure
        else "competence and knowledge of color show no significant correlation"
    )
    return [f"Among {correlation.n} finished models, {answer} ({rho})."]


def _ranked(agreement: pd.DataFrame) -> pd.DataFrame:
    rows = agreement[(agreement["of"] == DISSIMILARITIES) & (agreement["measure"] == "kendall")]
    return rows.dropna(subset=["value", "p_adjusted"]).sort_values(
        "value", ascending=False, kind="stable"
    )


def _about(sentence: str, rows: pd.DataFrame) -> str:
    if rows.empty:
        return ""
    return sentence.format(
        listed(f"{row['other']} (τ {_number(row['value'])})" for row in rows.to_dict("records"))
    )


def _number(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")
