"""The pool holds what the world shows and says, and nothing of the test events."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from core.cave.captions import LEVELS, describe
from core.cave.events import draw_event, events
from core.cave.tasks import FACTORS
from core.cave.training import pool as pools
from core.cave.training.configs import CONTEXT, VOCABULARY
from core.cave.training.pool import SPLIT, Pool


def test_answers_are_read_off_the_event(pool: Pool) -> None:
    event = draw_event(SPLIT, 5)
    row = pool.answers()[5].tolist()
    named = {
        name: values[answer] for (name, values), answer in zip(FACTORS.items(), row, strict=True)
    }
    assert named["scene"] == event.scene
    assert named["count"] == str(len(event.things))
    assert named["leftmost kind"] == event.things[0].kind
    assert named["rightmost color"] == event.things[-1].color
    assert {name.removeprefix("has ") for name, answer in named.items() if answer == "yes"} == {
        t.kind for t in event.things
    }


def test_captions_decode_to_the_descriptions(pool: Pool) -> None:
    tokens, tokenizer = pool.captions(), pool.tokenizer()
    assert tokens.shape == (24, len(LEVELS), CONTEXT)
    assert len(tokenizer) <= VOCABULARY
    assert tokenizer.pad_token_id == 0
    for number, level in enumerate(LEVELS):
        text = tokenizer.decode(tokens[9, number].long(), skip_special_tokens=True)
        assert text == describe(draw_event(SPLIT, 9), level)


@pytest.mark.slow
def test_passage_tells_one_event_several_times_and_ends_with_a_sentence(pool: Pool) -> None:
    tokenizer, lengths = pool.tokenizer(), []
    for row in pool.passages().long():
        text = tokenizer.decode(row, skip_special_tokens=True)
        assert tokenizer(text)["input_ids"] == row[row != 0].tolist()
        assert text.endswith(".")
        lengths.append(text.count("."))
    assert np.mean(lengths) > 3


@pytest.mark.slow
def test_no_caption_is_too_long_for_a_model(pool: Pool) -> None:
    tokenizer = pool.tokenizer()
    texts = [describe(event, level) for event in events("test", 64) for level in LEVELS]
    assert max(len(ids) for ids in tokenizer(texts)["input_ids"]) <= CONTEXT


@pytest.mark.slow
def test_workers_write_what_one_process_writes(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "_CHUNK", 8)
    side_by_side = replace(pool, root=tmp_path, jobs=2)
    assert torch.equal(side_by_side.answers(), pool.answers())


@pytest.mark.slow
def test_another_grammar_gets_other_captions_and_the_same_images(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "describe", lambda *_: "something else")
    other = replace(pool)
    assert other.said != pool.said
    assert other.shown == pool.shown
