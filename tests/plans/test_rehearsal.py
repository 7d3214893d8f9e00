"""Each shipped study runs whole against a local hub, and its figures say what plain NumPy says of
the features that were embedded.
"""

from __future__ import annotations

import base64
import json
import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, count
from multiprocessing import get_context
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
import transformers
from scipy.spatial.distance import pdist
from scipy.stats import spearmanr

from core.cli import main
from core.encoders.language import folder as folders
from core.plans import run as planned
from core.plans.reading import open_plan, shipped
from core.store import Store
from tests.hub.online import turn_to
from tests.plans.rehearsal import Rehearsal, rehearsing, write_language

pytestmark = pytest.mark.slow
LANGUAGE = ("bloom", "openllama", "llama")
VISION = ("in21k", "mae", "dinov2", "clip", "clip-in12k")
K = 10


@dataclass
class Studies:
    """What the studies wrote, each run when it is first asked for."""

    rehearsal: Rehearsal
    codes: dict[str, int] = field(default_factory=dict)

    @property
    def store(self) -> Path:
        return self.rehearsal.root / "store"

    def folder(self, name: str) -> Path:
        """Return the folder of a study's report."""
        folder = self.rehearsal.root / "out" / name
        if name not in self.codes:
            self.codes[name] = run(self.rehearsal, name, self.store, folder)
        return folder

    def table(self, name: str, figure: str) -> pd.DataFrame:
        return pd.read_csv(self.folder(name) / f"{figure}.csv", keep_default_na=True)


def run(rehearsal: Rehearsal, name: str, store: Path, to: Path, *words: str) -> int:
    fixed = ["--store", f"{store}", "--device", "cpu", "--to", f"{to}"]
    return main(["study", "run", name, *fixed, *rehearsal.words(name), *words])


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studies]:
    with rehearsing(tmp_path_factory.mktemp("rehearsal")) as rehearsal:
        yield Studies(rehearsal)


# What plain NumPy says


def layers_of(studies: Studies, dataset: str, model: str, q: float) -> list[np.ndarray]:
    """Return a model's layers, clamped together where their sizes reach the quantile q."""
    store = Store(studies.store)
    count = len(store.model(dataset, model).card.layers)
    layers = [store.space(dataset, model, at).astype(np.float64) for at in range(count)]
    if q < 1:
        sizes = np.sort(np.abs(np.concatenate([layer.ravel() for layer in layers])))
        bound = sizes[int(q * sizes.size)]
        layers = [np.clip(layer, -bound, bound) for layer in layers]
    return layers


