"""Names, titles and objectives of published models, layer lookups, safe names."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from core.encoders import naming
from core.encoders.checkpoint import choose_arithmetic, digest_files, digest_state, store_name
from core.encoders.encoder import ModelCard, find_layer
from core.encoders.requests import precision_of


@pytest.mark.parametrize(
    ("name", "title", "objective"),
    [
        (
            "vit_small_patch16_224.augreg_in21k",
            "ViT-S/16 supervised (ImageNet-21k)",
            "supervised (ImageNet-21k)",
        ),
        ("vit_base_patch16_224.augreg_in21k_ft_in1k", "ViT-B/16 supervised", "supervised"),
        ("vit_large_patch16_224.mae", "ViT-L/16 MAE", "MAE"),
        ("vit_giant_patch14_dinov2.lvd142m", "ViT-g/14 DINOv2", "DINOv2"),
        ("vit_base_patch16_224.dino", "ViT-B/16 DINO", "DINO"),
        ("vit_base_patch16_clip_224.laion2b", "ViT-B/16 CLIP", "CLIP"),
        (
            "vit_base_patch16_clip_224.laion2b_ft_in12k",
            "ViT-B/16 CLIP fine-tuned",
            "CLIP fine-tuned",
        ),
        ("vit_base_patch16_siglip_224.webli", "ViT-B/16 SigLIP", "SigLIP"),
        ("convnextv2_atto.fcmae", "convnextv2 atto FCMAE", "FCMAE"),
        ("resnet18.a1_in1k", "resnet18 supervised", "supervised"),
        ("resnet18", "resnet18", "unknown"),
    ],
)
def test_published_vision_models(name, title, objective):
    assert naming.vision_title(name) == title
    assert naming.vision_objective(name) == objective


def test_families():
    assert naming.vision_family("VisionTransformer") == "ViT"
    assert naming.vision_family("ConvNeXt") == "ConvNeXt"
    assert naming.language_family("gpt2", "me/mine") == "GPT-2"
    assert naming.language_family("brand_new", "me/mine") == "brand_new"


@pytest.mark.parametrize(
    ("name", "model_type", "family"),
    [
        ("huggyllama/llama-65b", "llama", "LLaMA"),
        ("NousResearch/Meta-Llama-3-8B", "llama", "LLaMA 3"),
        ("meta-llama/Llama-3.1-8B", "llama", "LLaMA 3"),
        ("meta-llama/Llama-2-7b-hf", "llama", "LLaMA 2"),
        ("openlm-research/open_llama_3b", "llama", "OpenLLaMA"),
        ("huggyllama/llama-30b", "llama", "LLaMA"),
        ("bigscience/bloom-560m", "bloom", "BLOOM"),
        ("bigscience/bloomz-560m", "bloom", "BLOOMZ"),
        ("allenai/OLMo-1B-hf", "olmo", "OLMo"),
        ("google/gemma-2b", "gemma", "Gemma"),
        ("mistralai/Mistral-7B-v0.1", "mistral", "Mistral"),
        ("mistralai/Mixtral-8x7B-v0.1", "mixtral", "Mixtral"),
    ],
)
def test_lines_of_one_type_are_families_of_their_own(name, model_type, family):
    assert naming.language_family(model_type, name) == family
    assert naming.language_objective(["BertForMaskedLM"]) == "masked language"
    assert naming.language_objective(["GPT2LMHeadModel"]) == "language"
    assert naming.language_objective(["BertModel"]) == "unknown"
    assert naming.language_objective([], is_causal=True) == "language"


CARD = ModelCard(
    "m", "M", "vision", "timm:m", "ViT", "MAE", 1, "", ("embedding", "block 1", "block 2")
)


@pytest.mark.parametrize(
    ("given", "index"),
    [("embedding", 0), ("block 2", 2), ("Block 1 ", 1), (2, 2), ("0", 0), ("last", 2)],
)
def test_a_layer_by_name_or_number(given, index):
    assert find_layer(CARD, given) == index


@pytest.mark.parametrize(
    ("place", "name"),
    [
        ("data/cave/vit-mae-s", "vit-mae-s"),
        ("data/cave/vit-mae-s/", "vit-mae-s"),
        ("org/gpt2", "gpt2"),
        ("gpt2", "gpt2"),
        ("run 3/best.pth", "best"),
        ("run 3/model.safetensors", "run-3"),
        ("a/né~t:1", "n-t-1"),
        ("vit_base_patch16_224.mae", "vit_base_patch16_224.mae"),
        ("/", "model"),
        ("data/x/model", "x"),
        ("data/run 3/checkpoint-500", "run-3-checkpoint-500"),
        ("m/models--org--mini/snapshots/0a1b2c3d4e5f60718293a4b5c6d7e8f901234567", "mini"),
        ("run 3/final/model.safetensors", "run-3"),
    ],
)
def test_store_names_are_safe(place, name):
    assert store_name(place) == name


def test_a_folder_of_a_common_name_is_called_as_its_config_says():
    assert store_name("a/model", "org/mini") == "mini"
    assert store_name("a/checkpoint-7", "org/mini") == "mini-checkpoint-7"
    assert store_name("a/final", "out/checkpoint-9") == "a"
    assert store_name("a/gpt2", "org/mini") == "gpt2"


def test_digests_tell_contents_apart(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_bytes(b"abc")
    b.write_bytes(b"")
    assert (
        digest_files([a]) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )  # SHA-256 of abc, FIPS 180
    assert digest_files([b, a]) == digest_files([Path(a), b]) == digest_files([a])
    state = {"w": torch.arange(4.0), "v": torch.zeros(2, dtype=torch.bfloat16)}
    same = {"v": torch.zeros(2, dtype=torch.bfloat16), "w": torch.arange(8.0)[:4]}
    assert digest_state(state) == digest_state(same)
    others = [
        {**state, "w": torch.arange(4.0).reshape(2, 2)},
        {**state, "w": torch.ones(4)},
        {"w": state["w"]},
    ]
    assert len({digest_state(other) for other in [state, *others]}) == 4


@pytest.mark.parametrize(
    ("asked", "stored", "device", "name"),
    [
        ("auto", torch.float32, "cpu", "float32"),
        ("auto", torch.float32, "mps", "float32"),
        ("auto", torch.float32, "cuda:1", "bfloat16 autocast"),
        ("auto", torch.float16, "cpu", "float32"),
        ("auto", torch.float16, "cuda", "float16"),
        ("auto", torch.bfloat16, "cpu", "bfloat16"),
        ("auto", torch.bfloat16, "cuda", "bfloat16"),
        ("fp32", torch.bfloat16, "cuda", "float32"),
        ("fp16", torch.float32, "cpu", "float16"),
    ],
)
def test_weights_keep_their_precision_where_the_device_is_fast_in_it(asked, stored, device, name):
    arithmetic = choose_arithmetic(asked, torch.device(device), stored=stored)
    assert arithmetic.name == name
    again = choose_arithmetic(precision_of(name), torch.device(device), stored=stored)
    assert again == arithmetic
