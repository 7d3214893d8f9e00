"""A zoo of folders of transformers: each gives what a plain forward pass of transformers does, and
is outlined as it is when it is opened.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers as hf
from PIL import Image
from tiny_models import LOUD, SMALL, save_tokenizer

from core.encoders.catalog import open_encoder
from core.encoders.outlines import shape_of
from core.errors import EncoderError

CPU = torch.device("cpu")
TEXTS = ["a cat", "two red dogs behind a tall tree", "x"]
WIDE = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
TEXT = {**SMALL, **LOUD, "intermediate_size": 32, "max_position_embeddings": 64}
SEEN = {**WIDE, "intermediate_size": 32, "image_size": 32, "patch_size": 8}
T5 = {"d_model": 16, "d_ff": 32, "d_kv": 8, "num_layers": 2, "num_heads": 2, "vocab_size": 300}
CLIP = {"text_config": {**TEXT, "bos_token_id": 0, "eos_token_id": 1}, "vision_config": SEEN}
SWIN = {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2]}
MAPS = {"depths": [1, 1], "hidden_sizes": [8, 16]}


@dataclass(frozen=True)
class Case:
    """A model and how transformers reads it. model, config: names there. reader: the class that
    reads the folder. pooling: which vector is taken of a state. mark: behind the spec.
    """

    model: str
    config: Any
    reader: str
    pooling: str = "mean"
    mark: str = ""
    padding: bool | str = False


def lm(name: str, **config: Any) -> Any:
    return getattr(hf, f"{name}Config")(**config)


ZOO = {
    "gemma3": Case(
        "Gemma3ForConditionalGeneration",
        lambda: lm(
            "Gemma3",
            text_config={**TEXT, "head_dim": 8, "num_key_value_heads": 2},
            vision_config=SEEN,
        ),
        "Gemma3ForConditionalGeneration",
    ),
    "llava": Case(
        "LlavaForConditionalGeneration",
        lambda: lm(
            "Llava", text_config=lm("Llama", **TEXT), vision_config=lm("CLIPVision", **SEEN)
        ),
        "LlavaForConditionalGeneration",
    ),
    "qwen2-vl": Case(
        "Qwen2VLForConditionalGeneration",
        lambda: lm(
            "Qwen2VL",
            text_config={
                **TEXT,
                "num_key_value_heads": 2,
                "rope_parameters": {"rope_type": "default", "mrope_section": [1, 1, 2]},
            },
            vision_config={"depth": 1, "embed_dim": 16, "hidden_size": 16, "num_heads": 2},
        ),
        "Qwen2VLForConditionalGeneration",
    ),
    "t5": Case("T5ForConditionalGeneration", lambda: lm("T5", **T5), "T5EncoderModel"),
    "t5-encoder": Case("T5EncoderModel", lambda: lm("T5", **T5), "T5EncoderModel"),
    "bart": Case(
        "BartForConditionalGeneration",
        lambda: lm(
            "Bart",
            **{"vocab_size": 300, "d_model": 16, "max_position_embeddings": 64, "init_std": 0.4},
            **{
                f"{side}_{part}": 2
                for side in ("encoder", "decoder")
                for part in ("layers", "attention_heads")
            },
            **{f"{side}_ffn_dim": 32 for side in ("encoder", "decoder")},
        ),
        "BartModel",
    ),
    "clip-text": Case("CLIPModel", lambda: lm("CLIP", **CLIP), "CLIPTextModel", "last", "#text"),
    "siglip-text": Case(
        "SiglipModel",
        lambda: lm("Siglip", **CLIP),
        "SiglipTextModel",
        "last",
        "#text",
        "max_length",
    ),
    "siglip-text-alone": Case(
        "SiglipTextModel",
        lambda: lm("SiglipText", **CLIP["text_config"]),
        "SiglipTextModel",
        "last",
        padding="max_length",
    ),
    "clip-vision": Case(
        "CLIPModel", lambda: lm("CLIP", **CLIP), "CLIPVisionModel", "first", "#vision"
    ),
    "clip-patches": Case(
        "CLIPModel", lambda: lm("CLIP", **CLIP), "CLIPVisionModel", "patches", "#vision#patches"
    ),
    "siglip-vision": Case(
        "SiglipModel", lambda: lm("Siglip", **CLIP), "SiglipVisionModel", "mean", "#vision"
    ),
    "vit": Case("ViTForImageClassification", lambda: lm("ViT", **SEEN), "ViTModel", "first"),
    "dinov2": Case("Dinov2Model", lambda: lm("Dinov2", **SEEN), "Dinov2Model", "first"),
    "beit": Case("BeitModel", lambda: lm("Beit", **SEEN), "BeitModel", "first"),
    "siglip-vision-alone": Case(
        "SiglipVisionModel", lambda: lm("SiglipVision", **SEEN), "SiglipVisionModel"
    ),
    "swin": Case("SwinModel", lambda: lm("Swin", window_size=4, **SWIN), "SwinModel"),
    "convnext": Case(
        "ConvNextModel", lambda: lm("ConvNext", num_stages=2, **MAPS), "ConvNextModel"
    ),
    "resnet": Case(
        "ResNetForImageClassification",
        lambda: lm("ResNet", embedding_size=8, layer_type="basic", **MAPS),
        "ResNetModel",
    ),
}
DEFAULT = ("gemma3", "clip-text", "vit")


def save(folder: Path, case: Case) -> Path:
    torch.manual_seed(0)
    getattr(hf, case.model)(case.config()).eval().save_pretrained(folder)
    save_tokenizer(folder)
    told = folder / "tokenizer_config.json"
    told.write_text(json.dumps({**json.loads(told.read_text()), "pad_token": "<x>"}))
    hf.ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def images() -> list[Image.Image]:
    return [Image.effect_noise(size, 80).convert("RGB") for size in ((40, 30), (32, 64))]


def read(folder: Path, case: Case) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Return the vectors and bits of transformers alone, one item at a time."""
    model = getattr(hf, case.reader).from_pretrained(folder).eval()
    if case.reader == "BartModel":
        model = model.get_encoder()
    with torch.no_grad():
        if model.main_input_name == "pixel_values":
            pixels = hf.AutoImageProcessor.from_pretrained(folder)(ITEMS, return_tensors="pt")
            states = model(**pixels, output_hidden_states=True).hidden_states
            return [
                seen(state, case.pooling).numpy() for state in states[states[0].ndim == 3 :]
            ], None
        tokenizer = hf.AutoTokenizer.from_pretrained(folder)
        rows, bits = [], []
        for text in TEXTS:
            ids = tokenizer(text, padding=case.padding, max_length=64, return_tensors="pt")[
                "input_ids"
            ]
            output = model(input_ids=ids, output_hidden_states=True)
            place = {"mean": slice(None), "last": slice(-1, None)}[case.pooling]
            rows.append([state[0, place].mean(0) for state in output.hidden_states])
            if "logits" in output:
                nats = F.cross_entropy(output.logits[0, :-1], ids[0, 1:], reduction="sum")
                bits.append(float(nats) / np.log(2))
    return [np.stack(layer) for layer in zip(*rows, strict=True)], np.array(bits) if bits else None