def candidates(layers: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the layers and all of them side by side, with rows of length 1."""
    return [unit(layer) for layer in (*layers, np.concatenate(layers, axis=1))]


def unit(space: np.ndarray) -> np.ndarray:
    return space / np.linalg.norm(space, axis=1, keepdims=True)


def neighbors(space: np.ndarray, k: int) -> np.ndarray:
    near = space @ space.T
    np.fill_diagonal(near, -np.inf)
    return np.argsort(-near, axis=1)[:, :k]


def mutual_knn(x: np.ndarray, y: np.ndarray, k: int = K) -> float:
    pairs = zip(neighbors(x, k), neighbors(y, k), strict=True)
    return float(np.mean([len(set(a) & set(b)) / k for a, b in pairs]))


def cka(x: np.ndarray, y: np.ndarray) -> float:
    a, b = (space - space.mean(0) for space in (x, y))
    shared = np.linalg.norm(a.T @ b) ** 2
    return float(shared / np.linalg.norm(a.T @ a) / np.linalg.norm(b.T @ b))


def cknna(x: np.ndarray, y: np.ndarray) -> float:
    """Return the alignment of kernels centered by row, over common neighbors."""
    kernels, masks = [], []
    for space in (x, y):
        kernel, mask = space @ space.T, np.zeros((len(space), len(space)))
        np.put_along_axis(mask, neighbors(space, K), 1, axis=1)
        kernels.append(kernel - kernel.mean(1, keepdims=True))
        masks.append(mask)
    (a, b), (of_a, of_b) = kernels, masks
    own = np.sqrt((of_a * a * a).sum() * (of_b * b * b).sum())
    return float((of_a * of_b * a * b).sum() / own)


def svcca(x: np.ndarray, y: np.ndarray) -> float:
    bases = []
    for space in (x, y):
        varied = space[:, space.std(0) > 1e-9]
        standard = (varied - varied.mean(0)) / varied.std(0)
        left, sizes, _ = np.linalg.svd(standard, full_matrices=False)
        bases.append(left[:, : min(10, int((sizes > 1e-9 * sizes[0]).sum()))])
    return float(np.linalg.svd(bases[0].T @ bases[1], compute_uv=False).mean())


METRICS = {each.__name__: each for each in (cka, svcca, mutual_knn, cknna)}


def shapes_of(spaces: Sequence[np.ndarray], widest: int) -> list[np.ndarray]:
    """Return spaces of one size and width, each stimulus centered on its own mean."""
    shapes = [space - space.mean(1, keepdims=True) for space in spaces]
    shapes = [space / np.linalg.norm(space) for space in shapes]
    return [np.pad(one, ((0, 0), (0, widest - one.shape[1]))) for one in shapes]


def onto(shape: np.ndarray, joint: np.ndarray) -> np.ndarray:
    """Return a shape turned onto another one."""
    left, _, right = np.linalg.svd(shape.T @ joint, full_matrices=False)
    return shape @ left @ right


def meeting(spaces: Sequence[np.ndarray], widest: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the mean of all spaces turned onto it, and these: Generalized Procrustes."""
    shapes = shapes_of(spaces, widest)
    values, vectors = np.linalg.eigh(sum(one @ one.T for one in shapes) / len(shapes))
    joint = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1][:, :widest]
    for _ in range(5_000):
        turned = [onto(one, joint) for one in shapes]
        joint, before = np.mean(turned, axis=0), joint
        if np.linalg.norm(joint - before) < 1e-10:
            break
    return joint, turned


def consensus(spaces: Sequence[np.ndarray]) -> np.ndarray:
    """Return the distance of each stimulus to the mean of all spaces, a column per space."""
    joint, turned = meeting(spaces, max(space.shape[1] for space in spaces))
    return np.stack([np.linalg.norm(one - joint, axis=1) for one in turned], axis=1)


def distances(space: np.ndarray, others: Sequence[np.ndarray]) -> np.ndarray:
    """Return the distance of each stimulus of a space to the mean of others."""
    widest = max(one.shape[1] for one in (space, *others))
    joint, _ = meeting(others, widest)
    (shape,) = shapes_of([space], widest)
    return np.linalg.norm(onto(shape, joint) - joint, axis=1)


# What a picture shows


