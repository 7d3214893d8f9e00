"""A transformers model and its tokenizer from a folder or the hub: tensors and JSON only, no code
and no pickled objects; and how a folder of sentence-transformers reads texts.
"""

from __future__ import annotations

import json
import os
import re
import reprlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Regex, normalizers
from torch import Tensor
from transformers import (
    MODEL_FOR_CAUSAL_LM_MAPPING,
    MODEL_FOR_MASKED_LM_MAPPING,
    MODEL_FOR_MULTIMODAL_LM_MAPPING,
    MODEL_FOR_TEXT_ENCODING_MAPPING,
    MODEL_MAPPING,
    AutoConfig,
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMultimodalLM,
    AutoModelForTextEncoding,
    AutoTokenizer,
    LlamaTokenizer,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.tokenization_utils_base import generate_merges
from transformers.utils import logging as transformers_log
from transformers.utils.sentencepiece_model_pb2_new import ModelProto

from core.encoders.checkpoint import (
    FLOATS,
    MAKING,
    Arithmetic,
    choose_arithmetic,
    read_outlines,
    refusing,
    store_name,
)
from core.encoders.fields import FORMS, PICKLED, SINGLE, WEIGHTS, check_index, read_json
from core.encoders.requests import TEXT, VISION, Pooling, Precision
from core.errors import EncoderError
from core.files.texts import Json
from core.files.userfile import CONFIG, UserFile
from core.hub.fetch import fetch_snapshot
from core.hub.repository import Repository
from core.machine.memory import free_memory, size_text
from core.machine.processes import endings

CONTENTS = "a transformers folder with config.json, model.safetensors and a tokenizer"
OPENED = (
    "expected whole weights of an architecture that transformers knows without the model's own code"
)
# how the architectures that predict the next token are named
CAUSAL = ("ForCausalLM", "LMHeadModel")
SPARE = 0.85  # of free memory for the weights; batches need the rest
PLAIN = "choose the model's weights in bfloat16 or float32"
# what older versions wrote and newer ones compute
BUFFERS = re.compile(
    r"(^|\.)(inv_freq|(cos|sin)_cached|masked_bias|scale_attn|position_ids|relative_position_index"
    r"|relative_coords_table|num_batches_tracked)$"
)
NUMBERED = re.compile(r"(?:^|\.)(\d+)\.")  # the place of a layer in its list
PIECES, PAIRS = "tokenizer.model", 2  # what SentencePiece calls its models of byte pairs
OPTIONS = (  # of a tokenizer's config, what a tokenizer of pieces is made with
    *("bos_token", "eos_token", "unk_token", "pad_token"),
    *("add_bos_token", "add_eos_token", "legacy", "model_max_length"),
)
# of sentence-transformers
MODULES = "modules.json"
MODES: dict[str, Pooling] = {
    **{"cls": "first", "mean": "mean", "max": "max", "lasttoken": "last"},
    **{"pooling_mode_cls_token": "first", "pooling_mode_mean_tokens": "mean"},
    **{"pooling_mode_max_tokens": "max", "pooling_mode_lasttoken": "last"},
}
TOKENIZERS = ("tokenizer*", "vocab*", "merges.txt", "*.model", "special_tokens_map.json")
FETCHED = ("*.json", "*.txt", "*.model", "*.jinja", "[0-9]_*/*")  # the last: sentence-transformers'


@dataclass(frozen=True)
class Source:
    """The files of a model. place: the hub's id, or the folder as it was typed. revision: the
    commit of the hub's repository, "" for a folder.
    """

    folder: Path
    place: str
    revision: str = ""


def find_source(place: str) -> Source:
    """Return the files of a local folder, or of the hub's `ID` or `ID@REVISION`; raise EncoderError
    or OfflineError.
    """
    folder = Path(os.path.expanduser(place))
    if place and os.path.isdir(folder):  # a very long id is no path, and no error
        return Source(folder, place)
    name, _, revision = place.partition("@")
    if not name or name[0] in "./~" or name.count("/") > 1 or folder.exists():
        raise EncoderError(f"hf:{place} is no folder; expected hf:ID or hf:FOLDER, {CONTENTS}")
    instead = "hf:FOLDER with a copy of it"
    repository = Repository(name, f"hf:{place}", instead, revision=revision or None)
    for pattern in WEIGHTS:  # the next best if there are none
        snapshot = fetch_snapshot(repository, (*FETCHED, pattern))
        if any(snapshot.glob(pattern)):
            break
    return Source(snapshot, name, snapshot.name)


def source_name(source: Source, folder: Path) -> str:
    said = None if source.revision else read_json(folder / "config.json").get("_name_or_path")
    return store_name(source.place, said if isinstance(said, str) else "")


def find_weights(folder: Path) -> list[Path]:
    """Return the files of a model's weights, safetensors if there are any; raise EncoderError."""
    refuse_adapter(folder)
    if not (folder / "config.json").exists():
        raise EncoderError(f"{folder} has no config.json; expected {CONTENTS}")
    for single, index, pattern in FORMS:
        indexed = []
        if (folder / index).exists() and not (folder / single).exists():
            indexed = [folder / name for name in check_index(folder / index)]
            if lost := [path.name for path in indexed if not path.exists()]:
                raise EncoderError(
                    f"{folder} lacks {', '.join(lost[:3])}, which its {index} names; copy it whole"
                )
        if files := sorted({*folder.glob(pattern), *indexed}):
            return files
    raise EncoderError(f"{folder} has neither {SINGLE} nor {PICKLED}; expected {CONTENTS}")


def refuse_adapter(folder: Path) -> None:
    """Raise EncoderError for a folder with an adapter, which changes weights next to it or not."""
    if (adapter := folder / "adapter_config.json").exists():
        of = read_json(adapter).get("base_model_name_or_path") or "its base model"
        raise EncoderError(
            f"{folder} holds a PEFT adapter of {of} (adapter_config.json); expected weights with"
            " the adapter in them: save what PeftModel.merge_and_unload() gives, or remove"
            " adapter_config.json to read whole weights next to it without the adapter"
        )


def tokenizer_files(folder: Path) -> list[Path]:
    return [path for form in TOKENIZERS for path in folder.glob(form)]


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Load a fast tokenizer, the only kind that shows what is kept of a cut text; raise
    EncoderError.
    """
    if not tokenizer_files(folder):
        raise EncoderError(
            f"{folder} has no tokenizer; expected tokenizer.json and tokenizer_config.json next"
            " to the weights"
        )
    read_config(folder)  # the library reads it, too
    what = f"the tokenizer in {folder} cannot be read"
    with refusing(what, "save it again with transformers"), quiet():
        tokenizer = _open_pieces(folder) or AutoTokenizer.from_pretrained(
            folder, trust_remote_code=False, local_files_only=True
        )
    if not tokenizer.is_fast:
        raise EncoderError(
            f"the tokenizer in {folder} cannot tell what it keeps of a cut text; add a fast one,"
            " tokenizer.json"
        )
    if not isinstance(tokenizer.model_max_length, int | float):
        raise EncoderError(
            f"tokenizer_config.json in {folder} must give model_max_length as a number of tokens,"
            f" got {reprlib.repr(tokenizer.model_max_length)}; check the file"
        )
    tokenizer.truncation_side = "right"
    return tokenizer


def _open_pieces(folder: Path) -> PreTrainedTokenizerFast | None:
    """Return the tokenizer of a SentencePiece model alone (LLaMA, OpenLLaMA), which transformers
    reads only with a further library; None for any other.
    """
    path = folder / "tokenizer_config.json"
    if (folder / "tokenizer.json").exists() or not ((folder / PIECES).exists() and path.exists()):
        return None
    options = read_json(path)
    if options.get("tokenizer_class") != "LlamaTokenizer":
        return None
    model = ModelProto.FromString((folder / PIECES).read_bytes())
    if model.trainer_spec.model_type != PAIRS:
        raise EncoderError(
            f"{folder / PIECES} is no byte-pair model; save the tokenizer again with transformers,"
            " as tokenizer.json"
        )
    vocabulary = {piece.piece: number for number, piece in enumerate(model.pieces)}
    chosen = {name: options[name] for name in OPTIONS if options.get(name) is not None}
    texts = {
        name: value["content"] if isinstance(value, dict) else value
        for name, value in chosen.items()
    }
    made = LlamaTokenizer(vocab=vocabulary, merges=generate_merges(vocabulary), **texts)
    said, steps = model.normalizer_spec, list[normalizers.Normalizer]()
    if said.precompiled_charsmap:
        steps.append(normalizers.Precompiled(said.precompiled_charsmap))
    if said.remove_extra_whitespaces:
        steps += [normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")]
    if steps:
        # a pre-tokenizer would put no mark before a word whose leading spaces were removed
        marks = [normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]
        made.backend_tokenizer.normalizer = normalizers.Sequence([*steps, *marks])
        made.backend_tokenizer.pre_tokenizer = None
    return made


def load_model(
    folder: Path, *, precision: Precision, device: torch.device, part: str = ""
) -> tuple[PreTrainedModel, Arithmetic]:
    """Load a model for reading only: with its head if the config names a causal architecture, else
    the bare encoder; and how it computes. part: see `part_of`. Raise EncoderError for an
    architecture that needs its own code, and for damaged, quantized or incomplete weights.
    """
    config, files = read_config(folder), find_weights(folder)
    if said := getattr(config, "quantization_config", None):
        method = (said if isinstance(said, dict) else said.to_dict()).get("quant_method")
        raise EncoderError(
            f"{folder}: its weights are quantized (quant_method {method!r}); {PLAIN}"
        )
    with MAKING, refusing(f"{folder} cannot be opened", OPENED):
        tensors = read_outlines(files)  # .bin files hold tensors alone, too
        check_weights(folder, config, files[0], tensors)
        arithmetic = choose_arithmetic(precision, device, stored=stored_type(tensors))
        size = sum(one.numel() for one in tensors.values()) * arithmetic.weights.itemsize
        where = place(size, device)
        whole, _ = _load_weights(files[0], config, dtype=arithmetic.weights, **where)
        model = part_of(whole, part)
    model.config.use_cache = False  # keys and values of a text that is never continued
    model = model if where else model.to(device)
    return model.eval().requires_grad_(False), arithmetic


def read_config(folder: Path) -> PreTrainedConfig:
    """Read a model's config.json; raise EncoderError for an architecture that needs its own code.
    One that names no architecture gets the usual causal one of its kind.
    """
    refuse_adapter(folder)
    read_json(folder / "config.json")
    with refusing(f"{folder} cannot be opened", OPENED), quiet():
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        if not config.architectures:
            kind = type(config)
            usual = (
                mapping[kind].__name__
                for mapping in (MODEL_FOR_MULTIMODAL_LM_MAPPING, MODEL_FOR_CAUSAL_LM_MAPPING)
                if kind in mapping and kind not in MODEL_FOR_MASKED_LM_MAPPING
            )
            config.architectures = [next(usual, "")]
        is_causal(config)  # so that names which are none are found here
    return config


def class_of(config: PreTrainedConfig) -> Any:
    """Return the class that makes a config's model: with its head if it predicts the next token, of
    T5's kind the encoder alone.
    """
    kind, name = type(config), (config.architectures or [""])[0]
    if is_causal(config):
        both = kind in MODEL_FOR_MULTIMODAL_LM_MAPPING
        is_both = both and MODEL_FOR_MULTIMODAL_LM_MAPPING[kind].__name__ == name
        return AutoModelForMultimodalLM if is_both else AutoModelForCausalLM
    if kind in MODEL_FOR_TEXT_ENCODING_MAPPING and (
        config.is_encoder_decoder or name.endswith("EncoderModel")
    ):
        return AutoModelForTextEncoding
    named = getattr(transformers, name, None)
    if kind not in MODEL_MAPPING and getattr(named, "config_class", None) is kind:
        AutoModel.register(kind, named, exist_ok=True)  # a part alone, as SigLIP's for texts
    return AutoModel


def parts_of(config: PreTrainedConfig) -> tuple[str, ...]:
    """Return the marks of the parts that can be read alone."""
    marks = (VISION,) if is_causal(config) else (TEXT, VISION)
    return tuple(mark for mark in marks if hasattr(config, f"{mark[1:]}_config"))


def part_of(model: PreTrainedModel, part: str) -> PreTrainedModel:
    """Return the part of a model that reads: what the mark says, the encoder of an encoder-decoder,
    else all of it.
    """
    if part == VISION:
        return model.get_encoder(modality="image")
    reader = model.get_decoder() if part == TEXT else model
    if not reader.config.is_encoder_decoder:
        return reader
    if (encoder := reader.get_encoder()) is reader:
        raise EncoderError(
            f"{type(reader).__name__} is an encoder-decoder; expected an encoder that can be read"
            " alone, or a causal model"
        )
    return encoder


def check_part(folder: Path, part: str) -> bool:
    """Return whether a spec's mark means images; raise EncoderError if the model has no such part,
    or has two and none is named.
    """
    config = read_config(folder)
    parts = parts_of(config)
    if part and part not in parts:
        raise EncoderError(
            f"{folder} is a {type(config).__name__.removesuffix('Config')} model without a part"
            f" {part[1:]} to choose; leave {part} out"
        )
    if not part and parts and not is_causal(config):
        raise EncoderError(
            f"{folder} reads texts with a part of its own; choose a part: {' or '.join(parts)} at"
            " the end of the spec"
        )
    with refusing(f"{folder} cannot be opened", OPENED):
        kind = class_of(config)._model_mapping[type(config)]
    return part == VISION or getattr(kind, "main_input_name", "") == "pixel_values"


def count_parameters(model: PreTrainedModel) -> int:
    """Return how many parameters read and code text, without those that see images."""
    parts = [model]
    if parts_of(model.config):
        parts = [model.get_decoder(), model.get_output_embeddings()]
    own = {id(each): each for part in parts if part for each in part.parameters()}
    return sum(each.numel() for each in own.values())


def check_weights(
    folder: Path, config: PreTrainedConfig, first: Path, tensors: Mapping[str, Tensor]
) -> None:
    """Raise EncoderError if the weights, of which this is the first file, are not those of the
    config's model: of other shapes, too few, or more in a layer or module that is read.
    """
    model, report = _load_weights(
        first, config, device_map={"": "meta"}, ignore_mismatched_sizes=True
    )
    own = [f".{name}" for name, _ in model.named_parameters()]
    odd = [name for name, one in tensors.items() if one.dtype not in FLOATS.values()]
    wrong = {
        "has other shapes than config.json says of": [n for n, *_ in report["mismatched_keys"]],
        f"holds integers or float8, and not how to read them ({PLAIN}), of": [
            name
            for name in odd
            if any(one.endswith(f".{name}") or f".{name}".endswith(one) for one in own)
        ],
        "lacks weights of": [  # a pooler is never read out
            name for name in report["missing_keys"] if not re.search(r"(^|\.)pooler\.", name)
        ],
        "has further weights in parts of": unread_parts(tensors, report["unexpected_keys"]),
    }
    for what, names in wrong.items():
        if names:
            raise EncoderError(
                f"{folder} {what} {type(model).__name__}: {', '.join(sorted(names)[:5])}; expected"
                " one model's config and whole weights, with any adapter merged into them"
                " (merge_and_unload)"
            )


def unread_parts(tensors: Mapping[str, Tensor], unread: Collection[str]) -> list[str]:
    """Return the tensors that are not read of modules, or lists of layers, that are, but for
    buffers (the masks of GPT-2's kind are 1 × 1 × length × length).
    """
    read = tensors.keys() - set(unread)
    modules = {name.rpartition(".")[0] for name in read} - {""}
    lists = {name[: layer.start(1)] for name in read for layer in NUMBERED.finditer(name)}

    def is_within(name: str) -> bool:
        module = name.rpartition(".")[0]
        outer = {f"{module[: dot.start()]}.weight" for dot in re.finditer(r"\.", module)}
        layers = {name[: layer.start(1)] for layer in NUMBERED.finditer(name)}
        return module in modules or not lists.isdisjoint(layers) or not read.isdisjoint(outer)

    return [
        name
        for name in sorted(unread)
        if is_within(name) and not BUFFERS.search(name) and [*tensors[name].shape][:-2] != [1, 1]
    ]


def stored_type(tensors: Mapping[str, Tensor]) -> torch.dtype:
    """Return the type of most of the weights; float32 if that is no floating one."""
    counts = Counter[torch.dtype]()
    for tensor in tensors.values():
        counts[tensor.dtype] += tensor.numel()
    most = max(counts, key=lambda kind: counts[kind], default=torch.float32)
    return most if most in FLOATS.values() else torch.float32


def place(size: int, device: torch.device) -> Json:
    """Return transformers' arguments that put weights of so many bytes on a device: none if all
    fit; else accelerate spreads the layers over the GPUs (if `device` is one), the memory and a
    temporary folder. Raise EncoderError if there is no room for all that either.
    """
    if size <= SPARE * free_on(device):
        return {}
    room: dict[int | str, int] = {"cpu": int(SPARE * free_on(torch.device("cpu")))}
    if device.type == "cuda":
        every = [torch.device("cuda", index) for index in range(torch.cuda.device_count())]
        room |= {each.index: int(SPARE * free_on(each)) for each in every}
    memory, folder = sum(room.values()), tempfile.gettempdir()
    disk = shutil.disk_usage(folder).free
    if size > memory + SPARE * disk:
        raise EncoderError(
            f"the model's weights take {size_text(size)}, more than the {size_text(memory)} of"
            f" memory and {size_text(disk)} on the disk of {folder} that are free; free some, set"
            " TMPDIR to a larger disk, or choose a smaller model or --precision bf16"
        )
    spilled = tempfile.mkdtemp(prefix="platoscope-weights-")
    endings.callback(shutil.rmtree, spilled, ignore_errors=True)
    return {"device_map": "auto", "max_memory": room, "offload_folder": spilled}


def free_on(device: torch.device) -> int:
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return free_memory()


def is_causal(config: PreTrainedConfig) -> bool:
    """Return whether the weights predict the next token."""
    if config.is_encoder_decoder or config.get_text_config(decoder=True).is_encoder_decoder:
        return False
    seeing = MODEL_FOR_MULTIMODAL_LM_MAPPING.get(type(config), None)
    return any(
        name.endswith(CAUSAL) or (seeing and name == seeing.__name__)
        for name in config.architectures or ()
    )


def _load_weights(
    first: Path, config: PreTrainedConfig, **how: Any
) -> tuple[PreTrainedModel, Json]:
    with quiet():
        loaded: tuple[PreTrainedModel, Json] = class_of(config).from_pretrained(
            first.parent,
            config=config,
            use_safetensors=first.suffix != ".bin",
            trust_remote_code=False,
            local_files_only=True,
            output_loading_info=True,
            **how,
        )
        return loaded


@contextmanager
def quiet() -> Iterator[None]:
    """Keep the loading report and bar off the terminal."""
    level, bars = transformers_log.get_verbosity(), transformers_log.is_progress_bar_enabled()
    transformers_log.set_verbosity_error()
    transformers_log.disable_progress_bar()
    try:
        yield
    finally:
        transformers_log.set_verbosity(level)
        if bars:
            transformers_log.enable_progress_bar()


@dataclass(frozen=True)
class Sentences:
    """How a folder of sentence-transformers reads texts. folder: of the transformers model.
    pooling, longest (tokens): None if it does not say. lower: whether texts become lower-case.
    prompt: precedes each. unread: what it asks for that cannot be done here, in words. That it
    scales vectors to length 1 changes no similarity and is left out.
    """

    folder: Path
    pooling: Pooling | None = None
    longest: int | None = None
    lower: bool = False
    prompt: str = ""
    unread: str = ""


def read_sentences(root: Path) -> Sentences:
    """Return how a folder reads texts by its modules.json; the folder alone if it has none. Raise
    EncoderError.
    """
    if not (root / MODULES).exists():
        return Sentences(root)
    modules = _modules(root)
    folder = root / modules[0][1]
    said = Sentences(folder)
    for path in folder.glob("sentence_*_config.json"):
        own = read_json(path)
        longest = own.get("max_seq_length")
        longest = longest if isinstance(longest, int) and longest > 0 else None
        said = replace(said, longest=longest, lower=own.get("do_lower_case") is True)
    if (root / "config_sentence_transformers.json").exists():
        own = read_json(root / "config_sentence_transformers.json")
        prompt = (own.get("prompts") or {}).get(own.get("default_prompt_name"))
        said = replace(said, prompt=prompt if isinstance(prompt, str) else "")
    for kind, place in modules[1:]:
        if kind == "Pooling":
            said = _with_pooling(said, read_json(root / place / "config.json"))
        elif kind not in ("Normalize", "Dropout"):
            said = replace(said, unread=f"a module {kind}")
    return said


def _modules(root: Path) -> list[tuple[str, str]]:
    path = root / MODULES
    file = UserFile(path, "a list of modules in JSON", EncoderError, most=CONFIG)
    try:
        modules = [
            (str(one["type"]).rpartition(".")[2], str(one["path"]))
            for one in json.loads(file.read().decode())
        ]
    except (ValueError, RecursionError, TypeError, KeyError):
        modules = []
    if not modules or any(Path(place).is_absolute() or ".." in place for _, place in modules):
        raise EncoderError(
            f"{path} must list modules, each with a type and the path of a folder in it; check the"
            " file"
        )
    return modules


def _with_pooling(said: Sentences, config: Json) -> Sentences:
    named = config.get("pooling_mode")
    names = [str(one) for one in (named if isinstance(named, list) else [named] if named else [])]
    names = names or [name for name in config if name.startswith("pooling_mode_") and config[name]]
    unread = said.unread
    if len(names) != 1 or names[0] not in MODES:
        unread = f"the pooling {' and '.join(names) or 'of no tokens'}"
    elif said.prompt and config.get("include_prompt") is False:
        unread = "pooling without its prompt"
    return replace(said, pooling=MODES.get(names[0]) if names else None, unread=unread)
