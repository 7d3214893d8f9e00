"""A zoo comes in by one table with its facts: they are kept, counted and edited."""

from __future__ import annotations

import re
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from core.cli import main
from core.questions.alignment.question import Alignment
from core.questions.asking import ask
from core.questions.captions import CaptionAlignment
from core.questions.competence.question import TasksSolved
from core.questions.competence.scores import registry
from core.questions.convergence.question import Levels
from core.store import Store, View, add_dataset
from core.study.models import basis_of, language_basis, usual
from core.study.study import Study
from tests.pages.world import PaintedDataset

N = 24
DATASET = PaintedDataset(N)
ZOO = [  # title, modality, family, objective, parameters, seed, score, other score
    *[(f"v-{f}{s}{p}", "vision", f, "MAE", p, s, q, q / 2) for f, s, p, q in (
        ("A", 0, 100, 0.4), ("A", 1, 100, 0.5), ("A", 0, 900, 0.8), ("B", 0, 100, 0.3),
        ("B", 0, 900, 0.7), ("C", 0, 100, 0.2), ("C", 0, 900, 0.6),
    )],
    *[(f"l-{f}{p}", "language", f, "", p, "", q, q / 2) for f, p, q in (
        ("X", 10, 0.3), ("X", 90, 0.6), ("Y", 10, 0.2), ("Y", 90, 0.9), ("Z", 10, 0.5),
        ("Z", 90, 0.8),
    )],
]  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("zoo")
    add_dataset(root / "store", DATASET)
    rng, rows = np.random.default_rng(0), []
    for title, modality, family, objective, parameters, seed, score, other in ZOO:
        np.save(root / f"{title}.npy", DATASET.reality + (1 - score) * rng.normal(size=(N, 9)))
        kept = "" if title == "v-C0100" else score
        rows.append(
            f"{title};{title}.npy;{modality};{family};{objective};{parameters}.0;{seed}"
            f";{kept};{100 * other:.0f}%;paper"
        )
    np.save(root / "bad.npy", np.full((N, 2), np.nan))
    rows[3:3] = ["bad;bad.npy;vision;;;;;;;", "many;v-A0100.npy;vision;;;lots;;;;"]
    rows.append("v-A0100;v-A0100.npy;vision;;;;;;;")
    head = "Title;file;modality;Family;objective;parameters;seed;shared acc;task (%);source"
    (root / "models.csv").write_text("\n".join([head, *rows]))
    words = ["import", str(root / "models.csv"), "--dataset", "cave"]
    with redirect_stdout(out := StringIO()), redirect_stderr(err := StringIO()):
        code = main([*words, "--store", str(root / "store")])
    (root / "said").write_text(f"{code} {out.getvalue()}{err.getvalue()}")
    return root


def test_a_table_brings_in_a_zoo_and_names_the_rows_that_it_cannot(store):
    said = (store / "said").read_text()
    assert said.startswith("2 ")
    assert f"{len(ZOO)} of {len(ZOO) + 3} models" in said
    wrong = [line for line in said.splitlines() if line.startswith("platoscope: line ")]
    assert [line.split(":")[1].split(",")[0] for line in wrong] == [
        " line 5",
        " line 6",
        " line 17",
    ]
    assert "Own scores: shared acc, task (%). Competence is" in said
    assert "since they hold no number: source" in said
    cards = {one.card.name: one.card for one in Store(store / "store").models("cave")}
    assert {
        (c.name, c.modality, c.family, c.objective, c.parameters, c.training.get("seed", ""))
        for c in cards.values()
    } == {(t, m, f, o or "unknown", p, s) for t, m, f, o, p, s, *_ in ZOO}

    study = Study(Store(store / "store"), "cave")
    models = study.models().set_index("model")
    assert models.loc["v-A0100", "recipe"] == models.loc["v-A1100", "recipe"]
    assert set(usual(study.models())["model"]) == set(cards) - {"v-A1100"}
    told, seen = study.competence(), ask(TasksSolved(), study).set_index("model")
    assert language_basis(study.models(), told) == "mean of shared acc, task (user)"
    assert basis_of(seen) == "task (user)"  # which more models have than the other
    own = {title: 0.75 * score for title, *_, score, _ in ZOO}
    assert dict(zip(told["model"], told["value"], strict=True)) == pytest.approx(
        {name: own[name] for name in told["model"]}
    )
    assert seen["solved"].to_dict() == pytest.approx({t: s for t, m, *_, s in ZOO if m == "vision"})
    table = ask(Alignment(), study)
    assert table["rho"].notna().all()
    assert table["axis"].tolist() == pytest.approx([own[name] for name in table["model_x"]])
    assert ask(Levels(), study)["mean"].notna().any()


