"""A zoo of tiny transformers folders: each gives what its library gives for one text alone, and bad
folders are refused by name.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tiny_models import CAUSAL, CONFIGS, ZOO, make_language, save_tokenizer
from tokenizers import Tokenizer, models, pre_tokenizers

from core.cave.world import CaveDataset
from core.cli import main
from core.embedding.runner import encode_fitting
from core.encoders.language.encoder import LanguageEncoder, groups, open_language, pad
from core.errors import DeviceError, EncoderError
from core.machine import memory
from core.store import Store, add_dataset

CPU = torch.device("cpu")
TEXTS = [
    "a cat",
    "two red dogs behind a tall tree",
    "x",
    "naïve café ☕",
    "a cat on the mat, it is",
]
EARLY = ("gemma2", "mamba", "fnet")  # in the default tests
BY_LENGTH = ("fnet", "mobilebert", "convbert")
NO_BF16 = ("deberta", "fnet", "xlnet")  # as their libraries write float32 into them
ODD_BITS = ("bert_lm", "xlnet")  # named causal, but each token sees those behind it


def is_causal(kind: str) -> bool:
    return kind in CAUSAL or (
        ZOO.get(kind, ("",))[0].endswith(("ForCausalLM", "LMHeadModel")) and kind not in ODD_BITS
    )


def alone(encoder: LanguageEncoder, folder: Path, text: str) -> tuple[list[np.ndarray], float]:
    """Return the mean states and the bits of one text, from the library's own forward and its whole
    logits.
    """
    named = ZOO[folder.name][0] if folder.name in ZOO else ""
    headed = is_causal(folder.name) or named.endswith("LMHeadModel")
    kind = transformers.AutoModelForCausalLM if headed else transformers.AutoModel
    model = kind.from_pretrained(folder, dtype=encoder.model.dtype).eval()
    ids = torch.tensor([encoder.tokenizer(text)["input_ids"]])
    with torch.inference_mode():
        given = model(input_ids=ids, attention_mask=torch.ones_like(ids), output_hidden_states=True)
    states = [state[0].float().mean(0).numpy() for state in given.hidden_states]
    if not is_causal(folder.name):
        return states, np.nan
    logs = given.logits[0, :-1].float().log_softmax(1)
    return states, -float(logs.gather(1, ids[0, 1:, None]).double().sum()) / np.log(2)


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if kind in EARLY else pytest.mark.slow)
        for kind in (*CONFIGS, *ZOO)
    ],
)
def test_a_model_gives_what_its_library_gives_for_one_text_alone(tmp_path, capfd, kind):
    folder = make_language(tmp_path / kind, kind)
    for precision in ("fp32", "bf16")[: 1 if kind in NO_BF16 else 2]:
        capfd.readouterr()
        encoder = open_language(f"hf:{folder}", device=CPU, precision=precision)
        together = encoder.encode(TEXTS)
        single = [encoder.encode([text]) for text in TEXTS]
        assert capfd.readouterr() == ("", "")
        assert encoder.readout.is_causal == is_causal(kind) == (together.bits is not None)
        count = len(together.layers) - 1
        names = [f"block {i}" for i in range(1, count + 1)]
        late = "mamba" in kind or kind == "rwkv"  # their states begin behind the first block
        assert encoder.card.layers == ((*names, "last norm") if late else ("embedding", *names))
        assert encoder.readout.together == ("equal" if kind in BY_LENGTH else "padded")
        exact = precision == "fp32"
        for place, text in enumerate(TEXTS):
            states, bits = alone(encoder, folder, text)
            for wanted, own, all_ in zip(
                states, single[place].layers, together.layers, strict=True
            ):
                scale = np.abs(wanted).max()
                np.testing.assert_allclose(own[0], wanted, rtol=0, atol=1e-5 * scale)
                np.testing.assert_allclose(
                    all_[place], wanted, rtol=0, atol=(1e-5 if exact else 0.03) * scale
                )
            if is_causal(kind):
                np.testing.assert_allclose(single[place].bits[0], bits, rtol=1e-6)
                np.testing.assert_allclose(together.bits[place], bits, rtol=1e-5 if exact else 0.01)


def test_texts_of_one_pass():
    tokens = [[0] * size for size in (3, 5, 3, 20_000, 5)]
    assert list(groups(tokens, "padded")) == [[0, 1, 2], [3], [4]]
    assert list(groups(tokens, "equal")) == [[0, 2], [1, 4], [3]]
    assert list(groups(tokens, "single")) == [[0], [2], [1], [4], [3]]


def words(folder: Path) -> None:
    """Save a tokenizer of two words, all others unknown, with nothing in front."""
    tokenizer = Tokenizer(models.WordLevel({"?": 0, "a": 1, "cat": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer).save_pretrained(folder)


@pytest.mark.parametrize(
    ("save", "text", "coded", "size"),
    [
        (save_tokenizer, "xy", [1, 2], 2),
        (save_tokenizer, "x", [1], 1),
        (lambda folder: save_tokenizer(folder, bos=False), "xyz", [1, 2], 2),
        (lambda folder: save_tokenizer(folder, bos=False), "x", [], 0),
        (lambda folder: save_tokenizer(folder, bos=False), "☕y", [3], 1),  # ☕ has three tokens
        (lambda folder: save_tokenizer(folder, eos=True), "xy", [1, 2], 2),
        (lambda folder: save_tokenizer(folder, eos=True, bos=False), "xy", [1], 1),
        (words, "a cat", [1], 4),  # the space, too
        (words, "a strange cat", [2], 5),
        (words, "cat strange", [], 1),
    ],
)
def test_bits_and_bytes_are_of_the_same_tokens(tmp_path, save, text, coded, size):
    folder = make_language(tmp_path / "gpt2", "gpt2")
    (folder / "tokenizer.json").unlink()
    save(folder)
    encoder = open_language(f"hf:{folder}", device=CPU)
    given, ids = encoder.encode([text]), encoder.tokenizer(text)["input_ids"]
    logs = encoder.model(input_ids=pad([ids])[0]).logits[0].double().log_softmax(1) / np.log(2)
    bits = -sum(float(logs[place - 1, ids[place]]) for place in coded) if coded else np.nan
    np.testing.assert_allclose(given.bits, [bits], rtol=1e-5)
    assert given.bytes.tolist() == [size]
    plain = save is save_tokenizer
    assert ("bits" in encoder.recipe) == (not plain)


def change_weights(folder: Path, change) -> None:
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def say(folder: Path, name: str = "config.json", **fields: object) -> None:
    path = folder / name
    held = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps(held | fields))


def float8(state):
    return {
        name: value.to(torch.float8_e4m3fn) if "proj" in name else value
        for name, value in state.items()
    }


def quantized(method: str | None, **fields: object):
    return lambda folder: say(folder, quantization_config={"quant_method": method, **fields})


BAD = {
    "float8 with scales": (
        lambda folder: change_weights(
            folder,
            lambda state: (
                float8(state)
                | {
                    f"{name}_scale": torch.ones(())
                    for name in state
                    if name.endswith("proj.weight")
                }
            ),
        ),
        "integers or float8, .*proj.weight",
    ),
    "another name": (
        lambda folder: (folder / "model.safetensors").rename(folder / "llama.safetensors"),
        "has neither model.safetensors nor",
    ),
    "float8": (lambda folder: change_weights(folder, float8), "integers or float8, .*proj.weight"),
    "int8": (
        lambda folder: change_weights(
            folder,
            lambda state: {
                name: (10 * value).to(torch.int8) if "mlp" in name else value
                for name, value in state.items()
            },
        ),
        "integers or float8, .*mlp",
    ),
    "nameless": (quantized(None, bits=4), "quantized .quant_method None"),
    "gptq": (quantized("gptq", bits=4), "quantized .quant_method 'gptq'"),
    "a layer more": (
        lambda folder: change_weights(
            folder,
            lambda state: (
                state
                | {
                    name.replace(".1.", ".7."): value.clone()
                    for name, value in state.items()
                    if ".1." in name
                }
            ),
        ),
        "has further weights in parts of LlamaForCausalLM: model.layers.7.input",
    ),
    **{
        name: (
            lambda folder, more=more: change_weights(folder, more),
            "has further weights in parts of",
        )
        for name, more in {
            "a bias": lambda state: (
                state | {"model.layers.0.self_attn.q_proj.bias": torch.ones(16)}
            ),
            "a norm": lambda state: (
                state | {"model.layers.1.self_attn.q_norm.weight": torch.ones(8)}
            ),
            "an adapter within": lambda state: (
                state | {"model.layers.0.mlp.up_proj.lora_A.weight": torch.ones(2, 16)}
            ),
            "an adapter of the head": lambda state: (
                state | {"lm_head.lora_A.weight": torch.ones(2, 16)}
            ),
        }.items()
    },
    "a layer less": (
        lambda folder: say(folder, num_hidden_layers=1),
        "has further weights in parts of LlamaForCausalLM: model.layers.1.input",
    ),
    "adapter beside weights": (
        lambda folder: say(folder, "adapter_config.json", base_model_name_or_path="org/base"),
        "PEFT adapter of org/base .*merge_and_unload",
    ),
    "adapter alone": (
        lambda folder: (
            (folder / "config.json").unlink(),
            say(folder, "adapter_config.json", peft_type="LORA"),
        ),
        "PEFT adapter of its base model .*merge_and_unload",
    ),
}


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return make_language(tmp_path_factory.mktemp("zoo") / "llama", "llama")


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow if at % 4 else ()) for at, name in enumerate(BAD)],
)
def test_a_bad_folder_is_refused_by_name(tmp_path, llama, name):
    spoil, said = BAD[name]
    folder = shutil.copytree(llama, tmp_path / "bad")
    spoil(folder)
    with pytest.raises(EncoderError, match=said) as caught:
        open_language(f"hf:{folder}", device=CPU)
    assert "\n" not in str(caught.value)


def test_honest_fields_and_further_heads_pass(tmp_path, llama):
    folder = shutil.copytree(llama, tmp_path / "honest")
    named = {"base_model": "org/base", "teacher_model": "t", "vocab_size_note": "x", "head_dim": 8}
    say(folder, **named, attn_config={"sliding_window_size": -1}, max_relative_positions=-1)
    further = {"score.weight": torch.ones(2, 16), "vision.layers.5.weight": torch.ones(2)}
    further |= {"logit_scale": torch.ones(()), "vision.layers.5.ls1.scale": torch.ones(2)}
    buffers = {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}
    buffers |= {"model.layers.0.self_attn.bias": torch.ones(1, 1, 64, 64)}
    change_weights(folder, lambda state: state | further | buffers)
    given, wanted = (
        open_language(f"hf:{each}", device=CPU).encode(TEXTS) for each in (folder, llama)
    )
    np.testing.assert_array_equal(given.layers[-1], wanted.layers[-1])


@pytest.mark.parametrize(
    ("kind", "fields", "limit"),
    [
        ("bloom", {"seq_length": 2_048}, 2_048),
        ("mpt", {}, 64),
        ("ibert", {}, 62),  # 64 rows, of which 0 and 1 are never places
    ],
)
def test_the_longest_text_is_that_of_the_config(tmp_path, kind, fields, limit):
    folder = make_language(tmp_path / kind, kind)
    say(folder, **fields)
    encoder = open_language(f"hf:{folder}", device=CPU)
    assert encoder.limit == limit
    if limit < 100:
        assert np.isfinite(encoder.encode(["a " * 500]).layers[-1]).all()


def test_a_text_that_the_memory_cannot_hold_is_an_error_and_not_the_end(tmp_path, monkeypatch):
    encoder = open_language(f"hf:{make_language(tmp_path / 'bloom', 'bloom')}", device=CPU)
    monkeypatch.setattr(memory, "free_memory", lambda: 1 << 27)
    with pytest.raises(DeviceError, match="bloom does not fit on cpu even one item at a time"):
        encode_fitting(encoder, ["a " * 5_000, *TEXTS], limit=0)
    assert len(encode_fitting(encoder, TEXTS, limit=0)[0].bytes) == len(TEXTS)
    assert torch.empty(1 << 28).shape  # what is computed elsewhere has no such limit


def test_an_error_that_nobody_foresaw_ends_one_model_alone(tmp_path, llama, monkeypatch, capsys):
    encode = LanguageEncoder.encode

    def fail_once(encoder, items):
        if encoder.card.name == "bad":
            raise IndexError("index out of range in self")
        return encode(encoder, items)

    monkeypatch.setenv("XDG_STATE_HOME", f"{tmp_path}")
    add_dataset(tmp_path / "store", CaveDataset(4))
    bad = shutil.copytree(llama, tmp_path / "bad")
    monkeypatch.setattr(LanguageEncoder, "encode", fail_once)
    words = ["embed", "--store", f"{tmp_path / 'store'}", "--dataset", "cave", "--device", "cpu"]
    assert main([*words, "--model", f"hf:{bad}", f"hf:{llama}"]) == 2
    assert "IndexError: index out of range in self; please report it" in capsys.readouterr().err
    assert [one.card.name for one in Store(tmp_path / "store").embeddings("cave")] == ["llama"]
