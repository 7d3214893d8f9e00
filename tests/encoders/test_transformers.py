"""Language models: a batch equals one text at a time without padding; bits equal a plain sum; bad
folders are refused in words.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from huggingface_hub import constants
from safetensors.torch import load_file, save_file
from tiny_models import CAUSAL, CONFIGS, make_language, put_in_cache, save_tokenizer
from transformers.utils.sentencepiece_model_pb2_new import ModelProto

from core.encoders.catalog import open_encoder
from core.encoders.language.encoder import open_language
from core.encoders.language.folder import load_tokenizer
from core.errors import EncoderError, OfflineError

CPU = torch.device("cpu")
TEXTS = [
    "a cat",
    "two red dogs behind a tall tree",
    "x",
    "naïve café ☕",
    "a cat sat on the mat, it is said",
]
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    return {kind: make_language(root / f"tiny-{kind}", kind) for kind in CONFIGS}


PLACES = {
    "mean": lambda state: state.mean(0),
    "last": lambda state: state[-1],
    "first": lambda state: state[0],
}


def encode_one_by_one(folder, texts, *, causal, pooling="mean"):
    """Encode without a batch, a mask or padding, as the definitions say; layers, bits."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    kind = transformers.AutoModelForCausalLM if causal else transformers.AutoModel
    model = kind.from_pretrained(folder).eval()
    rows, bits = [], []
    for text in texts:
        ids = torch.tensor([tokenizer(text)["input_ids"]])
        with torch.no_grad():
            output = model(input_ids=ids, output_hidden_states=True)
        rows.append([PLACES[pooling](state[0]) for state in output.hidden_states])
        if causal:
            nats = F.cross_entropy(output.logits[0, :-1], ids[0, 1:], reduction="none")
            bits.append(float(nats.double().sum() / np.log(2)))
    return [torch.stack(layer).numpy() for layer in zip(*rows, strict=True)], np.array(bits)


@pytest.mark.parametrize(
    ("kind", "pooling"),
    [("gpt2", "mean"), ("gpt2", "last"), ("bert", "first")],
)
def test_a_batch_equals_one_text_at_a_time(folders, kind, pooling):
    layers, bits = encode_one_by_one(folders[kind], TEXTS, causal=kind in CAUSAL, pooling=pooling)
    encoding = open_language(f"hf:{folders[kind]}", device=CPU, pooling=pooling).encode(TEXTS)
    assert len(encoding.layers) == len(layers) == 3
    for layer, wanted in zip(encoding.layers, layers, strict=True):
        assert layer.dtype == np.float32
        np.testing.assert_allclose(layer, wanted, **CLOSE)
    if kind in CAUSAL:
        np.testing.assert_allclose(encoding.bits, bits, rtol=1e-5)
        np.testing.assert_array_equal(encoding.bytes, [len(text.encode()) for text in TEXTS])
    else:
        assert encoding.bits is None
        assert encoding.bytes is None


def test_within_the_papers_prompt_vectors_are_of_the_sentence_and_bits_of_the_caption(folders):
    sentences = [f"An image with the caption '{text}'. This is an image of a" for text in TEXTS]
    layers, _ = encode_one_by_one(folders["bloom"], sentences, causal=True, pooling="last")
    _, bits = encode_one_by_one(folders["bloom"], TEXTS, causal=True)
    spec = f"hf:{folders['bloom']}"
    encoder = open_encoder(spec, device=CPU, pooling="last", prompt="paper")
    encoding = encoder.encode(TEXTS)
    for layer, wanted in zip(encoding.layers, layers, strict=True):
        np.testing.assert_allclose(layer, wanted, **CLOSE)
    np.testing.assert_allclose(encoding.bits, bits, rtol=1e-5)
    np.testing.assert_array_equal(encoding.bytes, [len(text.encode()) for text in TEXTS])
    assert encoder.recipe["prompt"].format("x") == sentences[2]
    assert "prompt" not in open_encoder(spec, device=CPU).recipe


