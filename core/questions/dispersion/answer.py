"""What the questions about dispersion are answered by: consensus, sets of stimuli, predictors."""

from __future__ import annotations

import pandas as pd

from core.progress import Progress
from core.questions.asking import ask
from core.questions.dispersion import findings, rankings, summary, trials
from core.questions.dispersion.completion import (
    name_drop,
    name_effect,
    name_findings,
    name_joint,
    name_parts,
    name_predictors,
    name_ranked,
    name_rankings,
    name_words,
)
from core.questions.dispersion.consensus import (
    apart_from_others,
    fit_consensus,
    hold_out,
    relate_held_out,
    summarize_residuals,
)
from core.questions.dispersion.prediction.regression import predict
from core.questions.dispersion.prediction.stimuli import (
    density,
    describe_stimuli,
    draw_stimuli,
    texts_of,
    words_of,
)
from core.questions.dispersion.prediction.words import enriched
from core.questions.dispersion.question import (
    ConsensusSpace,
    DispersionFindings,
    DispersionPredictors,
    DispersionRankings,
    DispersionWords,
    DropEffect,
    HeldOutFits,
    HeldOutPoints,
    PartEffect,
    Ranking,
    RankingQuestion,
    SetEffect,
    StimulusDispersion,
)
from core.questions.registry import Answer, declare, never
from core.study.published import deviations_here
from core.study.selections import count_share, ends
from core.study.spaces import find_spaces
from core.study.study import Study


def find_consensus(question: ConsensusSpace, study: Study, _: Progress | None) -> pd.DataFrame:
    """Find the consensus; see `fit_consensus`."""
    joint, weights = question.joint, question.weights or None
    places = find_spaces(study, joint.spaces)
    return fit_consensus(study, places, centering=joint.centering, weights=weights)


declare(ConsensusSpace, Answer(find_consensus, version=2, complete=name_joint))


def disperse(question: StimulusDispersion, study: Study, report: Progress | None) -> pd.DataFrame:
    """Return a row per stimulus: how far it is from the consensus, over all spaces and in each.

    Columns as of `summarize_residuals`, with sizes also set: low, high or empty. Raises MetricError
    for fewer than two spaces (three without each) and degenerate ones.
    """
    joint, by = question.joint, question.by or "mean"
    if question.without_each:
        points = ask(HeldOutPoints(question.scope, joint), study, report)
        fitted = apart_from_others(points, joint.spaces)
    else:
        fitted = ask(ConsensusSpace(question.scope, joint), study, report)
    table = summarize_residuals(fitted, joint.spaces)
    if question.size is not None:
        low, high = ends(table[by].to_numpy(), question.size)
        table["set"] = ""
        table.loc[low, "set"], table.loc[high, "set"] = "low", "high"
    return table.sort_values(by, kind="stable") if question.by else table


declare(
    StimulusDispersion,
    Answer(disperse, version=2, complete=name_ranked, kept=never),
)


declare(
    DispersionRankings,
    Answer(
        rankings.rank_stimuli,
        version=1,
        complete=name_rankings,
        findings=lambda _, table: rankings.compare_rankings(table),
        kept=never,
    ),
)


