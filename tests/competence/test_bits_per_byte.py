"""Bits per byte of long texts against a pass over the whole text, and against one pass for every
single token.
"""

from __future__ import annotations

from math import log

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tiny_models import make_language, save_tokenizer

from core.cave.world import CaveDataset
from core.competence import bits_per_byte, opened
from core.competence.bits_per_byte import (
    Extent,
    Piece,
    code_models,
    code_texts,
    cut_windows,
    read_pieces,
    text_rows,
)
from core.competence.records import COLUMNS, measured_name
from core.competence.texts import open_texts
from core.embedding.runner import embed
from core.encoders.catalog import open_encoder
from core.errors import EncoderError, InputError, UnknownNameError
from core.store import Store, add_dataset

CPU = torch.device("cpu")
TEXT = (  # the tiny tokenizer spells every byte
    "Über den Bergen, sagt man, wohnt das Glück. 日本 🦙 é! "
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """Tiny models: with and without a token in front of every text, and one that predicts
    nothing.
    """
    root = tmp_path_factory.mktemp("coders")
    make_language(root / "fronted", "gpt2")
    make_language(root / "bare", "gpt2")
    save_tokenizer(root / "bare", bos=False)
    make_language(root / "masked", "bert")
    return root


@pytest.fixture(scope="module", params=["fronted", "bare"])
def encoder(request, folders):
    return open_encoder(f"hf:{folders / request.param}", device=CPU)


@torch.inference_mode()
def bits_after(encoder, before: list[int], token: int) -> float:
    """Return −log₂ p(token | before), by a pass of its own."""
    logits = encoder.model(input_ids=torch.tensor([before])).logits[0, -1].double()
    return float(-torch.log_softmax(logits, 0)[token]) / log(2)


@torch.inference_mode()
def single_pass(model, ids: list[int], begin: int = 1) -> float:
    """Return the bits of all tokens from one on, by one pass over all of them."""
    chances = torch.log_softmax(model(input_ids=torch.tensor([ids])).logits[0].double(), 1)
    return -sum(float(chances[at - 1, ids[at]]) for at in range(begin, len(ids))) / log(2)


def free(encoder) -> int:
    """Return how many tokens of TEXT nothing stands before: the two of Ü."""
    return 0 if encoder.card.name == "fronted" else 2


def test_a_text_that_fits_is_coded_as_by_one_pass(encoder):
    ids, size = encoder.tokenizer(TEXT[:30])["input_ids"], len(TEXT[:30].encode())
    costs = code_texts(encoder, [TEXT[:30]], tokens=1000)
    wanted = single_pass(encoder.model, ids, free(encoder) or 1)
    assert costs["bits"].tolist() == pytest.approx([wanted], rel=1e-5)
    assert costs["bytes"].tolist() == [size - free(encoder)]
    assert costs["tokens"].tolist() == [size]


def test_captions_cost_what_they_cost_while_they_are_embedded(encoder):
    texts = ["a red house", "two birds by the sea", "é", TEXT[:25]]
    costs, embedded = code_texts(encoder, texts, tokens=1000), encoder.encode(texts)
    np.testing.assert_allclose(costs["bits"], embedded.bits, rtol=1e-5)
    assert costs["bytes"].tolist() == embedded.bytes.tolist()


@pytest.mark.parametrize("context", [3, 16])
def test_windows_code_as_a_pass_for_every_token(encoder, context):
    piece = next(read_pieces(encoder, [TEXT], tokens=40))
    room, step = context - len(piece.front), (context - len(piece.front)) // 2
    expected = 0.0
    for place in range(free(encoder), len(piece.ids)):
        skipped = (
            0 if place < room else -(-(place - room + 1) // step)
        )  # the first window of begins 0, step, 2 step … that reaches it
        expected += bits_after(
            encoder, piece.front + piece.ids[skipped * step : place], piece.ids[place]
        )
    costs = code_texts(encoder, [TEXT], tokens=40, context=context)
    assert costs["bits"][0] == pytest.approx(expected, rel=1e-5)


@given(st.integers(0, 2), st.integers(0, 60), st.integers(2, 20))
def test_every_token_is_coded_once_with_half_a_window_before_it(front, count, room):
    coded_places = set(range(0 if front else 1, count))
    piece = Piece([-1] * front, list(range(count)), coded_places, len(coded_places))
    coded = []
    for number, window in enumerate(cut_windows(piece, front + room)):
        assert len(window.ids) <= front + room
        assert window.ids[:front] == piece.front
        assert window.places[0] >= 1
        assert number == 0 or window.places[0] - front >= room / 2
        coded += [window.ids[place] for place in window.places]
    assert coded == piece.ids[0 if front else 1 :]


def test_a_window_without_room_is_refused(encoder):
    with pytest.raises(
        InputError, match=r"a window of 1 tokens leaves \d for text .* use a longer --context"
    ):
        code_texts(encoder, [TEXT], tokens=10, context=1)
    with pytest.raises(
        EncoderError, match=r"reads at most 64 tokens, not 65; use a shorter --context"
    ):
        code_texts(encoder, [TEXT], tokens=10, context=65)


@given(text=st.text(min_size=1, max_size=30), tokens=st.integers(1, 40))
def test_a_text_is_cut_behind_a_whole_character(encoder, text, tokens):
    pieces = list(read_pieces(encoder, [text], tokens=tokens))
    assert len(pieces) == 1
    piece, whole = pieces[0], text.encode()
    assert text.startswith(whole[: len(piece.ids)].decode())  # a token per byte
    assert len(piece.coded) == piece.bytes
    assert min(tokens, len(whole)) <= len(piece.ids) < tokens + 4


def test_batches_and_progress_change_nothing(encoder, monkeypatch):
    heard = []
    texts = [TEXT, "short", TEXT[:20]]
    together = code_texts(
        encoder, texts, tokens=500, context=20, report=lambda *state: heard.append(state)
    )
    monkeypatch.setattr(bits_per_byte, "_TOGETHER", 1)
    alone = code_texts(encoder, texts, tokens=500, context=20)
    pd.testing.assert_frame_equal(together, alone, rtol=1e-5)
    coded = int(together["tokens"].sum()) - (5 if free(encoder) else 0)  # Ü, s and Ü
    assert heard[-1] == (coded, coded, f"tokens by {encoder.card.name}")


def test_a_text_of_one_token_has_no_bits_unless_something_stands_before_it(folders):
    bare, fronted = (
        open_encoder(f"hf:{folders / name}", device=CPU) for name in ("bare", "fronted")
    )
    costs = code_texts(bare, ["a", "ab"], tokens=10)
    assert costs["bits"].isna().tolist() == [True, False]
    ids = fronted.tokenizer("a")["input_ids"]
    assert code_texts(fronted, ["a"], tokens=10)["bits"][0] == pytest.approx(
        bits_after(fronted, ids[:1], ids[1]), rel=1e-5
    )
    rows = text_rows(code_texts(bare, ["a"], tokens=10), "x")
    assert all(
        np.isnan(row["value"]) and row["reason"] == "no text has a token that follows another one"
        for row in rows
    )


def test_tokens_that_the_model_does_not_know_are_refused(folders):
    encoder = open_encoder(f"hf:{folders / 'fronted'}", device=CPU)
    encoder.tokenizer.add_tokens([f"new{number}" for number in range(60)])
    with pytest.raises(
        EncoderError,
        match=r"token 3[01][0-9] is not among the 300 of fronted; use its own tokenizer",
    ):
        code_texts(encoder, ["new59"], tokens=10)


def test_rows_worked_out_by_hand():
    costs = pd.DataFrame(
        {"bits": [10.0, 40.0, np.nan], "bytes": [10.0, 20.0, 3.0], "tokens": [4.0, 9.0, 1.0]}
    )
    total, mean = text_rows(costs, "x.txt")
    assert (total["task"], mean["task"]) == (
        "bits per byte of x.txt",
        "bits per byte of x.txt, mean over texts",
    )
    assert (total["value"], mean["value"], total["n"], total["split"]) == (
        pytest.approx(5 / 3),
        1.5,
        2,
        "13 tokens",
    )
    single = text_rows(costs[:1], "x.txt")[0]
    assert (single["value"], single["n"], single["reason"]) == (
        1.0,
        1,
        "a single text has no interval",
    )
    assert np.isnan(single["low"])


def test_a_real_model_s_story(stories, tmp_path):
    """The text that the model's maker shows costs 0.46 nats a token in one pass, and more where the
    windows are short.
    """
    encoder = open_encoder(f"hf:{stories}", device=CPU)
    text = (
        "Once upon a time, there was a little girl named Lily. She loved to play outside in the"
        " park. One day, she saw a big, red ball. She wanted to play with it, but it was too"
        " high.\nLily's mom said, \"Lily, let's go to the park.\" Lily was sad and didn't know what"
        ' to do. She said, "I want to play with your ball, but I can\'t find it."\n'
    )
    (tmp_path / "story.txt").write_text(text)
    costs = code_texts(encoder, open_texts(str(tmp_path / "story.txt")).read(), tokens=10_000)
    ids = encoder.tokenizer(text)["input_ids"]
    assert costs["bits"][0] == pytest.approx(single_pass(encoder.model, ids), rel=1e-5)
    assert costs["bits"][0] * log(2) / (len(ids) - 1) < 0.6
    assert costs["bytes"][0] == len(text.encode())
    windowed = [
        code_texts(encoder, [text], tokens=10_000, context=context)["bits"][0]
        for context in (16, 64)
    ]
    assert windowed[0] > windowed[1] > costs["bits"][0]
    llama = code_texts(encoder, ["日本 🦙 x"], tokens=100)
    assert llama["bits"][0] == pytest.approx(
        single_pass(encoder.model, encoder.tokenizer("日本 🦙 x")["input_ids"]), rel=1e-5
    )
    assert llama["bytes"][0] == len("日本 🦙 x".encode())


@pytest.fixture(scope="module")
def world(folders, tmp_path_factory):
    store = tmp_path_factory.mktemp("coding") / "store"
    add_dataset(store, CaveDataset(12))
    for name in ("fronted", "masked"):
        embed(store, CaveDataset(12), open_encoder(f"hf:{folders / name}", device=CPU))
    return store


def test_rows_are_kept_for_each_text_and_made_once(world, tmp_path, monkeypatch):
    for name, text in (("one.txt", TEXT), ("two.txt", TEXT[:20])):
        (tmp_path / name).write_text(text)
    first, second = (open_texts(str(tmp_path / name)) for name in ("one.txt", "two.txt"))
    rows = code_models(world, "cave", [], first, Extent(), device=CPU)
    assert list(rows.columns) == list(COLUMNS)
    assert rows["model"].tolist() == ["fronted", "fronted", "masked", "masked"]
    assert (
        rows["task"].tolist()
        == ["bits per byte of one.txt", "bits per byte of one.txt, mean over texts"] * 2
    )
    assert set(rows["reason"][2:]) == {
        "this model does not predict text, so it has no bits per byte"
    }
    code_models(world, "cave", ["fronted"], second, Extent(), device=CPU)
    kept, recipe = Store(world).result("cave", measured_name("texts", "fronted"))
    assert len(kept) == 4
    assert set(recipe.choices["made"]) == set(kept["source"])
    (tmp_path / "again.txt").write_text(TEXT)
    third = open_texts(str(tmp_path / "again.txt"))
    again = code_models(world, "cave", ["fronted"], third, Extent(), device=CPU)
    assert again["task"].tolist() == [
        "bits per byte of again.txt",
        "bits per byte of again.txt, mean over texts",
    ]
    assert again["value"].tolist() == rows["value"][:2].tolist()
    fewer = code_models(world, "cave", ["fronted"], first, Extent(tokens=10), device=CPU)
    assert fewer["split"].tolist() == ["10 tokens"] * 2
    monkeypatch.setattr(opened, "open_encoder", None)
    pd.testing.assert_frame_equal(
        code_models(world, "cave", ["fronted"], first, Extent(tokens=10), device=CPU), fewer
    )
    with pytest.raises(UnknownNameError, match="fronted"):
        code_models(world, "cave", ["fronte"], first, Extent(), device=CPU)


@pytest.mark.gpu
def test_a_gpu_codes_almost_as_the_cpu_does(folders):
    costs = [
        code_texts(
            open_encoder(f"hf:{folders / 'fronted'}", device=torch.device(name)),
            [TEXT],
            tokens=99,
            context=20,
        )
        for name in ("cpu", "cuda")
    ]
    assert costs[1]["bits"][0] == pytest.approx(
        costs[0]["bits"][0], rel=0.02
    )  # bfloat16 has two to three digits
