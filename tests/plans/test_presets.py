"""The published studies: every id has a source, every figure is a question, and a dry run of each
needs no network.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from core.cli import main
from core.competence.scores import vtab_tasks
from core.embedding.summaries import read_instruction
from core.encoders import outlines
from core.encoders.outlines import Download
from core.encoders.requests import UNTRAINED
from core.metrics.catalog import PRINTED
from core.plans.plan import Plan, put_models
from core.plans.reading import open_plan, question_of, shipped
from core.plans.sizes import sizes
from core.stimuli.hub import PRESETS

NAMES = {"prh-vision-language", "prh-vision", "dispersion", "dense-captions", "adapters"}
NAMES |= {"prh-mini"}
PLANS = [open_plan(name) for name in shipped()]
PARAMETRIZED = pytest.mark.parametrize("plan", PLANS, ids=[plan.name for plan in PLANS])


def test_the_published_studies_are_there():
    assert {plan.name for plan in PLANS} == NAMES


EIGHT = {  # of Huh et al. 2024, figures 12 to 14
    *("mutual_knn", "cycle_knn", "lcs_knn", "edit_distance_knn"),
    *("cka", "unbiased_cka", "cknna", "svcca"),
}


@pytest.mark.parametrize(
    ("study", "figure", "usual"),
    [
        ("prh-vision", "figure-12", ()),
        ("prh-vision-language", "figures-13-14", tuple(PRINTED)),
    ],
)
def test_figures_that_compare_metrics_compare_all_of_the_paper(study, figure, usual):
    plan = open_plan(study)
    [drawn] = (one for one in plan.figures if one.name == figure)
    groups = {group.name: ["a-model"] for group in plan.groups}
    question = question_of(plan, drawn, groups)
    assert set(question.metrics or usual) >= EIGHT


@PARAMETRIZED
def test_every_id_stands_in_the_facts_or_the_papers(plan: Plan, facts: Path):
    places = [*facts.glob("*.csv"), *(facts.parent / "papers").glob("*.txt")]
    text = "\n".join(path.read_text(errors="replace") for path in places)
    for _, model in plan.members():
        if model.source.startswith("ours: "):
            continue
        name, _, weights = model.spec.partition(":")[2].partition("@")
        named = text.lower().replace("-", "") if weights == UNTRAINED else text
        assert name in named or model.source.startswith("ours"), model


@PARAMETRIZED
def test_what_is_not_known_says_what_to_name(plan: Plan):
    assert plan.dataset.source
    assert plan.dataset.hub in PRESETS or "--data" in plan.dataset.missing
    for group in plan.groups:
        assert group.models or (group.source and f"--models {group.name}=" in group.missing)
    assert all(figure.source for figure in plan.figures)
    if plan.summaries and not plan.summaries.writer:
        assert "--writer" in plan.summaries.missing
        place = plan.place.parent / plan.summaries.instruction
        assert read_instruction(place).count("{words}") == 2


def test_a_model_that_a_person_names_takes_the_place_of_ours():
    plan = put_models(open_plan("adapters"), "gpt-2", "hf:openai-community/gpt2-xl")
    assert [one.spec for one in plan.group("gpt-2").models] == ["hf:openai-community/gpt2-xl"]
    more = put_models(open_plan("adapters"), "dinov2", "hf:a/b")
    assert len(more.group("dinov2").models) == 5


def test_the_studies_have_their_published_extent():
    by_name = {plan.name: plan for plan in PLANS}
    first = [len(by_name["prh-vision-language"].group(name).models) for name in LANGUAGE]
    assert sum(first) == 12
    seen = [model.spec for _, model in by_name["prh-vision"].members()]
    assert (len(seen), len([spec for spec in seen if ":vit_" in spec])) == (18, 17)
    four = [one for one in by_name["dispersion"].groups if one.modality == "vision"]
    assert [len(one.models) for one in four] == [1, 1, 1, 1]
    assert by_name["dispersion"].preparation.q == 1.0
    values = [one.value for one in by_name["dispersion"].published if one.column == "pearson"]
    assert values == [0.33, 0.21, 0.43, 0.26]
    ask = by_name["prh-vision"].figures[0].ask
    assert all(task in ask for task in vtab_tasks()["task"])


def test_the_first_result_is_small():
    plan = open_plan("prh-mini")
    table = sizes(plan, Path("no-store"), ask=lambda _: Download(7)).set_index("group")
    modality = {group.name: group.modality for group in plan.groups}
    language = table[table.index.map(modality) == "language"]
    vision = table[table.index.map(modality) == "vision"]
    assert (plan.dataset.size, plan.dataset.split) == (256, "train[:256]")
    assert (len(language), len(vision)) == (4, 6)
    assert (language["parameters"] <= 560e6).all()
    assert (language["gated"] == "no").all()
    assert len({group.family for group in plan.groups if group.modality == "language"}) == 2
    assert len({group.objective for group in plan.groups if group.modality == "vision"}) == 3
    assert plan.coding is not None
    assert plan.coding.tokens <= 16_000
    assert {figure.name for figure in plan.figures} == {"figure-3", "bits-per-byte", "map"}
    for row, settings in (  # counted by transformers, from the settings of GPT-2's authors
        (language.loc["gpt-2"].iloc[0], {}),
        (language.loc["gpt-2"].iloc[1], {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    ):
        config = GPT2Config(**settings)
        with torch.device("meta"):
            model = GPT2LMHeadModel(config)
        assert row["parameters"] == sum(each.numel() for each in model.parameters())
        assert (row["layers"], row["width"]) == (config.n_layer + 1, config.n_embd)


LANGUAGE = ("bloom", "openllama", "llama")


@PARAMETRIZED
def test_a_dry_run_needs_no_network(
    plan: Plan,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr(outlines, "files_left", lambda *_: Download(None, "no", is_hub_down=True))
    words = ["study", "show", plan.name, "--json", "--store", str(tmp_path / "store")]
    assert main(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["models"] == len(list(plan.members()))
    assert said["embedded"] == 0
    assert said["room"] > 0 or plan.dataset.size is None
    assert not (tmp_path / "store").exists()


def test_sizes_are_counted_from_published_facts(tmp_path: Path):
    plan = open_plan("dispersion")
    table = sizes(plan, tmp_path, only=("dinov2",), ask=lambda _: Download(7))
    row = table.iloc[0]
    assert (row["parameters"], row["layers"], row["width"]) == (1_136_479_232, 40, 1536)
    assert row["memory"] == 4 * row["parameters"]
    half = sizes(replace(plan, precision="bf16"), tmp_path, ask=lambda _: Download(7))
    assert (half["memory"] == 2 * half["parameters"]).all()
    assert row["room"] == 40 * 1024 * 1536 * 4
    assert row["download"] == 7