def test_a_prompt_that_the_limit_would_cut_is_refused(folders):
    encoder = open_language(f"hf:{folders['bert']}", device=CPU, prompt="paper")
    assert encoder.encode(["x"]).bits is None
    with pytest.raises(
        EncoderError, match="reads 64 tokens at most, and the text 'a long cat on a mat' … within"
    ):
        encoder.encode(["x", "a long cat on a mat"])


def test_a_text_without_tokens_is_refused(tmp_path, folders):
    folder = shutil.copytree(folders["gpt2"], tmp_path / "m")
    save_tokenizer(folder, bos=False)
    with pytest.raises(
        EncoderError, match="the text '' has no tokens for m; give each stimulus a caption"
    ):
        open_language(f"hf:{folder}", device=CPU).encode(["x", ""])


@pytest.mark.parametrize("kind", ["gpt2", "llama", "opt"])
def test_a_cut_text_counts_the_bytes_that_were_kept(folders, kind):
    encoder = open_language(f"hf:{folders[kind]}", device=CPU)
    assert encoder.recipe["tokens"]["longest"] == encoder.limit == 64
    text = "é" * 31 + "a" * 200  # 64 tokens are <s>, 62 bytes of é and one a
    cut, kept = encoder.encode([text, "b"]), encoder.encode([text[:32], "b"])
    np.testing.assert_array_equal(cut.bytes, [63, 1])
    np.testing.assert_array_equal(cut.bytes, kept.bytes)
    np.testing.assert_allclose(cut.bits, kept.bits, rtol=1e-6)
    np.testing.assert_allclose(cut.layers[-1], kept.layers[-1], **CLOSE)


def test_roberta_loses_the_positions_before_its_padding_row(folders):
    encoder = open_language(f"hf:{folders['roberta']}", device=CPU)
    assert encoder.limit == 64  # 66 rows, of which 0 and 1 are never places
    assert np.isfinite(encoder.encode(["a" * 500]).layers[-1]).all()


def released(folder, texts):
    """Return what the released pipeline does: pad a batch on the left, mask, average, sum the
    losses; layers and bits per byte.
    """
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, padding_side="left")
    model = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    ids, mask = batch["input_ids"], batch["attention_mask"]
    with torch.no_grad():
        output = model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    states = torch.stack(output.hidden_states, dim=1)
    real = mask[:, None, :, None]
    layers = (states * real).sum(2) / real.sum(2)
    losses = F.cross_entropy(output.logits[:, :-1].transpose(1, 2), ids[:, 1:], reduction="none")
    nats = (losses * mask[:, :-1]).sum(
        1
    )  # the loss of a token counts where the token before it is real
    return layers.numpy(), (nats / np.log(2)).numpy() / [len(text.encode()) for text in texts]


