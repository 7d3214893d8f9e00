"""What models expect and write, against the code lengths that they themselves give."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from tiny_models import make_language

from core.cave.captions import WORDINGS
from core.cave.events import COLORS
from core.cave.world import Cave
from core.competence.language import code_endings, guess_colors, sample_texts
from core.encoders.encoder import Encoder
from core.encoders.language.encoder import open_language
from core.errors import EncoderError
from core.stimuli.worlds import Choice

CPU = torch.device("cpu")


def opened(folder: Path, kind: str) -> Encoder:
    return open_language(f"hf:{make_language(folder / kind, kind)}", device=CPU)


def test_guesses_are_the_models_own_probabilities(tmp_path: Path) -> None:
    class Small(Cave):
        nouns: ClassVar = {"car": ("a car",)}

    encoder = opened(tmp_path, "bloom")
    table = guess_colors(encoder, Small())
    endings = tuple(f" {word}." for color in COLORS for word in WORDINGS[color])
    bits = code_endings(encoder, [Choice("", 0, "There is a car painted", endings, 0)])[0]
    wanted = np.exp2(-bits).reshape(8, -1).sum(1)
    assert table["guess"].to_numpy() == pytest.approx(wanted / wanted.sum())
    assert table["law"].sum() == pytest.approx(1)


@pytest.mark.parametrize("kind", ["gpt2", "bloom", "llama"])
def test_texts_are_drawn_again_from_the_same_seed(tmp_path: Path, kind: str) -> None:
    encoder = opened(tmp_path, kind)
    texts = sample_texts(encoder, count=8, tokens=6, seed=1)
    assert texts == sample_texts(encoder, count=8, tokens=6, seed=1)
    assert texts != sample_texts(encoder, count=8, tokens=6, seed=2)
    assert len(texts) == 8


def test_a_model_that_is_not_causal_writes_nothing(tmp_path: Path) -> None:
    with pytest.raises(EncoderError, match="writes none"):
        sample_texts(opened(tmp_path, "roberta"), count=2, tokens=3, seed=0)


@pytest.mark.parametrize("kind", ["gpt2", "bloom", "llama"])
def test_each_token_is_drawn_from_what_the_model_makes_of_those_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    encoder = opened(tmp_path, kind)
    drawn: list[torch.Tensor] = []

    def likeliest(chances: torch.Tensor, *_: int, **__: torch.Generator) -> torch.Tensor:
        drawn.append(chances)
        return chances.argmax(1, keepdim=True)

    monkeypatch.setattr(torch, "multinomial", likeliest)
    sample_texts(encoder, count=1, tokens=5, seed=0)
    ids = [encoder.tokenizer.bos_token_id, *(int(one.argmax()) for one in drawn)]
    whole = encoder.model(input_ids=torch.tensor([ids])).logits[0].softmax(1)
    torch.testing.assert_close(torch.cat(drawn), whole[:-1], rtol=1e-3, atol=1e-5)
