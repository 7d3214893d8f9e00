"""Vision models: what is read out equals what forward hooks see; bad checkpoints are refused in
words.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from huggingface_hub import constants
from PIL import Image
from safetensors.torch import load_file, save_file
from tiny_models import MEAN, SIZE, STD, make_vision, put_in_cache

from core.encoders.catalog import open_encoder
from core.encoders.checkpoint import digest_files, digest_state
from core.encoders.vision import cut_ends, open_vision
from core.errors import EncoderError, OfflineError, UnknownNameError

CPU = torch.device("cpu")
VIT = {"img_size": SIZE, "patch_size": 8, "embed_dim": 16, "depth": 3, "num_heads": 2}
SWIN = {"img_size": SIZE, "embed_dim": 8, "window_size": 4}
NAME = "vit_tiny_patch16_224"


@pytest.fixture(scope="module")
def pictures() -> list[Image.Image]:
    """Return random images of the size that the tiny models take."""
    rng = np.random.default_rng(0)
    return [
        Image.fromarray(rng.integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)) for _ in range(7)
    ]


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    return make_vision(tmp_path_factory.mktemp("vit") / "vit-a", NAME, **VIT)


def to_pixels(pictures):
    """Preprocess by the definition: scale to [0, 1], then standardize each channel."""
    array = np.stack([np.asarray(picture, np.float32) / 255 for picture in pictures])
    return torch.from_numpy(((array - MEAN) / STD).astype(np.float32)).permute(0, 3, 1, 2)


def watch(model, modules, pixels):
    """Return what each module gives in a plain forward pass."""
    seen = []
    handles = [
        module.register_forward_hook(lambda _m, _i, output: seen.append(output))
        for module in modules
    ]
    with torch.no_grad():
        model(pixels)
    for handle in handles:
        handle.remove()
    return seen


def assert_layers(encoding, expected):
    assert len(encoding.layers) == len(expected)
    for layer, wanted in zip(encoding.layers, expected, strict=True):
        assert layer.dtype == np.float32
        np.testing.assert_allclose(layer, wanted.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("extra", [{}, {"reg_tokens": 2}, {"dynamic_img_size": True}])
def test_class_token_of_every_block_before_the_final_norm(tmp_path, pictures, extra):
    encoder = open_vision(
        f"timm:{NAME}@{make_vision(tmp_path / 'm', NAME, **VIT, **extra)}", device=CPU
    )
    outputs = watch(encoder.model, encoder.model.blocks, to_pixels(pictures))
    assert_layers(encoder.encode(pictures), [output[:, 0] for output in outputs])
    assert encoder.card.layers == ("block 1", "block 2", "block 3")
    assert encoder.recipe["pooling"] == "class token"


def test_mean_of_patch_tokens_beside_a_class_token(tmp_path, pictures):
    spec = f"timm:{NAME}@{make_vision(tmp_path / 'm', NAME, **VIT)}"
    encoder = open_vision(f"{spec}#patches", device=CPU)
    outputs = watch(encoder.model, encoder.model.blocks, to_pixels(pictures))
    assert_layers(encoder.encode(pictures), [output[:, 1:].mean(1) for output in outputs])
    usual = open_vision(spec, device=CPU)
    assert encoder.recipe == {**usual.recipe, "pooling": "mean of patch tokens"}
    card = encoder.card
    assert (card.name, card.title) == (f"{usual.card.name}-patches", f"{usual.card.title}, patches")
    assert (card.spec, card.weights) == (f"{spec}#patches", usual.card.weights)
    assert replace(card, spec="timm:hf-hub:a/b#patches", revision="c1").pinned == (
        "timm:hf-hub:a/b@c1#patches"
    )


def test_layers_of_two_branches_are_told_apart():
    with pytest.raises(EncoderError, match=r"has no class token that timm gives after each"):
        open_vision("timm:crossvit_9_240@untrained#patches", device=CPU)
    layers = open_vision("timm:crossvit_9_240@untrained", device=CPU).card.layers
    assert layers == tuple(f"branch {one} block {i}" for one in (1, 2) for i in (1, 2, 3))


def test_patches_of_a_model_without_a_class_token_are_no_choice(tmp_path):
    folder = make_vision(tmp_path / "m", NAME, **VIT, class_token=False, global_pool="avg")
    with pytest.raises(EncoderError, match=r"m has no class token .*; leave #patches out"):
        open_vision(f"timm:{NAME}@{folder}#patches", device=CPU)


def test_mean_of_patch_tokens_without_a_class_token(tmp_path, pictures):
    folder = make_vision(tmp_path / "m", NAME, **VIT, class_token=False, global_pool="avg")
    encoder = open_vision(f"timm:{NAME}@{folder}", device=CPU)
    outputs = watch(encoder.model, encoder.model.blocks, to_pixels(pictures))
    assert_layers(encoder.encode(pictures), [output.mean(1) for output in outputs])
    assert encoder.recipe["pooling"] == "mean of patch tokens"


def test_mean_over_the_feature_map_of_a_convolutional_net(tmp_path, pictures):
    encoder = open_vision(
        f"timm:resnet10t@{make_vision(tmp_path / 'm', 'resnet10t', channels=(8, 8, 16, 16))}",
        device=CPU,
    )
    net = encoder.model
    outputs = watch(
        net, [net.act1, net.layer1, net.layer2, net.layer3, net.layer4], to_pixels(pictures)
    )
    assert_layers(encoder.encode(pictures), [output.mean((2, 3)) for output in outputs])
    assert encoder.card.layers == ("stem", "stage 1", "stage 2", "stage 3", "stage 4")
    assert encoder.card.family == "ResNet"
    assert encoder.recipe["pooling"] == "mean over the feature map"


@pytest.mark.parametrize(
    ("architecture", "arguments", "layers"),
    [
        ("beit_base_patch16_224", VIT, 3),
        ("eva02_tiny_patch14_224", {**VIT, "num_heads": 2}, 3),
        (
            "swin_tiny_patch4_window7_224",
            {**SWIN, "depths": (1, 1), "num_heads": (1, 2)},
            2,
        ),
        ("convnext_atto", {"dims": (8, 8, 8, 8), "depths": (1, 1, 1, 1)}, 4),
        ("test_efficientnet", {}, 5),
        ("deit_tiny_distilled_patch16_224", VIT, 3),
    ],
)
def test_other_architectures_give_one_vector_per_layer(
    tmp_path, pictures, architecture, arguments, layers
):
    encoder = open_vision(
        f"timm:{architecture}@{make_vision(tmp_path / 'm', architecture, **arguments)}", device=CPU
    )
    encoding = encoder.encode(pictures)
    assert len(encoding.layers) == len(encoder.card.layers) == layers
    assert all(
        layer.ndim == 2 and len(layer) == len(pictures) and np.isfinite(layer).all()
        for layer in encoding.layers
    )


def test_batch_size_and_order_do_not_change_a_vector(vit, pictures):
    encoder = open_vision(f"timm:{NAME}@{vit}", device=CPU)
    whole = encoder.encode(pictures).layers[-1]
    single = np.concatenate([encoder.encode([picture]).layers[-1] for picture in pictures])
    turned = encoder.encode(pictures[::-1]).layers[-1][::-1]
    np.testing.assert_allclose(single, whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(turned, whole, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(encoder.encode(pictures).layers[-1], whole)


@pytest.mark.gpu
def test_a_gpu_gives_what_the_cpu_gives(vit, pictures):
    cpu = open_vision(f"timm:{NAME}@{vit}", device=CPU).encode(pictures)
    encoder = open_vision(f"timm:{NAME}@{vit}", device=torch.device("cuda"))
    assert encoder.device == "cuda"
    for layer, wanted in zip(encoder.encode(pictures).layers, cpu.layers, strict=True):
        assert np.linalg.norm(layer - wanted) < 0.05 * np.linalg.norm(wanted)


@pytest.mark.parametrize("size", [(30_000, 1), (1, 30_000), (641, 40)])
def test_very_long_pictures_are_cut_before_they_are_enlarged(size):
    cut = cut_ends(Image.new("RGB", size))
    assert sorted(cut.size)[0] == min(size)
    assert 8 * min(size) <= max(cut.size) <= 8 * min(size) + 1


def test_cutting_the_ends_off_leaves_the_middle_as_it_was(vit):
    encoder = open_vision(f"timm:{NAME}@{vit}", device=CPU)
    image = (
        Image.linear_gradient("L")
        .resize((40, 900))
        .transpose(Image.Transpose.ROTATE_90)
        .convert("RGB")
    )
    assert cut_ends(image).width == 320
    torch.testing.assert_close(
        encoder.prepare.transform(cut_ends(image)),
        encoder.prepare.transform(image),
        atol=0.02,
        rtol=0,
    )


def test_card_says_what_the_folder_says(tmp_path, vit):
    folder = shutil.copytree(vit, tmp_path / "vit b")
    notes = {"title": "ViT, small", "family": "ViT", "objective": "MAE", "training": {"steps": 10}}
    (folder / "card.json").write_text(json.dumps(notes))
    card = open_encoder(f"timm:{NAME}@{folder}", device=CPU).card
    assert (card.name, card.title, card.objective, card.training) == (
        "vit-b",
        "ViT, small",
        "MAE",
        {"steps": 10},
    )
    assert card.weights == digest_files([folder / "model.safetensors"])
    assert card.parameters == sum(
        value.numel() for value in load_file(folder / "model.safetensors").values()
    )
    assert card.modality == "vision"


@pytest.fixture(scope="module")
def resnet():
    torch.manual_seed(0)
    return timm.create_model("test_resnet", num_classes=5)


@pytest.mark.parametrize(
    ("architecture", "arguments"),
    [(NAME, VIT), ("resnet10t", {"stem_width": 4, "channels": (8, 8, 16, 16)})],
)
def test_folders_that_timm_itself_saves(tmp_path, pictures, architecture, arguments):
    model = timm.create_model(architecture, num_classes=0, **arguments).half()
    look = {
        "input_size": (3, SIZE, SIZE),
        "interpolation": "bicubic",
        "mean": MEAN,
        "std": STD,
        "crop_pct": 1.0,
    }
    note = {"pretrained_cfg": {"tag": "mine", "license": "mit"}}
    timm.models.save_for_hf(
        model, tmp_path / "m", model_config=note, safe_serialization=True, data_config=look
    )
    encoder = open_vision(f"timm:{architecture}@{tmp_path / 'm'}", device=CPU)
    state = encoder.model.state_dict()
    assert all(
        torch.equal(value.float(), state[name]) for name, value in model.state_dict().items()
    )
    assert encoder.recipe["preprocessing"]["mean"] == list(MEAN)
    assert len(encoder.encode(pictures).layers[0]) == len(pictures)


def test_a_model_before_any_training_is_the_same_each_time():
    first, second = (open_vision("timm:test_resnet@untrained", device=CPU) for _ in range(2))
    assert first.card == second.card
    assert (first.card.name, first.card.objective) == ("test_resnet-untrained", "untrained")


@pytest.mark.parametrize("prefix", ["module.encoder_q.", "module.base_encoder."])
def test_the_trained_encoder_of_moco_is_read_alone(tmp_path, prefix):
    state = timm.create_model("test_resnet", num_classes=0).state_dict()
    kept = {f"{prefix}{key}": value for key, value in state.items()}
    others = {
        f"{prefix}fc.0.weight": torch.ones(2, 2),
        "module.encoder_k.conv1.weight": torch.ones(1),
    }
    path = tmp_path / "checkpoint_0199.pth.tar"
    torch.save({"state_dict": {**kept, **others, "module.queue": torch.ones(2)}, "epoch": 3}, path)
    encoder = open_vision(f"timm:test_resnet@{path}", device=CPU)
    assert digest_state(encoder.model.state_dict()) == digest_state(state)


def assert_refused(spec, message):
    with pytest.raises(EncoderError, match=message):
        open_vision(spec, device=CPU)


def test_unknown_name_lists_the_nearest():
    with pytest.raises(
        UnknownNameError, match=r"'vit_bas_patch16_224.mae'; did you mean vit_base_patch16_224.mae"
    ):
        open_vision("timm:vit_bas_patch16_224.mae", device=CPU)


def test_published_weights_without_network_name_the_cache_and_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(
        OfflineError,
        match=(
            r"cache folder .*cache and the hub.*HF_HUB_OFFLINE.*HF_HOME.*timm:resnet18@CHECKPOINT"
        ),
    ):
        open_vision("timm:resnet18", device=CPU)


def test_published_weights_come_from_the_cache(tmp_path, monkeypatch, pictures):
    torch.manual_seed(1)
    net = timm.create_model("test_resnet")
    (tmp_path / "saved").mkdir()
    save_file(net.state_dict(), tmp_path / "saved" / "model.safetensors")
    put_in_cache(tmp_path / "cache", "timm/test_resnet.r160_in1k", tmp_path / "saved")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    encoder = open_vision("timm:test_resnet", device=CPU)
    assert digest_state(encoder.model.state_dict()) == digest_state(net.state_dict())
    assert encoder.card.weights == digest_files([tmp_path / "saved" / "model.safetensors"])
    assert (encoder.card.name, encoder.card.title, encoder.card.objective) == (
        "test_resnet",
        "test resnet supervised",
        "supervised",
    )
    assert len(encoder.encode(pictures[:1]).layers) == 5


def test_a_damaged_file_of_another_server_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(torch.hub, "_hub_dir", str(tmp_path))
    name = "legacy_seresnet18.in1k"
    file = tmp_path / "checkpoints" / Path(timm.models.get_pretrained_cfg(name).url).name
    file.parent.mkdir()
    file.write_bytes(b"the first half of it")
    assert_refused(f"timm:{name}", rf"cannot be read .*; delete them in {file.parent} to fetch")


@pytest.mark.parametrize("spec", ["vit", "import:x", "hf", ":x", "", "TIMM:x"])
def test_other_specs_name_the_valid_forms(spec):
    with pytest.raises(
        EncoderError,
        match="is not a model spec; expected timm:NAME, timm:NAME@CHECKPOINT, timm:hf-hub:ID,",
    ):
        open_encoder(spec, device=CPU)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "config.json cannot be read .*expected a JSON object"),
        ("[]", "holds list; a JSON object was expected"),
        (
            '{"architecture": "resnet18"}',
            (
                "is of architecture 'resnet18', the spec says 'vit_tiny_patch16_224'; use"
                " timm:resnet18@"
            ),
        ),
        (
            '{"architecture": "vit_tiny_patch16_224", "model_args": 3}',
            "must hold objects under model_args",
        ),
        (
            '{"architecture": "vit_tiny_patch16_224", "model_args": {"colour": 3}}',
            "does not fit vit_tiny_patch16_224: .*colour",
        ),
        (
            (
                '{"architecture": "vit_tiny_patch16_224", "model_args": {"checkpoint_path":'
                ' "other.pth", "pretrained_strict": false}}'
            ),
            (
                "has model_args that would load other weights: checkpoint_path, pretrained_strict;"
                " take them out"
            ),
        ),
        (
            '{"architecture": "vit_tiny_patch16_224"}',
            "the model would have .* numbers, and its weights have .*; check",
        ),
    ],
)
def test_config_that_does_not_fit(tmp_path, vit, config, message):
    folder = shutil.copytree(vit, tmp_path / "m")
    (folder / "config.json").write_text(config)
    assert_refused(f"timm:{NAME}@{folder}", message)


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_weights_must_match_to_the_last_tensor(tmp_path, vit, change):
    folder = shutil.copytree(vit, tmp_path / "m")
    state = load_file(folder / "model.safetensors")
    if change == "missing":
        del state["blocks.1.attn.qkv.weight"]
    else:
        state["blocks.9.attn.qkv.weight"] = torch.zeros(2)
    save_file(state, folder / "model.safetensors")
    assert_refused(f"timm:{NAME}@{folder}", r"does not fit .*blocks\.\d\.attn\.qkv\.weight")