def compare_held_out(
    question: HeldOutPoints, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Compare each space with the consensus of the others; see `hold_out`."""
    places = find_spaces(study, question.joint.spaces)
    return hold_out(study, places, centering=question.joint.centering, report=report)


declare(HeldOutPoints, Answer(compare_held_out, version=2, complete=name_joint))


def fit_held_out(question: HeldOutFits, study: Study, report: Progress | None) -> pd.DataFrame:
    """Relate each space's deviation to the dispersion of the others; see `relate_held_out`.

    Over the models and stimuli of the published work also published: its Pearson's r.
    """
    points = ask(HeldOutPoints(question.scope, question.joint), study, report)
    table = relate_held_out(points, question.joint.spaces)
    published, models = deviations_here(study), table["space"].str.rpartition(":")[0]
    return table.assign(published=models.map(published)) if set(models) == set(published) else table


declare(
    HeldOutFits,
    Answer(
        fit_held_out,
        version=2,
        complete=name_joint,
        findings=lambda _, table: findings.held_out(table),
        kept=never,
    ),
)


def compare_sets(question: SetEffect, study: Study, report: Progress | None) -> pd.DataFrame:
    """Score vision with language on the least and most dispersed stimuli and on random sets of as
    many: sets low, high, random, full and low/high; see `trials.score_trial`.
    """
    return trials.score_trial(question, study, trials.low_and_high(question.size or 0), report)


declare(
    SetEffect,
    Answer(
        compare_sets,
        version=2,
        complete=name_effect,
        findings=lambda question, table: findings.effect(
            table, higher_is_better=question.measure.spec.higher_is_more_aligned
        ),
    ),
)


def compare_parts(question: PartEffect, study: Study, report: Progress | None) -> pd.DataFrame:
    """Score vision with language on each part of the ranking: sets 1 (least dispersed) … count,
    random, full; see `trials.score_trial`.
    """
    return trials.score_trial(question, study, trials.by_part(question.parts), report)


declare(
    PartEffect,
    Answer(
        compare_parts,
        version=2,
        complete=name_parts,
        findings=lambda _, table: findings.parts(table),
    ),
)


def drop_ends(question: DropEffect, study: Study, report: Progress | None) -> pd.DataFrame:
    """Score vision with language without the most or the least dispersed share of all stimuli, and
    without as many random ones: sets `without high`, `without low`, `without random`, full.
    """
    dropped = count_share(question.share, study.size)
    return trials.score_trial(question, study, trials.without_ends(dropped), report)


declare(
    DropEffect,
    Answer(
        drop_ends,
        version=2,
        complete=name_drop,
        findings=lambda question, table: findings.drop(
            table,
            repeats=question.trial.repeats,
            higher_is_better=question.measure.spec.higher_is_more_aligned,
        ),
    ),
)


def rank_predictors(
    question: DispersionPredictors, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Rank what predicts the dispersion of stimuli; see
    `core.questions.dispersion.prediction.regression`.

    Kinds of predictors: image, caption, factor (see `describe_stimuli`) and consensus (see
    `density`). Raises InputError as `predict`.
    """
    drawn = draw_stimuli(study, seed=question.seed)
    dispersion = _dispersion(question.ranking, question, study, report)
    joint = ask(ConsensusSpace(question.scope, question.ranking.joint), study, report)
    indices = dispersion["index"].to_numpy()[drawn]
    predictors = describe_stimuli(study, indices, question.level, report)
    predictors["consensus"] = density(joint.filter(like="axis_").to_numpy()[drawn])
    target = dispersion[question.ranking.by].to_numpy()[drawn]
    return predict(target, predictors, seed=question.seed, report=report)


declare(
    DispersionPredictors,
    Answer(
        rank_predictors,
        version=2,
        complete=name_predictors,
        findings=lambda _, table: findings.predictors(table),
    ),
)


def compare_words(question: DispersionWords, study: Study, report: Progress | None) -> pd.DataFrame:
    """Test which words captions of the least and of the most dispersed stimuli have; see
    `core.questions.dispersion.prediction.words.enriched`.
    """
    dispersion = _dispersion(question.ranking, question, study, report)
    texts = texts_of(study, question.level)[dispersion["index"]]
    low, high = ends(dispersion[question.ranking.by].to_numpy(), question.size or 0)
    return enriched(words_of(texts[low]), words_of(texts[high]))


declare(
    DispersionWords,
    Answer(
        compare_words,
        version=2,
        complete=name_words,
        findings=lambda _, table: findings.words(table),
        kept=never,
    ),
)


def collect_findings(
    question: DispersionFindings, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Return every figure in one table: finding, group, value, low, high (95 %), p, reason.

    Of each vision space, over all language models: the metric on sets of `size`, and without a
    quarter of the stimuli. Where there are three spaces, of the others' dispersion with its own
    deviation: Pearson's r, with p one-sided against its stimuli shuffled, the mean of r where they
    are, r given the norm of the consensus, and Spearman's ρ. Then R² of predicting dispersion, the
    importance of the predictors of most, and of each the test of it alone, whose p is adjusted for
    the false discovery rate.
    """
    scope, ranking, metric = question.scope, question.ranking, question.measure.metric
    compared = (scope, ranking, question.trial, question.measure)
    sets = summary.score_rows(ask(SetEffect(*compared, question.size), study, report), metric)
    dropped = summary.score_rows(ask(DropEffect(*compared), study, report), metric)
    tables = [sets, dropped[dropped["finding"] != f"{metric} {trials.FULL}"]]  # sets has it
    if len(ranking.spaces) > 2:
        fits = ask(HeldOutFits(scope, ranking.joint), study, report)
        tables.append(summary.correlation_rows(fits))
    predictors = DispersionPredictors(scope, ranking, seed=question.trial.seed)
    tables.append(summary.predictor_rows(ask(predictors, study, report)))
    return pd.concat(tables, ignore_index=True)[list(summary.COLUMNS)]


declare(
    DispersionFindings,
    Answer(
        collect_findings,
        version=2,
        complete=name_findings,
        kept=never,
    ),
)


def _dispersion(
    ranking: Ranking, question: RankingQuestion, study: Study, report: Progress | None
) -> pd.DataFrame:
    return ask(StimulusDispersion(question.scope, ranking.joint), study, report)
