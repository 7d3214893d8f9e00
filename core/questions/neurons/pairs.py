"""The units of two models that are each other's best, and the stimuli that excite them."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd
from jaxtyping import Float32

from core.errors import MetricError
from core.progress import Progress
from core.questions.asking import ask
from core.questions.neurons.mining import Model, chosen_layers, mine, read_model, shuffled_partners
from core.questions.neurons.question import NeuronPairs, NeuronStimuli
from core.questions.neurons.units import Partners, Units, p_of, rotate, units_of
from core.spaces.choices import Clamping
from core.statistics.nulls import ALPHA
from core.study.study import Study, studied_stimuli

AS_IS, ROTATED, SHUFFLED = "as they are", "rotated", "shuffled"
PLACES = ("model_x", "layer_x", "unit_x", "model_y", "layer_y", "unit_y")
COLUMNS = ("basis", "pair", *PLACES, "r", "p", "recurs", "threshold")
WHOLE = Clamping(q=1.0)  # nothing is clamped
EXCITED = ("model", "layer", "unit", "place", "index", "stimulus", "excitation", "shared")


def tabulate_pairs(question: NeuronPairs, study: Study, _: Progress | None) -> pd.DataFrame:
    """Return a row per pair of units that are each other's best, the most correlated first.

    basis: `as they are`; as a control the same with y in a random basis, `rotated`, whose units are
    numbered as they come, and with the stimuli of y `shuffled` once. p: of the best of all pairs by
    chance, see `core.questions.neurons.units.p_of`; recurs: p ≤ 0.05, so r above the threshold.
    """
    x, y = read_pair(question, study)
    recurrence, seed = mine(x, y, question.mining), question.mining.seed
    turned = units_of(rotate(y.layers, seed=seed))
    bases = (
        (AS_IS, y.units, recurrence.partners),
        (ROTATED, turned, recurrence.rotated[0]),
        (SHUFFLED, y.units, shuffled_partners(x.units, y.units, seed=seed)),
    )
    tables = [
        _rows(x.units, units, partners).assign(basis=basis, p=p_of(partners.r, recurrence.null))
        for basis, units, partners in bases
    ]
    table = pd.concat(tables, ignore_index=True)
    recurs = table["p"] <= ALPHA
    table = table.assign(model_x=question.a, model_y=question.b)
    return table.assign(recurs=recurs, threshold=recurrence.threshold)[list(COLUMNS)]


def read_pair(question: NeuronPairs, study: Study) -> tuple[Model, Model]:
    """Read the layers of both models that are looked at."""
    counts = (len(study.entry(name).dims) for name in (question.a, question.b))
    layers = chosen_layers(question.mining.layers, *counts)
    x, y = (
        read_model(study, name, chosen)
        for name, chosen in zip((question.a, question.b), layers, strict=True)
    )
    return x, y


def _rows(x: Units, y: Units, partners: Partners) -> pd.DataFrame:
    columns = {
        "layer_x": x.layers[partners.x],
        "unit_x": x.numbers[partners.x],
        "layer_y": y.layers[partners.y],
        "unit_y": y.numbers[partners.y],
        "r": partners.r.astype(np.float64),
    }
    return pd.DataFrame({"pair": np.arange(1, len(partners.r) + 1), **columns})


def tabulate_stimuli(
    question: NeuronStimuli, study: Study, report: Progress | None
) -> pd.DataFrame:
    """Return the stimuli that excite each of two units most, the strongest first.

    excitation: by how many standard deviations over the stimuli a unit is above its mean, nothing
    clamped, since all that is clamped would excite alike. shared: whether the stimulus is in both
    lists. Raises MetricError for a pair that is not there.
    """
    of_pairs = {one.name: getattr(question, one.name) for one in fields(NeuronPairs)}
    pairs = ask(NeuronPairs(**of_pairs), study, report)
    pairs = pairs[pairs["basis"] == AS_IS].set_index("pair")
    if question.pair not in pairs.index:
        raise MetricError(
            f"these models have {len(pairs)} pairs of units that are each other's best; got pair"
            f" {question.pair}: choose a lower number"
        )
    row = pairs.loc[[question.pair]].iloc[0]
    sides = ((question.a, "x"), (question.b, "y"))
    whole = Study(study.store, study.dataset.name, WHOLE, where=study.where, stimuli=study.stimuli)
    tables = []
    for model, side in sides:
        layer, unit = int(row[f"layer_{side}"]), int(row[f"unit_{side}"])
        values = whole.spaces(model)[layer][:, unit]
        of_unit = _strongest(values, study, question.count)
        tables.append(of_unit.assign(model=model, layer=layer, unit=unit))
    both = set(tables[0]["index"]) & set(tables[1]["index"])
    table = pd.concat(tables, ignore_index=True)
    return table.assign(shared=table["index"].isin(both))[list(EXCITED)]


def _strongest(values: Float32[np.ndarray, " n"], study: Study, count: int) -> pd.DataFrame:
    values = values.astype(np.float64)
    excitation = (values - values.mean()) / values.std()
    order = np.argsort(-excitation, kind="stable")[:count]
    stimuli = studied_stimuli(study).iloc[order].reset_index(drop=True)
    return stimuli.assign(place=np.arange(1, len(order) + 1), excitation=excitation[order])