def test_a_real_model_agrees_with_the_released_pipeline(stories):
    texts = [
        "A dog runs over the grass .",
        "Two children in red coats climb a snowy hill behind their house .",
        "Sunset .",
    ]
    layers, bits_per_byte = released(stories, texts)
    encoder = open_language(f"hf:{stories}", device=CPU)
    encoding = encoder.encode(texts)
    np.testing.assert_allclose(np.stack(encoding.layers, axis=1), layers, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(encoding.bits / encoding.bytes, bits_per_byte, rtol=1e-4)
    assert encoder.card.parameters == 260_032
    assert encoder.card.layers[-1] == "block 5"
    assert (
        encoder.card.weights == "407a7c581bdd66972383ce9ad24857713fb98786d06ea564a2fe9b34ebe77dfd"
    )


def test_a_real_model_gives_the_published_loss(stories, flickr):
    """The folder's own notes give a mean loss of 3.28 nats per token over the first 200
    captions.
    """
    import pandas as pd

    texts = pd.read_csv(flickr / "captions.csv").caption[:200].tolist()
    encoder = open_language(f"hf:{stories}", device=CPU)
    encoding = encoder.encode(texts)
    predicted = [len(ids) - 1 for ids in encoder.tokenizer(texts)["input_ids"]]
    assert np.mean(encoding.bits * np.log(2) / predicted) == pytest.approx(3.28, abs=0.005)


def assert_refused(folder, message):
    with pytest.raises(EncoderError, match=message):
        open_language(f"hf:{folder}", device=CPU)


@pytest.fixture
def broken(tmp_path, folders):
    return shutil.copytree(folders["llama"], tmp_path / "broken")


def test_hub_id_without_network_names_the_cache_and_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(
        OfflineError,
        match=(
            r"hf:org/gpt is not in the cache folder .*cache and"
            r" .*HF_HUB_OFFLINE.*HF_HOME.*hf:FOLDER"
        ),
    ):
        open_language("hf:org/gpt", device=CPU)


def test_a_hub_model_comes_from_the_cache(tmp_path, monkeypatch, folders):
    put_in_cache(tmp_path / "cache", "org/tiny", folders["llama"])
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    encoder, local = (
        open_language("hf:org/tiny", device=CPU),
        open_language(f"hf:{folders['llama']}", device=CPU),
    )
    assert (encoder.card.name, encoder.card.weights) == ("tiny", local.card.weights)
    assert encoder.recipe == local.recipe
    np.testing.assert_array_equal(encoder.encode(TEXTS).layers[-1], local.encode(TEXTS).layers[-1])


def test_pickled_weights_are_read_as_tensors_alone(broken):
    """They give what safetensors give, whole or split, and nothing in them runs."""
    opened = open_encoder(f"hf:{broken}", device=CPU)
    tensors = load_file(broken / "model.safetensors")
    (broken / "model.safetensors").unlink()
    names, files = sorted(tensors), [f"pytorch_model-{part}.bin" for part in (1, 2)]
    for half, file in zip((names[:9], names[9:]), files, strict=True):
        torch.save({name: tensors[name] for name in half}, broken / file)
    index = {"metadata": {}, "weight_map": {name: files[at > 8] for at, name in enumerate(names)}}
    (broken / "pytorch_model.bin.index.json").write_text(json.dumps(index))
    again = open_encoder(f"hf:{broken}", device=CPU)
    assert again.card.parameters == opened.card.parameters
    for one, other in zip(again.encode(TEXTS).layers, opened.encode(TEXTS).layers, strict=True):
        np.testing.assert_array_equal(one, other)
    torch.save({"x": Trap(broken / "ran")}, broken / files[0])
    assert_refused(broken, "holds pickled objects, which could run code")
    assert not (broken / "ran").exists()


class Trap:
    """Makes a file when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self):
        return Path.touch, (self.place,)


def drop_head(folder):
    state = load_file(folder / "model.safetensors")
    del state["lm_head.weight"]
    save_file(state, folder / "model.safetensors", metadata={"format": "pt"})


def cut_weights(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def no_tokenizer(folder):
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer_config.json").unlink()


def own_code(folder):
    config = json.loads((folder / "config.json").read_text())
    own = {"AutoConfig": "mine.Config", "AutoModelForCausalLM": "mine.Model"}
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "m", "auto_map": own}))
    (folder / "mine.py").write_text(f"open({str(folder / 'ran')!r}, 'w')")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda folder: (folder / "config.json").unlink(), "has no config.json; expected a trans"),
        (lambda folder: (folder / "config.json").write_text("[1"), "cannot be"),
        (no_tokenizer, "has no tokenizer; expected tokenizer.json"),
        (lambda folder: (folder / "tokenizer.json").write_text("{"), "tokenizer in .* cannot be r"),
        (cut_weights, "model.safetensors cannot be read .*expected whole weights: copy or fetch"),
        (drop_head, "lacks weights of LlamaForCausalLM: lm_head.weight"),
        (own_code, "cannot be opened: .*transformers knows without the model's own code"),
    ],
)
def test_a_folder_that_is_not_whole_is_a_sentence(broken, spoil, message):
    spoil(broken)
    assert_refused(broken, message)
    assert not (broken / "ran").exists()


@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_model_that_the_memory_cannot_hold_runs_from_the_disk(folders, monkeypatch, kind):
    whole = open_language(f"hf:{folders[kind]}", device=CPU).encode(TEXTS)
    size = (folders[kind] / "model.safetensors").stat().st_size
    monkeypatch.setattr("core.encoders.language.folder.free_on", lambda _: size // 2)
    encoder = open_language(f"hf:{folders[kind]}", device=CPU)
    assert "disk" in encoder.model.hf_device_map.values()
    spread = encoder.encode(TEXTS)
    for layer, wanted in zip(spread.layers, whole.layers, strict=True):
        np.testing.assert_array_equal(layer, wanted)
    np.testing.assert_allclose(spread.bits, whole.bits)


@pytest.mark.gpu
@pytest.mark.parametrize("kind", CONFIGS)
def test_a_gpu_gives_what_the_cpu_gives(folders, kind):
    cpu = open_language(f"hf:{folders[kind]}", device=CPU).encode(TEXTS)
    encoder = open_language(f"hf:{folders[kind]}", device=torch.device("cuda"))
    gpu = encoder.encode(TEXTS)
    assert encoder.recipe["precision"] == "bfloat16 autocast"
    for layer, wanted in zip(gpu.layers, cpu.layers, strict=True):
        assert np.linalg.norm(layer - wanted) < 0.05 * np.linalg.norm(wanted)
    if kind in CAUSAL:
        np.testing.assert_allclose(gpu.bits, cpu.bits, rtol=0.05)


def test_tokens_that_the_weights_do_not_know(tmp_path):
    config = transformers.GPT2Config(n_embd=16, n_layer=1, n_head=2, vocab_size=40, n_positions=64)
    transformers.GPT2LMHeadModel(config).save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    with pytest.raises(EncoderError, match=r"token \d+ of 'zebra' is not among the 40 of"):
        open_language(f"hf:{tmp_path}", device=CPU).encode(["zebra"])


def test_a_tokenizer_of_sentencepiece_alone_is_that_of_tokenizer_json(broken):
    """As OpenLLaMA has it; transformers reads it only where a further library is installed."""
    marks, letters = ["<unk>", "<s>", "</s>"], [f"<0x{byte:02X}>" for byte in range(256)]
    merged = ["▁", "a", "c", "t", "▁a", "ca", "▁ca", "▁cat"]
    vocabulary = {piece: at for at, piece in enumerate([*marks, *letters, *merged])}
    merges = [("▁", "a"), ("c", "a"), ("▁", "ca"), ("▁ca", "t")]
    whole = transformers.LlamaTokenizer(vocab=vocabulary, merges=merges, add_bos_token=True)
    whole.save_pretrained(broken)
    expected = load_tokenizer(broken)(TEXTS).input_ids
    (broken / "tokenizer.json").unlink()
    proto = ModelProto()
    for piece in vocabulary:
        proto.pieces.add(piece=piece)
    proto.trainer_spec.model_type = 2
    proto.normalizer_spec.remove_extra_whitespaces = False
    (broken / "tokenizer.model").write_bytes(proto.SerializeToString())
    said = json.loads((broken / "tokenizer_config.json").read_text())
    named = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True}
    (broken / "tokenizer_config.json").write_text(json.dumps({**said, **named}))
    assert load_tokenizer(broken)(TEXTS).input_ids == expected
    assert expected[0][0] == 1
    assert len(expected[0]) < len(TEXTS[0])
    loose, tight = ["a  cat ", " a cat"], ["a cat", "a cat"]
    assert load_tokenizer(broken)(loose).input_ids != load_tokenizer(broken)(tight).input_ids
    proto.normalizer_spec.remove_extra_whitespaces = True
    (broken / "tokenizer.model").write_bytes(proto.SerializeToString())
    assert load_tokenizer(broken)(loose).input_ids == load_tokenizer(broken)(tight).input_ids
    proto.trainer_spec.model_type = 1
    (broken / "tokenizer.model").write_bytes(proto.SerializeToString())
    assert_refused(broken, "is no byte-pair model")
    (broken / "tokenizer.model").write_bytes(b"\xff\xff")
    assert_refused(broken, "the tokenizer in .* cannot be read")