def seen(state: torch.Tensor, pooling: str) -> torch.Tensor:
    if state.ndim == 4:
        return state.mean((2, 3))
    return {"first": state[:, 0], "mean": state.mean(1), "patches": state[:, 1:].mean(1)}[pooling]


ITEMS = images()


@pytest.mark.parametrize(
    "name",
    [name if name in DEFAULT else pytest.param(name, marks=pytest.mark.slow) for name in ZOO],
)
def test_a_folder_gives_what_transformers_does(tmp_path: Path, name: str) -> None:
    case = ZOO[name]
    spec = f"hf:{save(tmp_path / name, case)}{case.mark}"
    layers, bits = read(tmp_path / name, case)
    encoder = open_encoder(spec, device=CPU)
    encoding = encoder.encode(ITEMS if encoder.card.modality == "vision" else TEXTS)
    for layer, wanted in zip(encoding.layers, layers, strict=True):
        np.testing.assert_allclose(layer, wanted, rtol=1e-4, atol=1e-5)
    assert (encoding.bits is None) == (bits is None)
    if bits is not None:
        np.testing.assert_allclose(encoding.bits, bits, rtol=1e-5)
        assert encoder.limit == 64
    widths = tuple(layer.shape[1] for layer in layers)
    assert shape_of(spec) == (encoder.card.parameters, widths)
    assert encoder.card.spec == spec
    assert len(encoder.card.layers) == len(layers)


def save_sentences(folder: Path, pooling: str, **said: Any) -> Path:
    """Save a BERT as sentence-transformers do in their oldest layout."""
    inner = folder / "0_Transformer"
    torch.manual_seed(0)
    hf.BertModel(lm("Bert", **TEXT)).save_pretrained(inner)
    save_tokenizer(inner)
    places = {"Transformer": inner.name, "Pooling": "1_P", "Normalize": "2_N"}
    modules = [
        {"type": f"sentence_transformers.models.{kind}", "path": place}
        for kind, place in places.items()
    ]
    (folder / "1_P").mkdir()
    (folder / "1_P" / "config.json").write_text(json.dumps({pooling: True}))
    (folder / "modules.json").write_text(json.dumps(modules))
    limits = {"max_seq_length": 16, "do_lower_case": True}
    (inner / "sentence_bert_config.json").write_text(json.dumps(limits))
    if said:
        (folder / "config_sentence_transformers.json").write_text(json.dumps(said))
    return folder