def test_facts_are_edited_and_answers_that_rest_on_them_made_again(store, capsys):
    root, where = store / "store", ["--dataset", "cave", "--store", str(store / "store")]
    view = View(root)
    view.model("cave", "l-X10")
    assert (
        main(["model", "set", "l-X10", "--family", "W", "--seed", "3", "--level", "5", *where]) == 0
    )
    assert main(["model", "set", "l-X90", "--competence", "91%", "noise=0.25", *where]) == 0
    assert not View(root).is_fresh(view.reads)
    entry, study = Store(root).model("cave", "l-X10"), Study(Store(root), "cave")
    assert (entry.card.family, entry.card.parameters) == ("W", 10)
    assert (entry.card.training["seed"], entry.level) == (3, "5")
    assert np.isfinite(Store(root).space("cave", "l-X10", 0)).all()
    scores = registry(study).query("model == 'l-X90'").set_index("task")["value"]
    assert scores[["competence", "noise"]].tolist() == [91, 0.25]
    again = ["import", str(store / "v-B0100.npy"), "--modality", "vision", "--objective", "CLIP"]
    assert main([*again, *where]) == 0  # what is there already is told the new facts
    card = Store(root).model("cave", "v-B0100").card
    assert (card.objective, card.family) == ("CLIP", "B")
    capsys.readouterr()
    for wrong in (["--level", "7"], ["--competence", "good"], ["--family", "a\nb"]):
        assert main(["model", "set", "l-X10", *wrong, *where]) == 2
    assert Store(root).model("cave", "l-X10").card == entry.card
    assert "Traceback" not in capsys.readouterr().err


def test_an_import_at_another_caption_level_is_the_same_model(store):
    where = ["--dataset", "cave", "--store", str(store / "store"), "--modality", "language"]
    for name, level in (("t", "20"), ("t~5", "5"), ("t~40", "40")):
        np.save(file := store / "t.npy", np.random.default_rng(len(name)).normal(size=(N, 5)))
        assert main(["import", str(file), "--name", name, "--level", level, *where]) == 0
    assert Store(store / "store").caption_variants("cave") == {"t~5": "t", "t~40": "t"}
    table = ask(CaptionAlignment(x=("t",)), Study(Store(store / "store"), "cave"))
    assert set(table["level"]) == {"20", "5", "40"}


STUDY = """
title = "Mine"
source = "own"
dataset = { name = "cave" }
[[group]]
name = "seen"
modality = "vision"
models = [{ spec = "import:v-A0900" }, { spec = "v-B0900" }, { spec = "gone" }]
[[group]]
name = "read"
modality = "language"
models = [{ spec = "l-X90" }, { spec = "import:l-Y90" }]
[[group]]
name = "measured"
modality = "brain"
models = [{ spec = "v1" }]
[[figure]]
name = "trend"
ask = "align --x @read --y @seen"
[[figure]]
name = "brain"
ask = "align --x @seen --y @measured"
[[figure]]
name = "whole"
ask = "models pairs"
"""


def test_a_study_takes_models_of_the_store_and_counts_no_others(store, monkeypatch):
    monkeypatch.setattr("core.plans.run.open_dataset", lambda _: DATASET)
    where = ["--store", str(store / "store")]
    rng = np.random.default_rng(5)
    np.save(store / "v1.npy", DATASET.reality + rng.normal(size=(4, N, 9)))
    brain = ["--dataset", "cave", "--modality", "brain", "--repeats", "trials"]
    assert main(["import", str(store / "v1.npy"), *brain, *where]) == 0
    (store / "mine.toml").write_text(STUDY)
    out = store / "out"
    assert main(["study", "run", str(store / "mine.toml"), "--to", str(out), *where]) == 2
    models = pd.read_csv(out / "models.csv", keep_default_na=False)
    assert models["model"].tolist() == ["v-A0900", "v-B0900", "", "l-X90", "l-Y90", "v1"]
    report = (out / "report.md").read_text()
    assert {"5 of 6 models", "'gone' is no model"} == set(
        re.findall("5 of 6 models|'gone' is no model", report)
    )
    assert len(pd.read_csv(out / "trend.csv")) == 4
    assert set(pd.read_csv(out / "brain.csv")["model_y"]) == {"v1"}
    assert len(pd.read_csv(out / "whole.csv")) == 6  # of four models; brains are in no such pair
    mean = pd.read_csv(out / "trend.csv")["score"].mean()
    assert f"({mean:.3f}, n = 4 pairs)" in report
