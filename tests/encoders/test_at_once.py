"""Models that several threads of a server make at once are those that one makes alone."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import torch

from core.encoders.language.encoder import open_language
from core.encoders.vision import load_untrained
from core.settings import CAVE_WEIGHTS

SPEC = f"hf:{CAVE_WEIGHTS / 'gpt2-xs'}"
TEXTS = ["a red ball", "two birds by the sea"]


def language(precision: str) -> list[float]:
    encoder = open_language(SPEC, device=torch.device("cpu"), precision=precision)
    assert not any(weight.is_meta for weight in encoder.model.parameters())
    return [float(layer.sum()) for layer in encoder.encode(TEXTS).layers]


def vision(_: str) -> list[str]:
    model = load_untrained("vit_tiny_patch16_224").model
    return sorted({str(weight.dtype) for weight in model.parameters()})


def test_threads_that_make_models_at_once_get_those_of_one() -> None:
    kinds = [(language, "fp32"), (vision, ""), (language, "bf16")] * 3
    alone = {kind: make(precision) for kind in dict.fromkeys(kinds) for make, precision in [kind]}
    with ThreadPoolExecutor(4) as threads:
        made = list(threads.map(lambda kind: kind[0](kind[1]), kinds))
    assert made == [alone[kind] for kind in kinds]
    assert torch.get_default_dtype() == torch.float32
