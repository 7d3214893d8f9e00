"""Choosing among endings, against the code lengths that the encoder itself gives whole texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_models import make_language

from core.cave.exams import items
from core.competence.language import choose, code_endings
from core.encoders.encoder import Encoder
from core.encoders.language.encoder import open_language
from core.errors import EncoderError
from core.stimuli.worlds import Choice

CPU = torch.device("cpu")
ASKED = [*items("binding")[:3], *items("companions")[:3], *items("counting")[:3]]


def opened(folder: Path, kind: str) -> Encoder:
    return open_language(f"hf:{make_language(folder / kind, kind)}", device=CPU)


def test_an_ending_costs_what_the_whole_costs_beyond_its_context(tmp_path):
    encoder = opened(tmp_path, "bloom")
    codes = code_endings(encoder, ASKED)
    for item, found in zip(ASKED, codes, strict=True):
        alone = encoder.encode([item.context]).bits[0]
        for ending, code in zip(item.endings, found, strict=True):
            whole = encoder.encode([item.context + ending]).bits[0]
            assert code == pytest.approx(whole - alone, rel=1e-3)


def test_items_cost_the_same_in_any_company(tmp_path):
    encoder = opened(tmp_path, "bloom")
    assert code_endings(encoder, ASKED)[3:5] == pytest.approx(
        code_endings(encoder, ASKED[3:5]), rel=1e-4
    )


def test_models_that_cannot_continue_a_text_are_refused(tmp_path):
    with pytest.raises(EncoderError, match="bert does not predict text from left to right"):
        code_endings(opened(tmp_path, "bert"), ASKED)
    with pytest.raises(
        EncoderError, match=r"a text of \d+ tokens is longer than the 64 that gpt2 can read"
    ):
        code_endings(opened(tmp_path, "gpt2"), ASKED)


def test_the_ending_of_the_fewest_bits_is_chosen():
    endings = (" a", " b", " c", " d")
    asked = [Choice("binding", 0, "x", endings, answer) for answer in (0, 1, 2, 3)]
    codes = np.array(
        [[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 0.5]]
    )
    score = choose(codes, asked)
    assert (score.value, score.chance, score.n) == (0.75, 0.25, 4)
    assert score.low < 0.75 < score.high