def chart(page: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the traces and the layout of a picture."""
    text = page.read_text()
    decoder, at = json.JSONDecoder(), text.rindex("Plotly.newPlot(")
    traces, end = decoder.raw_decode(text, text.index("[", at))
    layout, _ = decoder.raw_decode(text, text.index("{", end))
    return traces, layout


def numbers(value: Any) -> np.ndarray:
    """Return an array as Plotly writes it."""
    if isinstance(value, dict):
        return np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    return np.atleast_1d(np.asarray(value, dtype=float))


# The studies


@pytest.mark.parametrize("name", shipped())
def test_a_study_runs_from_the_first_download_to_the_report(studies: Studies, name: str) -> None:
    plan, folder = open_plan(name), studies.folder(name)
    report = (folder / "report.md").read_text()
    assert studies.codes[name] == 0, report
    listed = studies.table(name, "models")
    assert list(listed) == ["group", "spec", "model", "parameters", "source"]
    assert listed["spec"].tolist() == [model.spec for _, model in plan.members()]
    assert listed["model"].notna().all()
    assert f"with {len(listed)} of {len(listed)} models" in report
    assert "## What failed" not in report
    for figure in plan.figures:
        assert not studies.table(name, figure.name).empty
    for group in plan.groups:
        assert bool(group.missing) == (f"group {group.name}" in report)


def test_models_of_a_larger_kind_have_more_parameters(studies: Studies) -> None:
    """Sizes within a family rise here as they do there, and each has its own weights."""
    listed = studies.table("prh-vision-language", "models")
    for _, group in listed.groupby("group"):
        assert group["parameters"].is_monotonic_increasing
        assert group["parameters"].is_unique
    cards = [entry.card for entry in Store(studies.store).models("wit")]
    assert len({card.weights for card in cards}) == len(cards)


def test_figure_3_is_alignment_over_one_minus_bits_per_byte(studies: Studies) -> None:
    plan, table = open_plan("prh-vision-language"), studies.table("prh-vision-language", "figure-3")
    names = of_groups(studies, plan.name)
    x, y = ([one for group in each for one in names[group]] for each in (LANGUAGE, VISION))
    assert len(x) == 12
    assert len(y) == 17
    pairs = list(zip(table["model_x"], table["model_y"], strict=True))
    assert sorted(pairs) == sorted((a, b) for a in x for b in y)
    layers = {name: candidates(layers_of(studies, "wit", name, 0.95)) for name in (*x, *y)}
    for row in table.itertuples():
        every = [[mutual_knn(a, b) for b in layers[row.model_y]] for a in layers[row.model_x]]
        assert row.score == pytest.approx(np.max(every))
        assert every[row.layer_x][row.layer_y] == pytest.approx(row.score)
    assert table["chance"].to_numpy() == pytest.approx(K / (64 - 1))
    for name in ("bloomz-560m", "llama-7b", "llama-65b"):
        placed = table.loc[table["model_x"] == name, "axis"]
        assert placed.to_numpy() == pytest.approx(1 - bits_per_byte(studies, name), abs=1e-4)
    traces, layout = chart(studies.folder(plan.name) / "figure-3.html")
    axes = [layout[name].get("title", {}) for name in layout if name.startswith("xaxis")]
    assert any("1 − bits per byte of OpenWebText" in axis.get("text", "") for axis in axes)
    drawn = {round(at, 6) for one in traces for at in numbers(one.get("x", [])).tolist()}
    assert {round(at, 6) for at in table["axis"]} <= drawn


def test_the_converse_of_figure_3_has_its_scores_over_parameters(studies: Studies) -> None:
    name = "prh-vision-language"
    table, there = studies.table(name, "figure-3-vision"), studies.table(name, "figure-3")
    scores = there.set_index(["model_y", "model_x"])["score"].to_dict()
    assert table.set_index(["model_x", "model_y"])["score"].to_dict() == pytest.approx(scores)
    parameters = studies.table(name, "models").set_index("model")["parameters"]
    assert (table["axis"] == table["model_x"].map(parameters)).all()


def of_groups(studies: Studies, name: str) -> dict[str, list[str]]:
    """Return the store's names of a study's models, by group."""
    listed = studies.table(name, "models")
    return {str(group): each["model"].tolist() for group, each in listed.groupby("group")}


def bits_per_byte(studies: Studies, name: str) -> float:
    """Return the mean over texts of the bits that a model needs for each byte, but those of a first
    character that nothing stands before.
    """
    card = Store(studies.store).model("wit", name).card
    hub_id = card.spec.removeprefix("hf:")
    folder = studies.rehearsal.root / "again" / name
    if not folder.exists():
        write_language(folder, hub_id)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    read = transformers.PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"))
    web = studies.rehearsal.root / "owt" / "plain_text" / "train-00000-of-00001.parquet"
    ratios = []
    for text in pd.read_parquet(web)["text"]:
        given = read(text, return_offsets_mapping=True)
        ids, spans = torch.tensor([given["input_ids"]]), given["offset_mapping"]
        begin = spans[0][1]  # 0 behind a special token
        start = next(at for at, (first, _) in enumerate(spans) if at and first >= begin)
        with torch.no_grad():
            said = model(ids).logits[0, :-1].double().log_softmax(-1)
        bits = -said.gather(1, ids[0, 1:, None])[start - 1 :].sum() / np.log(2)
        ratios.append(float(bits) / len(text[begin:].encode()))
    return float(np.mean(ratios))


def test_figure_4_is_alignment_with_dinov2_over_published_scores(studies: Studies) -> None:
    name, target = "prh-vision-language", "vit_giant_patch14_dinov2.lvd142m"
    parameters = studies.table(name, "models").set_index("model")["parameters"]
    goal = candidates(layers_of(studies, "wit", target, 0.95))
    for figure, task in (("figure-4-hellaswag", "HellaSwag"), ("figure-4-gsm8k", "GSM8K")):
        table = studies.table(name, figure)
        assert (table["task"] == task).all()
        assert (table["origin"] == "published").all()
        known = pd.read_csv("data/published/language_scores.csv").query("task == @task")
        values = known.set_index(known["model"].str.split("/").str[-1])["value"]
        assert table["value"].to_numpy() == pytest.approx(values[table["model"]].to_numpy())
        for row in table.itertuples():
            own = candidates(layers_of(studies, "wit", row.model, 0.95))
            assert row.near == pytest.approx(max(mutual_knn(a, b) for a in own for b in goal))
        traces, _ = chart(studies.folder(name) / f"{figure}.html")
        marks = [one for one in traces if "size" in one.get("marker", {}) and "customdata" in one]
        (drawn,) = (one for one in marks if len(one["customdata"]))
        shown = [str(row[0]) for row in drawn["customdata"]]
        powers = np.log10(parameters[shown].to_numpy(dtype=float))
        step = min(6, (26 - 9) / np.ptp(powers))  # pixels per factor of ten, from 9 to at most 26
        expected = 9 + step * (powers - powers.min())
        assert numbers(drawn["marker"]["size"]) == pytest.approx(expected)
        ranks = np.sort(numbers(drawn["marker"]["color"]))
        assert ranks == pytest.approx(np.linspace(0, 1, len(shown)))


def test_figures_13_and_14_have_the_eight_metrics(studies: Studies) -> None:
    name = "prh-vision-language"
    table = studies.table(name, "figures-13-14")
    assert table["metric"].nunique() == 8
    assert (table.groupby("metric").size() == 12 * 17).all()
    for x, y in (
        ("bloomz-560m", "vit_tiny_patch16_224.augreg_in21k"),
        ("llama-65b", "vit_large_patch14_dinov2.lvd142m"),
        ("open_llama_3b", "vit_base_patch16_clip_224.laion2b"),
    ):
        a, b = (candidates(layers_of(studies, "wit", model, 0.95)) for model in (x, y))
        rows = table.query("model_x == @x and model_y == @y").set_index("metric")
        for metric, score in METRICS.items():
            row = rows.loc[metric]
            own = score(a[int(row["layer_x"])], b[int(row["layer_y"])])
            assert row["score"] == pytest.approx(own, abs=1e-4), (metric, x, y)
            best = np.nanmax([[score(one, other) for other in b] for one in a])
            assert row["score"] == pytest.approx(best, abs=1e-4), (metric, x, y)


def test_figure_10_is_the_mean_over_language_models_from_the_smallest_on(studies: Studies) -> None:
    name = "prh-vision-language"
    table, names = studies.table(name, "figure-10"), of_groups(studies, name)
    parameters = studies.table(name, "models").set_index("model")["parameters"]
    seeing, reading = (
        [one for each in groups for one in names[each]] for groups in (VISION, LANGUAGE)
    )
    last = {one: unit(layers_of(studies, "wit", one, 0.95)[-1]) for one in (*seeing, *reading)}
    assert set(table["model"]) == set(seeing)
    smallest = parameters[seeing].idxmin()
    for k in (sorted(set(table["k"]))[0], sorted(set(table["k"]))[3]):
        rows = table.query("metric == 'mutual_knn' and k == @k").set_index("model")
        own = pd.Series(
            {
                one: np.mean([mutual_knn(last[one], last[other], k) for other in reading])
                for one in seeing
            }
        )
        assert rows["score"].to_dict() == pytest.approx(own.to_dict())
        scaled = (own - own[smallest]) / own.std()
        assert rows["scaled"].to_dict() == pytest.approx(scaled.to_dict(), abs=1e-6)
    traces, layout = chart(studies.folder(name) / "figure-10.html")
    assert layout["xaxis"]["type"] == "log"
    drawn = [one for one in traces if len(numbers(one.get("x", []))) == len(seeing)]
    lines = [one for one in drawn if one.get("mode") == "lines"]
    # mutual k-NN is 1 for all at the largest k
    assert len(lines) == 2 * table["k"].nunique() - 1


def test_figure_12_ranks_pairs_by_each_metric_at_last_layers(studies: Studies) -> None:
    table = studies.table("prh-vision", "figure-12")
    assert table["metric_x"].nunique() == 9
    assert (table["pairs"] == 18 * 17 // 2).all()
    names = studies.table("prh-vision", "models")["model"]
    last = [unit(layers_of(studies, "places", name, 0.95)[-1]) for name in names]
    own = {
        variant: [METRICS[metric](a, b) for a, b in combinations(last, 2)]
        for variant, metric in (
            ("mutual k-NN, k = 10, n = 160", "mutual_knn"),
            ("CKA, n = 160", "cka"),
            ("SVCCA, rank = 10, n = 160", "svcca"),
        )
    }
    cells = table.set_index(["variant_x", "variant_y"])["spearman"]
    for x, y in combinations(own, 2):
        expected = spearmanr(own[x], own[y]).statistic
        # in float32 a few neighbors are others, which moves pairs of nearly one score
        assert cells[x, y] == pytest.approx(expected, abs=3e-3), (x, y)


def probed(studies: Studies) -> pd.DataFrame:
    """Return what the probes of the vision study measured."""
    studies.folder("prh-vision")
    kept = (studies.store / "results" / "places").glob("measured~probes~*.parquet")
    return pd.concat([pd.read_parquet(file) for file in kept])


def solved(probes: pd.DataFrame) -> pd.Series:
    """Return the share of tasks on which a model reaches 80% of the best and is beyond chance."""
    scores, low, chance = (
        probes.pivot_table(index="model", columns="task", values=one)
        for one in ("value", "low", "chance")
    )
    return ((scores >= 0.8 * scores.max()) & (low > chance)).mean(axis=1)


def test_the_map_of_figure_2_is_colored_by_tasks_solved(studies: Studies) -> None:
    table = studies.table("prh-vision", "figure-2-right").set_index("model")
    last = {one: unit(layers_of(studies, "places", one, 0.95)[-1]) for one in table.index}
    for name, row in table.iterrows():
        scores = {one: mutual_knn(last[name], last[one]) for one in last if one != name}
        nearest = [scores[row[f"nearest_{at}"]] for at in (1, 2, 3)]
        assert nearest == pytest.approx(sorted(scores.values())[:-4:-1], abs=2e-3)
    traces, _ = chart(studies.folder("prh-vision") / "figure-2-right.html")
    (marks,) = (one for one in traces if "customdata" in one)
    names = [str(row[0]) for row in marks["customdata"]]
    drawn = np.column_stack([numbers(marks["x"]), numbers(marks["y"])])
    apart = pdist(table.loc[names, ["x", "y"]].to_numpy())  # the map is turned to fill its frame
    assert pdist(drawn) == pytest.approx(apart)
    ranks = solved(probed(studies)).rank()
    assert spearmanr(numbers(marks["marker"]["color"]), ranks[names]).statistic == pytest.approx(1)


@pytest.mark.parametrize("figure", ["gain", "usual"])
def test_adapters_are_compared_with_their_reference_on_the_test_stimuli(
    studies: Studies, figure: str
) -> None:
    """A quarter tests, the first of a documented order; the proposal compares inner products."""
    table = studies.table("adapters", figure).query("measure in ('alignment', 'gain')")
    test = np.random.default_rng([0, 0]).permutation(64)[:16]
    last = {}
    for name in ("resnet18.a1_in1k", "gpt2~longest"):
        last[name] = layers_of(studies, "flickr30k", name, 1)[-1][test]
    compared = np.asarray if figure == "gain" else unit
    references = table["reference"].dropna().unique()
    assert len(references) == 4
    for reference in references:
        rows = table[table["reference"] == reference]
        truth = layers_of(studies, "flickr30k", reference.partition(":")[0], 1)[-1][test]
        own = {name: mutual_knn(*map(compared, (space, truth))) for name, space in last.items()}
        before, after = (
            rows.query("measure == 'alignment' and method == @one").set_index("what")["value"]
            for one in ("before", "adapters")
        )
        gains = rows[rows["measure"] == "gain"].set_index("what")["value"]
        for name, score in own.items():
            (found,) = before[before.index.str.startswith(f"{name}:")]
            assert found == pytest.approx(score)
        assert before["average"] == pytest.approx(np.mean(list(own.values())))
        assert gains.to_dict() == pytest.approx((after - before["average"]).to_dict())


@pytest.mark.parametrize("figure", ["figure-2-left", "figure-2-left-by-score"])
def test_figure_2_is_the_alignment_of_last_layers_within_a_bin(
    studies: Studies, figure: str
) -> None:
    name = "prh-vision"
    table = studies.table(name, figure).query("pairs_of == 'all'")
    probes = probed(studies)
    scores = probes.pivot_table(index="model", columns="task", values="value")
    assert scores.shape == (18, 19)
    near = {
        model: neighbors(unit(layers_of(studies, "places", model, 0.95)[-1]), K)
        for model in scores.index
    }
    skill = solved(probes) if figure == "figure-2-left" else scores.mean(axis=1)
    bins = np.minimum((skill * 5 + 1e-12).astype(int), 4)
    for row in table.itertuples():
        inside = list(bins.index[bins == row.bin])
        assert row.models == len(inside)
        shares = {
            pair: np.mean([len({*a} & {*b}) / K for a, b in zip(*map(near.get, pair), strict=True)])
            for pair in combinations(inside, 2)
        }
        assert row.pairs == len(shares)
        if len(inside) > 2:  # bars are the jackknife over models
            assert row.mean == pytest.approx(np.mean([*shares.values()]), abs=2e-3)
            left = [np.mean([s for pair, s in shares.items() if one not in pair]) for one in inside]
            error = np.sqrt((len(left) - 1) * np.var(left))
            assert row.se == pytest.approx(error, abs=2e-3)


def test_dispersion_is_the_distance_to_the_consensus(studies: Studies) -> None:
    name = "dispersion"
    table, spaces = studies.table(name, "figure-2-rankings"), list(VISION[1:])
    models = [one for group in spaces for one in of_groups(studies, name)[group]]
    layers = [layers_of(studies, "wit", model, 1)[-2] for model in models]
    apart = consensus(layers)
    assert table["mean"].to_numpy() == pytest.approx(apart.mean(1), rel=1e-3)
    centered = apart - apart.mean(0)
    _, sizes, _ = np.linalg.svd(centered, full_matrices=False)
    share = sizes[0] ** 2 / (sizes**2).sum()
    assert table["explained"].to_numpy() == pytest.approx(share, abs=1e-3)
    order = np.argsort(apart.mean(1), kind="stable")
    assert set(table.loc[table["set_mean"] == "low", "index"]) == set(order[:16])
    held = studies.table(name, "supplement-s2").set_index("space")["pearson"]
    for at in range(4):
        others = [layer for place, layer in enumerate(layers) if place != at]
        deviation = distances(layers[at], others)
        expected = np.corrcoef(deviation, consensus(others).mean(1))[0, 1]
        (found,) = held[held.index.str.startswith(f"{models[at]}:")]
        assert found == pytest.approx(expected, abs=5e-3)
    kept = np.argsort(apart.mean(1), kind="stable")[:48]
    without = studies.table(name, "supplement-s1").query("set == 'without high'")
    for row in without.iloc[[0, 20]].itertuples():
        (at,) = [place for place, model in enumerate(models) if row.vision.startswith(f"{model}:")]
        words = unit(layers_of(studies, "wit", row.language, 1)[row.layer][kept])
        assert row.score == pytest.approx(cknna(unit(layers[at][kept]), words), abs=1e-4)


@pytest.mark.parametrize("by", ["mean", "pc1"])
def test_the_effect_of_dispersion_is_cknna_on_each_quarter(studies: Studies, by: str) -> None:
    name = "dispersion"
    table, names = studies.table(name, f"figure-2-{by}"), of_groups(studies, name)
    models = [one for group in VISION[1:] for one in names[group]]
    layers = [layers_of(studies, "wit", model, 1)[-2] for model in models]
    apart = consensus(layers)
    centered = apart - apart.mean(0)
    axis = np.linalg.svd(centered, full_matrices=False)[2][0]
    ranked = apart.mean(1) if by == "mean" else centered @ axis * np.sign(axis.sum())
    order = np.argsort(ranked, kind="stable")
    quarters = {"low": order[:16], "high": order[-16:], "full": order}
    read = {one: layers_of(studies, "wit", one, 1) for group in LANGUAGE for one in names[group]}
    for model, seen in zip(models, layers, strict=True):
        rows = table[table["vision"].str.startswith(f"{model}:")]
        mean = rows[rows["language"].isna()].set_index("set")["score"]
        each = rows[rows["language"].notna()]
        assert set(each["language"]) == set(read)
        for part, chosen in quarters.items():
            scores = [
                cknna(unit(seen[chosen]), unit(read[row.language][row.layer][chosen]))
                for row in each[each["set"] == part].itertuples()
            ]
            own = each.loc[each["set"] == part, "score"].to_numpy()
            assert own == pytest.approx(np.array(scores), abs=1e-4)
            assert mean[part] == pytest.approx(np.mean(scores), abs=1e-4)


def test_denser_captions_are_read_at_each_number_of_words(studies: Studies) -> None:
    table = studies.table("dense-captions", "figure-9")
    levels = {entry.level for entry in Store(studies.store).embeddings("dci")} - {None}
    assert len(levels) == 5
    names = of_groups(studies, "dense-captions")
    x, y = ([one for group in each for one in names[group]] for each in (LANGUAGE, VISION))
    (level,) = (one for one in levels if one.startswith("10-by-"))
    read = {one: candidates(layers_of(studies, "dci", f"{one}~{level}", 0.95)) for one in x}
    seen = {one: candidates(layers_of(studies, "dci", one, 0.95)) for one in y}
    scores = [
        np.mean([max(mutual_knn(a, b) for a in read[one] for b in seen[other]) for other in y])
        for one in x
    ]
    row = table.query("model_y == 'all vision models' and level == @level").iloc[0]
    assert row["mean"] == pytest.approx(np.mean(scores), abs=2e-3)
    assert row["deviation"] == pytest.approx(np.std(scores, ddof=1), abs=2e-3)


# What goes wrong leaves the rest right


def tables(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.glob("*.csv")}


def run_half(root: Path, name: str, store: Path, to: Path) -> None:
    """Run a study in a process that is killed as it opens its eighth model."""
    opened, open_really = count(1), planned.open_encoder

    def open_half(spec: str, **settings: Any) -> Any:
        if next(opened) == 8:
            os.kill(os.getpid(), signal.SIGKILL)
        return open_really(spec, **settings)

    planned.open_encoder = open_half
    with rehearsing(root) as rehearsal:
        run(rehearsal, name, store, to)


def test_a_study_that_was_killed_ends_the_same(
    studies: Studies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, opened, open_really = "dispersion", list[str](), planned.open_encoder
    store, to = tmp_path / "store", tmp_path / "out"
    (tmp_path / "hub").mkdir()
    half = get_context("spawn").Process(target=run_half, args=(tmp_path / "hub", name, store, to))
    half.start()
    half.join()
    assert half.exitcode == -signal.SIGKILL
    assert len(Store(store).embeddings("wit")) == 7
    assert not to.exists()

    def open_counted(spec: str, **settings: Any) -> Any:
        opened.append(spec)
        return open_really(spec, **settings)

    monkeypatch.setattr(planned, "open_encoder", open_counted)
    assert run(studies.rehearsal, name, store, to) == 0
    assert len(opened) == 9
    assert tables(to) == tables(studies.folder(name))


def test_models_that_cannot_be_had_are_named_and_the_rest_is_right(
    studies: Studies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One is gated, the weights of one do not fit its config, and one does not fit anywhere."""
    hub, name = studies.rehearsal.hub, "prh-vision-language"
    whole = studies.table(name, "figure-4-hellaswag").set_index("model")
    turn_to(hub, tmp_path / "cache", monkeypatch)
    gated = hub.repository("models", "google/gemma-2b")
    odd, large = "bigscience/bloomz-1b1", "bigscience/bloomz-7b1"
    sizes = studies.table(name, "models").set_index("model")["parameters"]
    room = 4 * int(np.sqrt(sizes["bloomz-3b"] * sizes["bloomz-7b1"])) / folders.SPARE
    monkeypatch.setattr(folders, "free_on", lambda _: room)
    no_disk = SimpleNamespace(disk_usage=lambda _: SimpleNamespace(free=0))
    monkeypatch.setattr(folders, "shutil", no_disk)
    right = dict(hub.repository("models", odd).branches)
    try:
        gated.gated = True
        hub.add_model(odd, write_language(tmp_path / "odd", odd, width=32))
        groups = ("bloom", "gemma", "dinov2")
        words = ("--only", *groups)
        assert run(studies.rehearsal, name, tmp_path / "store", tmp_path / "out", *words) == 2
    finally:
        gated.gated = False
        hub.repository("models", odd).branches.update(right)
    report = (tmp_path / "out" / "report.md").read_text()
    failed = report.partition("## What failed")[2].partition("\n## ")[0]
    assert "hf:google/gemma-2b is gated on the hub; accept its terms there" in failed
    assert f"hf:{odd}" in failed
    assert "that are free" in failed.partition(f"hf:{large}")[2]
    table = pd.read_csv(tmp_path / "out" / "figure-4-hellaswag.csv").set_index("model")
    assert set(table.index) == {"bloomz-560m", "bloomz-3b", "gemma-7b"}
    assert table["near"].to_dict() == whole.loc[table.index, "near"].to_dict()
    listed = pd.read_csv(tmp_path / "out" / "models.csv")
    there = listed[listed["group"].isin(groups)].set_index("spec")["model"]
    assert set(there[there.isna()].index) == {"hf:google/gemma-2b", f"hf:{odd}", f"hf:{large}"}


def test_a_task_that_cannot_be_had_is_named_and_the_rest_is_right(
    studies: Studies, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, name = studies.rehearsal.hub, "prh-vision"
    turn_to(hub, tmp_path / "cache", monkeypatch)
    hub.fail("no repository", "wds_vtab-svhn")
    try:
        words = ("--only", "in21k", "random")
        assert run(studies.rehearsal, name, tmp_path / "store", tmp_path / "out", *words) == 2
    finally:
        hub.heal()
    report = (tmp_path / "out" / "report.md").read_text()
    assert "task SVHN" in report.partition("## What failed")[2]
    assert "without SVHN: no model was measured on it" in report
    assert not pd.read_csv(tmp_path / "out" / "figure-2-left.csv").empty
