"""Alignment over k and over the number of images: the trend of models, and one pair of layers."""

from __future__ import annotations

from dataclasses import replace

from core.questions.metrics.question import LARGEST, MetricPair, MetricTrends
from core.study.models import reads, without_variants
from core.study.parts import LayerPair
from pages._shared import bar, controls, facts, frame, queries, section
from pages._shared.queries import Place

TRENDS = "Lines: mean alignment with the vision models in last layers (Trends: in best layers)."
SCALED = """Last layers. Scores of each k are centered on the smallest model and divided by their
standard deviation over models (Huh et al. 2024, figure 10). If small k rise and large k do not,
models agree on near neighbors before they agree on all distances."""
OVER_K = """The best-aligned layers of two models. Dotted: shuffled images. Only the gap to the
dotted line counts."""
OVER_K_METHODS = """Mutual k-NN is 1 at k = n − 1 for any two models, and chance rises with it.
CKNNA weighs the same neighbors by similarity and ends near CKA."""
OVER_N = """The best-aligned layers of two models, on ever fewer images. Dotted: shuffled images."""
OVER_N_METHODS = """Means over ten random subsamples. Mutual k-NN falls with n, since k neighbors
among more images are harder to share; at a fixed share k/n it stays. CKA is biased upward for
few images; unbiased CKA is not."""


def has_trend(at: Place) -> bool:
    """Return whether there are language models of known competence, and vision models."""
    models = without_variants(queries.models(at))
    skill = facts.competence(at).dropna(subset="value")["model"]
    read = models.loc[reads(models, "caption"), "model"]
    return bool(reads(models, "image").any() and read.isin(skill).any())


def show_over_k(at: Place) -> None:
    """Draw the trend for neighborhoods of several sizes, and one pair of layers over k."""
    at, pair, _ = _pick(at, fixed=True)
    if has_trend(at):
        trends = MetricTrends(at.scope, over="k")
        section.draw(at, trends, key="trends", caption=TRENDS, methods=SCALED, models=True)
    question = MetricPair(at.scope, pair, over="k")
    section.draw(at, question, key="over-k", lead=0, caption=OVER_K, methods=OVER_K_METHODS)


def show_over_n(at: Place) -> None:
    """Draw one pair of layers over the number of images."""
    at, pair, k = _pick(at)
    question = MetricPair(at.scope, pair, over="stimuli", k=k)
    section.draw(at, question, key="over-n", lead=0, caption=OVER_N, methods=OVER_N_METHODS)


def _pick(at: Place, *, fixed: bool = False) -> tuple[Place, LayerPair, int]:
    """Choose two models, whose best-aligned layers are compared, and k; raises NeededError for
    fewer than two models that have neighbors. fixed: whether k is the default.
    """
    frame.need_stimuli(at)
    every = queries.models(at)
    if (~every["copy"]).sum() < 2:
        frame.need_readers(at, "caption", "image")
    with bar.controls_bar():
        with bar.more():
            at = replace(at, scope=controls.pick_scope(at))
        n = min(queries.size(at), LARGEST)
        k = min(10, n - 1) if fixed else controls.pick_k(n)
        models = without_variants(every[~every["copy"]])
        a, b = controls.pick_two(at, models, k=k)
    return at, LayerPair(a, None, b, None), k