@pytest.mark.parametrize(
    ("pooling", "prompt"),
    [("cls_token", ""), ("mean_tokens", "q: "), ("max_tokens", ""), ("lasttoken", "")],
)
def test_a_folder_of_sentence_transformers_is_read_as_it_says(
    tmp_path: Path, pooling: str, prompt: str
) -> None:
    said = {"prompts": {"q": prompt}, "default_prompt_name": "q"} if prompt else {}
    folder = save_sentences(tmp_path / "s", f"pooling_mode_{pooling}", **said)
    tokenizer = hf.AutoTokenizer.from_pretrained(folder / "0_Transformer")
    model = hf.BertModel.from_pretrained(folder / "0_Transformer").eval()
    texts, wanted = ["A Cat", "two red dogs behind a tall tree"], []
    for text in texts:
        ids = tokenizer(prompt + text.lower(), truncation=True, max_length=16, return_tensors="pt")
        with torch.no_grad():
            state = model(ids["input_ids"]).last_hidden_state[0]
        pooled = {
            "cls_token": state[0],
            "mean_tokens": state.mean(0),
            "max_tokens": state.amax(0),
            "lasttoken": state[-1],
        }[pooling]
        wanted.append(pooled.numpy())
    own = open_encoder(f"hf:{folder}", device=CPU)
    np.testing.assert_allclose(own.encode(texts).layers[-1], wanted, rtol=1e-4, atol=1e-5)
    for how in ("first", "mean", "max", "last"):  # of the texts alone
        other = open_encoder(f"hf:{folder}", device=CPU, pooling=how)
        assert len(other.encode(texts).layers) == len(other.card.layers) == 3
        assert "prompt" not in other.recipe
        assert other.recipe["own pooling"] == own.recipe["own pooling"]


def test_what_a_folder_asks_for_and_is_not_done_is_said(tmp_path: Path) -> None:
    folder = save_sentences(tmp_path / "s", "pooling_mode_weightedmean_tokens")
    with pytest.raises(EncoderError, match="pooling_mode_weightedmean_tokens, which is not done"):
        open_encoder(f"hf:{folder}", device=CPU)
    assert len(open_encoder(f"hf:{folder}", device=CPU, pooling="mean").card.layers) == 3


def test_a_causal_model_whose_config_names_no_architecture_has_bits(tmp_path: Path) -> None:
    folder = save(tmp_path / "m", Case("LlamaForCausalLM", lambda: lm("Llama", **TEXT), ""))
    spec = f"hf:{folder}"
    bits = open_encoder(spec, device=CPU).encode(TEXTS).bits
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "architectures": None}))
    np.testing.assert_array_equal(open_encoder(spec, device=CPU).encode(TEXTS).bits, bits)


@pytest.mark.parametrize(
    ("name", "mark", "said"),
    [
        ("clip-text", "", "choose a part: #text or #vision at the end"),
        ("vit", "#text", "is a ViT model without a part text to choose; leave #text out"),
        ("siglip-vision-alone", "#patches", "has no class token, so .*; leave #patches out"),
        ("resnet", "#patches", "has no class token, so .*; leave #patches out"),
    ],
)
def test_a_part_that_is_not_there_is_named(tmp_path: Path, name: str, mark: str, said: str) -> None:
    folder = save(tmp_path / "m", ZOO[name])
    with pytest.raises(EncoderError, match=said):
        open_encoder(f"hf:{folder}{mark}", device=CPU)


def test_images_of_any_shape_are_refused_with_what_to_take(tmp_path: Path) -> None:
    folder = save(tmp_path / "m", ZOO["siglip-vision-alone"])
    hf.Siglip2ImageProcessor(max_num_patches=16).save_pretrained(folder)
    with pytest.raises(EncoderError, match=r"NaFlex.*for images of one size"):
        open_encoder(f"hf:{folder}", device=CPU)


def test_a_vision_folder_without_its_image_processor_names_timm(tmp_path: Path) -> None:
    folder = save(tmp_path / "m", ZOO["vit"])
    (folder / "preprocessor_config.json").unlink()
    with pytest.raises(EncoderError, match=r"preprocessor_config\.json; timm has most"):
        open_encoder(f"hf:{folder}", device=CPU)
