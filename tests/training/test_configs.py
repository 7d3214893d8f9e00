"""The table names a whole family, and each of its models can be built."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
import torch
from transformers import PreTrainedTokenizerBase

from core.errors import UnknownNameError
from core.settings import CAVE_WEIGHTS
from core.training.configs import ALL_TASKS, VOCABULARY, Config
from core.training.family import CONFIGS, TASK_COUNTS, draw_tasks, select
from core.training.language import build_language
from core.training.vision import build_vision

BUDGET = 69e6  # bytes; with pictures and fonts under 70 MB


class Vocabulary(PreTrainedTokenizerBase):
    """As many tokens as the real tokenizer has, and its special ones."""

    def __init__(self) -> None:
        super().__init__(pad_token="<pad>", bos_token="<s>", eos_token="</s>")

    def __len__(self) -> int:
        return VOCABULARY

    def convert_tokens_to_ids(self, tokens: str | list[str]) -> int | list[int]:
        order = ["<pad>", "<s>", "</s>"]
        return (
            order.index(tokens)
            if isinstance(tokens, str)
            else [order.index(token) for token in tokens]
        )


def parameters(config: Config) -> int:
    with torch.device("meta"):
        model = (
            build_vision(config)
            if config.reads == "image"
            else build_language(config, Vocabulary())
        )
    return sum(parameter.numel() for parameter in model.parameters())


@pytest.fixture(scope="module")
def sizes() -> dict[str, int]:
    return {name: parameters(config) for name, config in CONFIGS.items()}


def test_every_model_can_be_built(sizes: dict[str, int]) -> None:
    assert sizes["vit-multitask-s"] == 214_848
    assert all(count > 5_000 for count in sizes.values())


def test_sizes_grow(sizes: dict[str, int]) -> None:
    for line in (
        "vit-multitask",
        "vit-mae",
        "vit-simclr",
        "vit-clip",
        "vit-tuned",
        "resnet-multitask",
        "gpt2",
        "llama",
        "bloom",
    ):
        steps = [
            sizes[f"{line}-{size}"]
            for size in ("xs", "s", "m", "l", "xl")
            if f"{line}-{size}" in sizes
        ]
        assert len(steps) >= 3
        assert all(1.5 * small < large for small, large in pairwise(steps))


def test_language_models_span_70_thousand_to_1_7_million_parameters(sizes: dict[str, int]) -> None:
    assert min(sizes[f"{line}-xs"] for line in ("gpt2", "llama", "bloom")) < 75_000
    assert max(sizes[f"{line}-xl"] for line in ("gpt2", "llama", "bloom")) > 1_600_000


def test_what_is_shipped_of_the_family_stays_small() -> None:
    shipped = [path.stat().st_size for path in CAVE_WEIGHTS.rglob("*") if path.is_file()]
    assert 30e6 < sum(shipped) < BUDGET


def test_core_spans_objectives_sizes_and_architectures() -> None:
    core = select(tiers=("starter", "core"))
    vision = Counter(config.objective for config in core if config.family == "ViT")
    language = Counter(config.family for config in core if config.reads == "caption")
    assert all(
        vision[objective] >= 2 for objective in ("multitask", "MAE (class token)", "SimCLR", "CLIP")
    )
    assert set(language) == {"GPT-2", "LLaMA", "BLOOM"}
    assert sum(language.values()) >= 8


def test_starters_are_four_and_four() -> None:
    assert Counter(config.reads for config in select(tiers=("starter",))) == {
        "image": 4,
        "caption": 4,
    }


def test_task_sets_share_no_task_while_the_tasks_last() -> None:
    for count in TASK_COUNTS:
        first, second, third = draw_tasks(count)
        assert len({*first, *second}) == 2 * count
        assert count == 16 or len({*first, *second, *third}) == 3 * count
        assert {*first, *second, *third} <= {*ALL_TASKS}
        assert draw_tasks(count) == [first, second, third]


def test_replicates_differ_in_seed_and_start_alone() -> None:
    again = [config for config in CONFIGS.values() if config.seed]
    assert len(again) == 2 * (24 + 2 + 4 + 4 + 6) + 8
    for config in again:
        first = CONFIGS[config.name.removesuffix(f"-seed{config.seed}")]
        start = first.start and f"{first.start}-seed{config.seed}"
        same = replace(
            first,
            name=config.name,
            title=config.title,
            seed=config.seed,
            start=start,
            snapshots=(),
            tier="family",
        )
        assert config == same


def test_start_stands_before_what_begins_with_it() -> None:
    order = list(CONFIGS)
    assert any(config.start for config in CONFIGS.values())
    for config in CONFIGS.values():
        assert config.start is None or order.index(config.start) < order.index(config.name)
        assert config.start is None or CONFIGS[config.start].model == config.model


def test_untrained_models_take_no_step() -> None:
    assert all(
        (config.steps == 0) == (config.objective == "untrained") for config in CONFIGS.values()
    )
    assert all(0 < step < config.steps for config in CONFIGS.values() for step in config.snapshots)


def test_selection_keeps_the_order_of_the_table() -> None:
    assert [config.name for config in select(["llama-s", "gpt2-s"])] == ["gpt2-s", "llama-s"]
    assert select() == []


def test_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(
        UnknownNameError, match=r"no training config named 'gpt-s'; did you mean gpt2-s"
    ):
        select(["gpt-s"])
