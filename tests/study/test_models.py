"""Model cards become one table: groups, and the place of each model in its training."""

from dataclasses import replace

import numpy as np

from core.encoders.encoder import IMPORTED, ModelCard
from core.study.models import (
    FEWER,
    REFUSED,
    UNTRAINED,
    clusters,
    describe,
    groups_by_age,
    lines,
    tell_apart,
    unknown_families,
    usual,
)


def card(name, modality, family, objective, parameters=1000, training=None):
    return ModelCard(
        name,
        name.upper(),
        modality,
        f"hf:{name}",
        family,
        objective,
        parameters,
        "w",
        ("0", "1"),
        training or {},
    )


def trained(name, tasks, step=300, steps=300):
    options = {"tasks": [f"task {number}" for number in range(tasks)]} if tasks else {}
    config = {"name": name, "steps": steps, "options": options, "size": "s"}
    return {"steps": step, "config": config}


def test_the_group_is_the_objective_of_vision_and_the_family_of_language():
    models = describe(
        [
            card("gpt", "language", "GPT-2", "language"),
            card("mae", "vision", "ViT", "MAE"),
            card("reality", "world", "", "", None),
        ]
    )
    assert models["group"].tolist() == ["GPT-2", "MAE", "reality"]
    assert np.isnan(models["parameters"].iloc[-1])


def test_untrained_models_are_one_group_whatever_they_read():
    models = describe(
        [card("a", "language", "GPT-2", "untrained"), card("b", "vision", "ViT", "untrained")]
    )
    assert models["group"].tolist() == [UNTRAINED, UNTRAINED]


def test_multitask_models_of_fewer_tasks_than_others_stand_apart():
    models = describe(
        [
            card(f"vit-{n}-s", "vision", "ViT", "multitask", training=trained(f"vit-{n}-s", n))
            for n in (4, 32, 8)
        ]
    )
    assert models["group"].tolist() == [FEWER, "multitask", FEWER]
    assert models["tasks"].tolist() == [4, 32, 8]
    assert models["size"].tolist() == ["S", "S", "S"]


def test_cards_of_the_first_release_say_the_number_of_tasks_and_the_size_in_their_name():
    old = {"steps": 3, "config": {"name": "vit-mae-xs", "steps": 3, "options": {"tasks": 8}}}
    row = describe([card("vit-mae-xs", "vision", "ViT", "multitask", training=old)]).iloc[0]
    assert (row["tasks"], row["size"]) == (8, "XS")


def test_another_readout_of_one_training_is_no_model_of_its_own():
    notes = trained("vit-s", 0)
    cards = [card(name, "vision", "ViT", "MAE", training=notes) for name in ("vit-s", "patches")]
    reread = replace(cards[1], spec="timm:vit@vit-s#patches")
    models = describe([cards[0], reread])
    assert models["varies"].tolist() == ["", "readout"]
    assert usual(models)["model"].tolist() == ["vit-s"]
    assert describe([reread])["varies"].tolist() == [""]  # the only one there is


def test_a_copy_knows_its_training_and_its_step():
    whole, copy = trained("vit-mae-s", None), trained("vit-mae-s", None, step=50)
    models = describe(
        [
            card("vit-mae-s", "vision", "ViT", "MAE", training=whole),
            card("vit-mae-s-step00050", "vision", "ViT", "MAE", training=copy),
        ]
    )
    assert models["copy"].tolist() == [False, True]
    assert models["run"].tolist() == ["vit-mae-s"] * 2
    assert models["step"].tolist() == [300, 50]


def test_the_first_seed_of_a_usual_recipe_stands_for_it():
    def one(name: str, **config: object) -> ModelCard:
        whole = {"name": name, "steps": 9, **config}
        return card(name, "vision", "ViT", "MAE", training={"steps": 9, "config": whole})

    models = describe(
        [
            one("vit-s", seed=0),
            one("vit-s-seed2", seed=2),
            one("vit-s-wide", seed=0, varies="width"),
            one("vit-s-wide-seed1", seed=1, varies="width"),
            one("vit-m-seed1", seed=1),
            card("elsewhere", "vision", "ViT", "MAE"),
        ]
    )
    assert models["varies"].tolist() == ["", "seed", "width", "width", "", ""]
    assert models["recipe"].tolist()[:4] == ["vit-s", "vit-s", "vit-s-wide", "vit-s-wide"]
    assert usual(models)["model"].tolist() == ["vit-s", "vit-m-seed1", "elsewhere"]


def test_of_a_model_without_a_note_of_its_training_nothing_is_guessed():
    row = describe([card("gpt", "language", "GPT-2", "language")]).iloc[0]
    assert (row["run"], row["copy"], row["size"]) == ("gpt", False, "")
    assert np.isnan(row["step"])
    assert np.isnan(row["tasks"])


def test_titles_that_two_models_share_get_their_names():
    assert tell_apart(["A", "B", "A"], ["a1", "b", "a2"]) == ["A (a1)", "B", "A (a2)"]


def test_what_is_unknown_of_imported_models_is_no_kind():
    cards = [
        card("a", "language", "GPT-2", "language"),
        card("b", "language", "GPT-2", "language"),
        card("c", "language", IMPORTED, "unknown"),
        card("d", "vision", IMPORTED, "unknown"),
    ]
    models = describe([*cards, card("e", "vision", "gist", "unknown")], refused=["b"])
    assert clusters(models) == {"a": "GPT-2", "b": "GPT-2", "c": "c", "d": "d", "e": "gist"}
    assert clusters(models, "objective") == {"a": "language", "b": "language"} | {
        name: name for name in "cde"
    }
    assert clusters(models, "group") == {"a": "GPT-2", "b": "GPT-2"} | {n: n for n in "cde"}
    kin = {"a": "GPT-2 GPT-2", "b": "GPT-2 GPT-2", "c": "c", "d": "d", "e": "gist"}
    assert lines(models) == kin
    assert list(models["group"][2:]) == ["language models", "vision models", "vision models"]
    assert list(models["varies"]) == ["", REFUSED, "", "", ""]
    assert unknown_families(models, ["a", "c", "e"]) == ["c"]


def test_seeds_are_what_is_said_and_parted_from_the_name():
    told = [
        *((name, IMPORTED, None) for name in ("vit10", "vit11", "a-s0", "a_seed1", "b-10", "b-11")),
        *((name, "F", None) for name in ("s-b0", "s-l1", "c.0", "c.1")),
        *((name, "F", 5) for name in ("x0", "y1")),
    ]
    cards = [
        card(name, "vision", family, "unknown", size, {"seed": int(name[-1])})
        for name, family, size in told
    ]
    models = describe(cards).set_index("model")
    together = models.groupby("recipe").groups.values()
    assert {tuple(names) for names in together if len(names) > 1} == {
        ("a-s0", "a_seed1"),
        ("c.0", "c.1"),
        ("x0", "y1"),
    }


def test_groups_come_in_the_order_in_which_their_first_models_were_embedded():
    models = describe(
        [
            card("a-late", "language", "T5", "language"),
            card("b-first", "vision", "ViT", "BYOL"),
            card("c-first", "language", "OPT", "language"),
        ]
    )
    made_at = {"a-late": "2026-02-01", "b-first": "2026-01-01", "c-first": "2026-01-01"}
    assert groups_by_age(models, made_at) == [
        ("BYOL", "vision", "objective"),
        ("ViT", "vision", "family"),
        ("OPT", "language", "family"),
        ("T5", "language", "family"),
    ]
