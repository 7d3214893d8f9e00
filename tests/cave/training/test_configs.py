"""The table names a whole family, and each of its models can be built."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from transformers import PreTrainedTokenizerBase

from core.cave.training.configs import (
    ALL_TASKS,
    CONFIGS,
    TASK_COUNTS,
    VOCABULARY,
    Config,
    draw_tasks,
)
from core.cave.training.language import build_language
from core.cave.training.vision import build_vision


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


@pytest.mark.slow
def test_every_model_can_be_built(sizes: dict[str, int]) -> None:
    assert sizes["vit-multitask-s"] == 214_848
    assert all(count > 5_000 for count in sizes.values())


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


def test_half_the_steps_are_those_that_size_m_was_trained_with_at_first() -> None:
    half = {name: config.steps for name, config in CONFIGS.items() if config.varies == "steps"}
    assert {CONFIGS[name].tier for name in half} == {"family"}
    assert half == {
        "vit-multitask-m-half": 3000,
        "vit-mae-m-half": 3000,
        "vit-simclr-m-half": 1500,
        "vit-clip-m-half": 1500,
        "resnet-multitask-m-half": 3000,
        "gpt2-m-half": 2500,
        "llama-m-half": 2500,
        "bloom-m-half": 2500,
        "roberta-m-half": 2500,
    }


def test_start_stands_before_what_begins_with_it() -> None:
    order = list(CONFIGS)
    assert any(config.start for config in CONFIGS.values())
    for config in CONFIGS.values():
        assert config.start is None or order.index(config.start) < order.index(config.name)
        assert config.start is None or CONFIGS[config.start].model == config.model
