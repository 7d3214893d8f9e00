"""What is on the axis of the trend, of language models and of vision models."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import spearmanr

from core.competence.records import ACCURACY, as_table, measured_name, row
from core.competence.scores import import_scores
from core.errors import UnknownNameError
from core.questions.alignment.axes import offered_axes
from core.questions.alignment.question import Alignment
from core.questions.asking import answer, ask
from core.questions.competence.question import CompetenceScores, TasksSolved
from core.recipe import Recipe
from core.store import Store, write_result
from core.study.models import basis_of
from core.study.parts import Scope
from core.study.study import Study
from tests.pages.measured import measure
from tests.pages.world import LANGUAGE, VISION, PaintedDataset, build


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Study:
    root = tmp_path_factory.mktemp("axes")
    build(root, PaintedDataset(30), vision=VISION[:5], language=LANGUAGE)
    return Scope().open(Store(measure(root)))


def test_bits_of_language_models_stand_on_the_axis_and_objectives_in_panels(study):
    question = Alignment().complete(study)
    table = ask(question, study)
    assert question.axis == "competence"
    skill = study.competence().set_index("model")["value"]
    assert table["axis"].tolist() == table["model_x"].map(skill).tolist()
    assert set(table["panel"]) == {"MAE", "CLIP", "supervised", "reality"}
    clip = table[table["panel"] == "CLIP"]
    means = clip.groupby("model_x").agg(x=("axis", "first"), y=("score", "mean"))
    assert clip["rho"].iloc[0] == pytest.approx(spearmanr(means["x"], means["y"]).statistic)
    assert (clip["fitted"] == len(LANGUAGE)).all()
    trend, values = answer(question, study).findings
    assert (trend.n, trend.expected) == (6, "+")
    scored = table[table["model_y"] != "reality"]["score"]
    assert values.value == pytest.approx(scored.mean())
    assert values.n == 30


def test_bits_per_byte_of_a_text_are_taken_from_one_as_published(tmp_path):
    root = build(tmp_path, PaintedDataset(30), vision=VISION[:5], language=LANGUAGE)
    models = [f"{family.lower()}-{size}" for family, size, *_ in LANGUAGE]
    rows = [
        f"{name},coded text,{0.5 + 0.1 * place},bits per byte" for place, name in enumerate(models)
    ]
    data = "\n".join(["model,task,value,unit", *rows]).encode()
    import_scores(root, "cave", data, name="bits.csv")
    study = Scope().open(Store(root))
    name = "coded text (user)"
    table = ask(Alignment(axis=name), study)
    ours = {model: 0.5 - 0.1 * place for place, model in enumerate(models)}
    assert table["axis"].tolist() == pytest.approx(table["model_x"].map(ours).tolist())
    registry = ask(CompetenceScores(), study)
    axis = offered_axes(registry, study.models())[name]
    assert axis.title == "1 − coded text (user)"
    for side, usual in (("language", "competence"), ("vision", "parameters")):
        assert Alignment(axis_models=side).complete(study).axis == usual


def test_tasks_solved_by_vision_models_stand_on_the_axis_and_families_in_panels(study):
    table = ask(Alignment(axis_models="vision"), study)
    solved = ask(TasksSolved(), study).set_index("model")["solved"]
    assert set(table["model_x"]) == {f"vit-{name.lower()}-{size}" for name, size, _ in VISION[:5]}
    assert table["axis"].to_numpy() == pytest.approx(table["model_x"].map(solved).to_numpy())
    assert set(table["panel"]) == {"GPT-2", "LLaMA", "BLOOM", "reality"}
    assert table["rho"].notna().any()


def test_any_score_may_stand_on_the_axis_and_another_name_is_refused(study):
    table = ask(Alignment(axis_models="vision", axis="task 0 (measured)"), study)
    assert table["axis"].notna().all()
    assert table["axis"].nunique() > 2
    with pytest.raises(UnknownNameError, match="no axis named 'task 9'; did you mean"):
        ask(Alignment(axis_models="vision", axis="task 9"), study)


def test_an_axis_changes_no_alignment_and_a_model_is_not_compared_with_itself(study):
    x, y = ("gpt-2-s", "gpt-2-m"), ("gpt-2-s", "vit-clip-m")
    plain, sizes = (ask(Alignment(x=x, y=y, axis=axis), study) for axis in ("", "parameters"))
    assert list(zip(plain["model_x"], plain["model_y"], strict=True)) == [
        ("gpt-2-s", "vit-clip-m"),
        ("gpt-2-m", "gpt-2-s"),
        ("gpt-2-m", "vit-clip-m"),
    ]
    assert sizes[list(plain)].equals(plain)
    assert sizes["axis"].tolist() == [250_000, 1_100_000, 1_100_000]
    assert np.isnan(sizes["rho"]).all()


def test_competence_of_vision_models_is_vtab_else_own_scores_and_the_axis_names_which(tmp_path):
    root = build(tmp_path, PaintedDataset(30), vision=VISION[:3], language=LANGUAGE)
    names = [f"vit-{name.lower()}-{size}" for name, size, _ in VISION[:3]]

    def placed() -> tuple[list[float], str]:
        study = Scope().open(Store(root))
        basis = basis_of(ask(TasksSolved(), study))
        table = ask(Alignment(axis_models="vision"), study)
        places = table.drop_duplicates("model_x").set_index("model_x")["axis"]
        axes = offered_axes(ask(CompetenceScores(), study), study.models(), "vision", basis)
        return places[names].tolist(), axes["competence"].title

    assert np.isnan(placed()[0]).all()
    own = zip(names * 2, "aaabbb", (50, 60, 70, 30, 30, 40), strict=True)
    rows = [f"{name},{task},{value},%" for name, task, value in own]
    data = "\n".join(["model,task,value,unit", *rows]).encode()
    import_scores(root, "cave", data, name="own.csv")
    assert placed() == (
        pytest.approx([0.40, 0.45, 0.55]),
        "competence: mean of a, b (user)",
    )
    dataset = Store(root).dataset("cave")
    for name, values in zip(names, ((0.9, 0.2), (0.8, 0.6), (0.9, 0.9)), strict=True):
        interval = [{"value": one, "low": one - 0.1, "high": one, "chance": 0.05} for one in values]
        tasks = zip(("Pets", "SVHN"), interval, strict=True)
        probed = [
            row(task, "natural", unit=ACCURACY, split="test", n=99, **one) for task, one in tasks
        ]
        weights = Scope().open(Store(root)).entry(name).card.weights
        recipe = Recipe.of("probes", model=name, weights=weights)
        table = as_table(probed, model=name, recipe=recipe)
        of = measured_name("probes", name)
        write_result(root, dataset=dataset, name=of, table=table, recipe=recipe)
    assert placed() == ([0.5, 0.5, 1.0], "competence: share of VTAB tasks solved")
