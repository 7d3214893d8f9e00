"""Vision models of timm, read out at every block or stage before the final norm."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import timm
import torch
from PIL import Image, ImageOps
from safetensors import SafetensorError
from torch import Tensor

from core.encoders import naming
from core.encoders.checkpoint import (
    FORMATS,
    MAKING,
    Arithmetic,
    check_size,
    choose_arithmetic,
    digest_files,
    digest_state,
    read_notes,
    read_weights,
    refusing,
    store_name,
)
from core.encoders.encoder import Encoding, ModelCard
from core.encoders.fields import SINGLE, read_json
from core.encoders.requests import HUB, PATCHES, UNTRAINED, Precision
from core.errors import EncoderError, OfflineError, UnknownNameError
from core.files.texts import Json
from core.hub.fetch import asking, cached, fetch_snapshot
from core.hub.repository import Repository
from core.machine.memory import bounded, check_memory, is_out_of_memory
from core.modalities import VISION
from core.recipe import Plain
from core.settings import check_readable, expand
from core.unexpected import summarize

LONGEST = 8  # times the short side, of an image that is to be cropped to its middle
WIDEST = 4_096  # pixels of a side to which images are enlarged at most
# what damaged weights end in
UNREADABLE = (*(SafetensorError, UnpicklingError, RuntimeError, EOFError, LookupError, ValueError),)
FETCHED = ("config.json", "card.json", SINGLE)
FITTING = (
    "expected exactly this architecture's weights (a folder's config.json can give its model_args)"
)
# where published weights would come from
SOURCES = ("url", "file", "hf_hub_id", "hf_hub_filename", "source", "custom_load")
# arguments of timm's factory that decide what is loaded and how strictly, not what the model is
CONTROLS = (
    *("pretrained", "pretrained_cfg", "pretrained_cfg_overlay", "pretrained_strict"),
    *("pretrained_model_args", "pretrained_filter_fn", "checkpoint_path", "cache_dir"),
)


@dataclass(frozen=True)
class Loaded:
    """A model with its weights. published: `architecture.tag` of published weights, None for a
    checkpoint. revision: the commit of the hub's repository that was named, else "".
    """

    model: Any
    name: str
    published: str | None
    notes: Plain
    weights: str
    revision: str = ""


@dataclass(frozen=True)
class Preparation:
    """A model's own preprocessing of an RGB image. cropped: whether it takes the middle of an image
    whose short side fits.
    """

    transform: Callable[[Image.Image], Tensor]
    cropped: bool

    def __call__(self, image: Image.Image) -> Tensor:
        return self.transform(cut_ends(image) if self.cropped else image)


@dataclass(frozen=True)
class VisionEncoder:
    """A model that turns RGB images into one vector per block or stage. of_patches: whether the
    class token is left out. read: from a model and pixels to the vector of each layer.
    """

    card: ModelCard
    recipe: Plain
    device: str
    arithmetic: Arithmetic
    model: Any
    prepare: Callable[[Image.Image], Tensor]
    read: Callable[..., list[Tensor]]
    of_patches: bool = False

    @torch.inference_mode()
    def encode(self, items: Sequence[Image.Image | Tensor]) -> Encoding:
        """Encode RGB images, or what `prepare` made of them."""
        ready = [each if isinstance(each, Tensor) else self.prepare(each) for each in items]
        is_pinned = self.device.startswith("cuda")
        pixels = torch.stack([each.to(self.device, non_blocking=is_pinned) for each in ready])
        pixels = pixels.to(self.arithmetic.weights)
        with bounded(self.device), self.arithmetic.forward_on(self.device):
            layers = self.read(self.model, pixels, of_patches=self.of_patches)
        return Encoding(tuple(layer.cpu().numpy() for layer in layers))


def open_vision(spec: str, *, device: torch.device, precision: Precision = "auto") -> VisionEncoder:
    """Open `timm:NAME` (published weights), `timm:hf-hub:ID` or `timm:hf-hub:ID@REVISION` (a model
    of the hub in timm's format), or `timm:NAME@CHECKPOINT`.

    CHECKPOINT is a weights file, a folder in timm's hub format (config.json next to
    model.safetensors), or `untrained`. `#patches` at the end reads out the mean of the patch tokens
    in place of the class token. Raise UnknownNameError, EncoderError or OfflineError.
    """
    bare, of_patches = spec.removesuffix(PATCHES), spec.endswith(PATCHES)
    name, at, place = bare.removeprefix("timm:").partition("@")
    if name in ("", HUB) or (at and not place):
        raise EncoderError(f"{bare!r} is not whole; expected timm:NAME or timm:NAME@CHECKPOINT")
    if name.startswith(HUB):
        loaded = load_from_hub(bare.removeprefix("timm:").removeprefix(HUB))
    elif place == UNTRAINED:
        loaded = load_untrained(check_name(name))
    elif place:
        loaded = load_checkpoint(check_name(name), expand(place))
    else:
        loaded = load_published(check_name(name))
    if of_patches and not has_class_token(loaded.model):
        raise EncoderError(
            f"{loaded.name} has no class token that timm gives after each layer, so the mean over"
            f" its places is read out already; leave {PATCHES} out"
        )
    arithmetic = choose_arithmetic(precision, device)
    model = loaded.model.eval().requires_grad_(False).to(device, arithmetic.weights)
    with refusing(f"{spec} cannot be read out", "expected a model of RGB images: check its config"):
        data = timm.data.resolve_data_config({}, model=model)
        side = max(data["input_size"][1:]) / data["crop_pct"]
        if side > WIDEST:
            raise EncoderError(
                f"{spec} enlarges images to {side:,.0f} pixels; at most {WIDEST:,} are read: check"
                " input_size and crop_pct in its config"
            )
        picture = torch.zeros(1, *data["input_size"], device=device, dtype=arithmetic.weights)
        layers = _name_layers(model, picture)
        prepare = Preparation(
            timm.data.create_transform(**data, is_training=False),
            cropped=data.get("crop_mode", "center") == "center",
        )
        prepare(Image.new("RGB", (64, 64)))  # what the config says of images works
    has_patches = of_patches or hasattr(model, "patch_embed") or hasattr(model, "embeds")
    pooling = "mean of patch tokens" if has_patches else "mean over the feature map"
    if has_class_token(model) and not of_patches:
        pooling = "class token"
    recipe = {
        "library": "timm",
        "pooling": pooling,
        "norm": "before the final norm",
        "preprocessing": {
            key: list(value) if isinstance(value, tuple) else value for key, value in data.items()
        },
        "arguments": getattr(model, "_model_args", {}),
        "precision": arithmetic.name,
    }
    notes, published, readout = loaded.notes, loaded.published, PATCHES * of_patches
    title = notes.get("title") or (naming.vision_title(published) if published else loaded.name)
    objective = naming.vision_objective(published) if published else "unknown"
    card = ModelCard(
        name=loaded.name + readout.replace("#", "-"),
        title=title + readout.replace("#", ", "),
        modality=VISION.name,
        spec=bare.partition("@")[0] + readout if loaded.revision else spec,
        family=notes.get("family") or naming.vision_family(type(model).__name__),
        objective=notes.get("objective") or objective,
        parameters=sum(parameter.numel() for parameter in model.parameters()),
        weights=loaded.weights,
        layers=layers,
        training=notes.get("training") or {},
        revision=loaded.revision,
    )
    return VisionEncoder(
        card, recipe, str(device), arithmetic, model, prepare, read_layers, of_patches
    )


def cut_ends(image: Image.Image) -> Image.Image:
    """Cut a very long image to its middle, LONGEST times as long as wide, of which a center crop
    sees no more, before it is enlarged to gigabytes.
    """
    short, long = sorted(image.size)
    spare = (long - LONGEST * short) // 2
    if spare <= 0:
        return image
    return ImageOps.crop(
        image, (spare, 0, spare, 0) if image.width > image.height else (0, spare, 0, spare)
    )


def read_layers(model: Any, pixels: Tensor, *, of_patches: bool = False) -> list[Tensor]:
    """Return one (batch, width) float32 tensor per block or stage, before the final norm: the class
    token, or without one, and if `of_patches`, the mean over places (patch tokens, or the feature
    map).
    """
    how: Json = {"norm": False, "intermediates_only": True}
    if has_class_token(model) and not of_patches:
        how |= {"return_prefix_tokens": True, "output_fmt": "NLC"}
        outputs = model.forward_intermediates(pixels, **how)
        return [prefix[:, 0].float() for _, prefix in outputs]
    outputs = model.forward_intermediates(pixels, output_fmt="NCHW", **how)
    return [output.float().mean(dim=(2, 3)) for output in outputs]


def has_class_token(model: Any) -> bool:
    token = getattr(model, "cls_token", None)
    token = getattr(getattr(model, "embeds", None), "cls_token", None) if token is None else token
    return (
        token is not None
        and "return_prefix_tokens" in inspect.signature(model.forward_intermediates).parameters
    )


@torch.inference_mode()
def _name_layers(model: Any, pixels: Tensor) -> tuple[str, ...]:
    count, branches = len(read_layers(model, pixels)), getattr(model, "num_branches", 1)
    blocks = len(getattr(model, "blocks", ()))
    if blocks * branches == count:
        heads = [f"branch {i + 1} " for i in range(branches)] if branches > 1 else [""]
        return tuple(f"{head}block {i + 1}" for head in heads for i in range(blocks))
    info = model.feature_info
    stem = len(info) == count and str(info[0]["module"]).startswith(("act", "stem", "conv", "bn"))
    return (*(["stem"] if stem else []), *(f"stage {i + 1}" for i in range(count - stem)))


def check_name(name: str) -> str:
    """Return a name that timm has, with or without a tag, of a former one the present; raise
    UnknownNameError.
    """
    names = {*timm.list_models(), *timm.list_models(pretrained=True)}
    if name in names:
        return name
    if now := timm.models.get_deprecated_models().get(name):
        return str(now)
    raise UnknownNameError("timm model", name, names)


def load_published(name: str) -> Loaded:
    """Load the weights that timm publishes for `name`; raise EncoderError if it has none or they
    cannot be read, OfflineError if none is here.
    """
    published = timm.models.get_pretrained_cfg(name, allow_unregistered=True)
    if published is None or not published.has_weights:
        raise EncoderError(
            f"timm publishes no weights for {name}; give your own as timm:{name}@CHECKPOINT"
        )
    spec, instead = f"timm:{name}", f"timm:{name}@CHECKPOINT with a weights file"
    wanted = Repository(published.hf_hub_id or published.url, spec, instead)
    place = wanted.cache if published.hf_hub_id else f"{torch.hub.get_dir()}/checkpoints"
    check_readable(spec)
    try:
        with asking(wanted) if published.hf_hub_id else nullcontext():
            model = timm.create_model(name, pretrained=True)
    except UNREADABLE as error:
        if is_out_of_memory(error):
            raise
        raise EncoderError(
            f"the weights that timm publishes for {name} cannot be read"
            f" ({' '.join(str(error).split())[:200]}); delete them in {place} to fetch them again,"
            f" or use {instead}"
        ) from error
    except OSError as error:
        raise OfflineError(
            f"{spec} cannot be fetched: {wanted.id}: {summarize(error)}; try again later, or use"
            f" {instead}"
        ) from error
    here = None
    if published.hf_hub_id:
        here = cached(wanted, published.hf_hub_filename or SINGLE)
    weights = digest_files([here]) if here else digest_state(model.state_dict())
    source = model.pretrained_cfg
    tagged = f"{source['architecture']}.{source.get('tag') or ''}"
    return Loaded(model, store_name(name), tagged, {}, weights)


def load_untrained(name: str) -> Loaded:
    """Return a model with the weights that timm draws for it before any training, from seed 0."""
    with MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = timm.create_model(name, pretrained=False)
    notes = {"title": f"{name} {UNTRAINED}", "objective": UNTRAINED}
    weights = digest_state(model.state_dict())
    return Loaded(model, f"{store_name(name)}-{UNTRAINED}", None, notes, weights)


def load_from_hub(place: str) -> Loaded:
    """Load a model of the hub's in timm's format, `ID` or `ID@REVISION`; raise EncoderError, or
    OfflineError if none is here.
    """
    repository, _, revision = place.partition("@")
    instead = "timm:NAME@FOLDER with a copy of it"
    wanted = Repository(repository, f"timm:{HUB}{place}", instead, revision=revision or None)
    folder = fetch_snapshot(wanted, FETCHED)
    config = read_json(folder / "config.json") if (folder / "config.json").exists() else {}
    name = str(config.get("architecture"))
    if not timm.is_model(name):
        raise EncoderError(
            f"timm:{HUB}{repository} is not a model of timm's: its config.json names the"
            f" architecture {config.get('architecture')!r}"
        )
    loaded = load_checkpoint(name, folder)
    tag = loaded.model.pretrained_cfg.get("tag")
    published = f"{name}.{tag}" if tag else None
    return replace(loaded, name=store_name(repository), published=published, revision=folder.name)


def load_checkpoint(name: str, place: Path) -> Loaded:
    """Load timm's `name` with the weights of a file, or of a folder in timm's hub format; raise
    EncoderError, also if a tensor is missing or does not fit.
    """
    file = _find_weights(place)
    config = read_config(place, name) if place.is_dir() else {}
    check_memory(
        2 * file.stat().st_size,  # as they are read, and in the model that takes them
        f"the weights in {file}",
        "free some, or choose a smaller model",
    )
    state = read_weights(file)
    settings = read_settings(name, config)
    shapes = {name: tensor.shape for name, tensor in state.items()}
    classes = count_classes(shapes, settings.get("classifier"))
    settings = {key: value for key, value in settings.items() if key not in SOURCES}
    settings.update(
        architecture=name.partition(".")[0], state_dict=state, num_classes=classes, label_offset=0
    )
    arguments = {**config.get("model_args", {}), "num_classes": classes}
    with MAKING, refusing(f"{file} does not fit {name}", FITTING):
        with torch.device("meta"):
            made = timm.create_model(settings["architecture"], pretrained=False, **arguments)
        check_size(made, place, shapes.values())
        model = timm.create_model(
            settings["architecture"], pretrained=True, pretrained_cfg=settings, **arguments
        )
    model.pretrained_cfg.pop("state_dict", None)  # a second copy of the weights
    notes = read_notes(place if place.is_dir() else place.parent)
    return Loaded(model, store_name(str(place)), None, notes, digest_files([file]))


def _find_weights(place: Path) -> Path:
    if place.is_file():
        return place
    forms = ", ".join(FORMATS)
    if not place.is_dir():
        raise EncoderError(
            f"there is no checkpoint at {place}; expected a weights file ({forms}) or a folder"
            " with one"
        )
    if (place / SINGLE).exists():
        return place / SINGLE
    files = [path for form in FORMATS for path in sorted(place.glob(f"*{form}"))]
    if len(files) != 1:
        has = ", ".join(path.name for path in files) or "none"
        raise EncoderError(
            f"{place} must hold {SINGLE} or one weights file ({forms}); it has {has}"
        )
    return files[0]


def read_config(folder: Path, name: str) -> Json:
    """Read a folder's config.json in timm's hub format; raise EncoderError if it is not of
    architecture `name`.
    """
    path = folder / "config.json"
    if not path.exists():
        raise EncoderError(
            f"{folder} has no config.json; expected timm's, with architecture, model_args and"
            " pretrained_cfg"
        )
    config = read_json(path)
    architecture = config.get("architecture")
    if architecture != name.partition(".")[0]:
        raise EncoderError(
            f"{path} is of architecture {architecture!r}, the spec says {name!r}; use"
            f" timm:{architecture}@{folder}"
        )
    if not all(
        isinstance(config.setdefault(key, {}), dict) for key in ("model_args", "pretrained_cfg")
    ):
        raise EncoderError(f"{path} must hold objects under model_args and pretrained_cfg")
    if foreign := sorted(config["model_args"].keys() & set(CONTROLS)):
        raise EncoderError(
            f"{path} has model_args that would load other weights: {', '.join(foreign)}; take"
            " them out"
        )
    return config


def read_settings(name: str, config: Plain) -> Json:
    """Return what timm knows of the weights that it publishes for `name`, and what a checkpoint's
    own config says in its place.
    """
    published = timm.models.get_pretrained_cfg(name, allow_unregistered=True)
    return {**(published.to_dict() if published else {}), **config.get("pretrained_cfg", {})}


def count_classes(
    shapes: Mapping[str, Sequence[int]], classifier: str | Sequence[str] | None
) -> int:
    """Return how many outputs the head of a checkpoint has, 0 if it has none. shapes: of its
    tensors. classifier: timm's name of the head.
    """
    head = classifier if isinstance(classifier, str) else (classifier or ("head",))[0]
    weight = shapes.get(f"{head}.weight")
    return weight[0] if weight else 0
