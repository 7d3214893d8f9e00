"""A rehearsal of the shipped studies: a hub that serves every id that they name, with the real
configuration class, kind of tokenizer, layer names and file layout, at tiny widths and depths with
random weights; and small stand-ins for their data.

timm makes an architecture by its name at full size: here each named one is the same family, with
its own class token, norms and activations, at a tiny width, depth and image size.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

import datasets
import numpy as np
import pandas as pd
import pytest
import timm
import torch
import transformers
from huggingface_hub import close_session
from PIL import Image
from safetensors.torch import save_file
from timm.models import _registry as registry
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers.utils.sentencepiece_model_pb2_new import ModelProto

from core.competence.probes import fit
from core.competence.scores import published_models, vtab_tasks
from core.plans.reading import open_plan, shipped
from tests.competence.labeled_files import write_part
from tests.hub.online import turn_to
from tests.hub.server import LocalHub

WRITER = "hf:meta-llama/Meta-Llama-3-8B-Instruct"
EXTRA = ("timm:resnet18.a1_in1k", "timm:resnet50.a1_in1k", "hf:gpt2", WRITER)
SIZE, SIDE = 64, 24  # stimuli of a dataset, pixels of an image
PLACES = 160  # images, of which figure 12 draws 128 and all
VOCABULARY = 400
LOUD = 0.2  # deviation of the weights: at the usual 0.02 random models hardly look at their context
WORDS = (
    ("a", "the", "one", "some"),
    ("red", "tall", "old", "quiet", "striped", "wooden", "bright", "wet"),
    ("boat", "tree", "dog", "house", "train", "lamp", "bridge", "market"),
    ("near", "behind", "above", "under", "between"),
    ("water", "people", "mountains", "windows", "flowers", "clouds"),
)
TEMPLATE = "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}\n{% endfor %}<|assistant|>"


@dataclass(frozen=True)
class Family:
    """How the models of one kind lie on the hub. named: of their ids, a pattern. marks: the tokens
    that begin and end a text. bos: whether the tokenizer puts the first in front. parts: into how
    many files the weights are split at most. sizes: fields that follow from the width.
    """

    named: str
    config: type
    tokenizer: str
    marks: tuple[str, str]
    bos: bool = False
    pieces: bool = False  # of characters, unknown ones by their bytes; else of bytes
    dtype: torch.dtype = torch.float32
    parts: int = 1
    pickled: bool = False
    more: Mapping[str, Any] = field(default_factory=dict)
    sizes: Mapping[str, str] = field(default_factory=dict)


_WIDE = {"hidden_size": "width", "num_hidden_layers": "depth", "intermediate_size": "inner"}
_LLAMA = {"num_attention_heads": 4, "max_position_embeddings": 2048, "initializer_range": LOUD}
_S, _TEXT = ("<s>", "</s>"), "<|endoftext|>"
_HALF, _BF16 = torch.float16, torch.bfloat16
FAMILIES = (
    Family(
        *("bigscience/bloom", transformers.BloomConfig, "BloomTokenizerFast", _S),
        dtype=_HALF,
        more={"n_head": 4, "initializer_range": LOUD},
        sizes={"hidden_size": "width", "n_layer": "depth"},
    ),
    Family(
        *("openlm-research/", transformers.LlamaConfig, "LlamaTokenizer", _S),
        **{"bos": True, "pieces": True, "dtype": _HALF, "parts": 2, "pickled": True},
        more=_LLAMA,
        sizes=_WIDE,
    ),
    Family(
        *("huggyllama/", transformers.LlamaConfig, "LlamaTokenizer", _S),
        **{"bos": True, "pieces": True, "dtype": _HALF, "parts": 2},
        more=_LLAMA,
        sizes=_WIDE,
    ),
    Family(
        *("allenai/OLMo", transformers.OlmoConfig, "GPTNeoXTokenizer", (_TEXT, _TEXT)),
        more=_LLAMA,
        sizes=_WIDE,
    ),
    Family(
        r".*/Meta-Llama-3-.*",
        *(transformers.LlamaConfig, "PreTrainedTokenizerFast", ("<|begin_of_text|>", "<|end|>")),
        **{"bos": True, "dtype": _BF16, "parts": 4},
        more={**_LLAMA, "num_key_value_heads": 2},
        sizes=_WIDE,
    ),
    Family(
        *("google/gemma", transformers.GemmaConfig, "GemmaTokenizer", ("<bos>", "<eos>")),
        **{"bos": True, "pieces": True, "dtype": _BF16, "parts": 2},
        more={**_LLAMA, "num_key_value_heads": 1, "head_dim": 8},
        sizes=_WIDE,
    ),
    Family(
        *("mistralai/Mistral", transformers.MistralConfig, "LlamaTokenizer", _S),
        **{"bos": True, "pieces": True, "dtype": _BF16, "parts": 2},
        more={**_LLAMA, "num_key_value_heads": 2},
        sizes=_WIDE,
    ),
    Family(
        *("mistralai/Mixtral", transformers.MixtralConfig, "LlamaTokenizer", _S),
        **{"bos": True, "pieces": True, "dtype": _BF16, "parts": 4},
        more={**_LLAMA, "num_key_value_heads": 2},
        sizes=_WIDE,
    ),
    Family(
        *("(openai-community/)?gpt2", transformers.GPT2Config, "GPT2Tokenizer", (_TEXT, _TEXT)),
        more={"n_head": 4, "initializer_range": LOUD},
        sizes={"n_embd": "width", "n_layer": "depth"},
    ),
)


def named_specs() -> list[str]:
    """Return every spec that a shipped study names, and those that it may be given."""
    planned = [model.spec for name in shipped() for _, model in open_plan(name).members()]
    return list(dict.fromkeys([*planned, *EXTRA]))


def family_of(hub_id: str) -> Family:
    """Return the first family whose pattern an id begins with."""
    return next(one for one in FAMILIES if re.match(one.named, hub_id))


@cache
def _real_sizes() -> dict[str, tuple[int, int]]:
    """Return the real width and depth of each model, by spec."""
    known = published_models().set_index("model")
    sizes = {str(name): (row["width"], row["depth"]) for name, row in known.iterrows()}
    planned = [model for name in shipped() for _, model in open_plan(name).members()]
    sizes |= {one.spec: (one.width, one.layers - 1) for one in planned if one.width and one.layers}
    return {WRITER: (4096, 32), "hf:gpt2": (768, 12), **sizes}


def write_language(folder: Path, hub_id: str, *, width: int = 0) -> Path:
    """Write a causal model as the hub has it. width: in place of that of its config."""
    family, (real, deep) = family_of(hub_id), _real_sizes()[f"hf:{hub_id}"]
    sizes = {"width": 8 * round(real / 512), "depth": 1 + deep // 12, "inner": real // 32}
    chosen = {name: sizes[size] for name, size in family.sizes.items()}
    made = family.config(vocab_size=VOCABULARY, **chosen, **family.more)
    torch.manual_seed(crc32(hub_id.encode()))
    model = transformers.AutoModelForCausalLM.from_config(made).to(family.dtype)
    weights = sum(value.nbytes for value in model.state_dict().values())
    model.save_pretrained(folder, max_shard_size=weights // family.parts + 1)
    if family.pickled:
        _pickle(folder)
    write_tokenizer(folder, family, chat=f"hf:{hub_id}" == WRITER)
    if width:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "hidden_size": width}))
    return folder


def _pickle(folder: Path) -> None:
    """Put PyTorch's own files in place of safetensors, as older models have them."""
    from safetensors.torch import load_file

    for file in folder.glob("model*.safetensors"):
        place = folder / file.name.replace("model", "pytorch_model", 1)
        torch.save(load_file(file), place.with_suffix(".bin"))
        file.unlink()
    for index in folder.glob("model*.index.json"):
        said = index.read_text().replace("model-", "pytorch_model-").replace(".safetensors", ".bin")
        (folder / "pytorch_model.bin.index.json").write_text(said)
        index.unlink()


def write_tokenizer(folder: Path, family: Family, *, chat: bool) -> None:
    """Write a byte-pair tokenizer trained on the texts here."""
    begin, end = family.marks
    made = _trained(family.pieces, (begin, end) if begin != end else (begin,))
    if family.bos:
        first = (begin, made.token_to_id(begin))
        made.post_processor = processors.TemplateProcessing(
            single=f"{begin} $A", special_tokens=[first]
        )
    if family.pickled:
        _write_pieces(folder, made, family)
    else:
        made.save(str(folder / "tokenizer.json"))
    said = {"tokenizer_class": family.tokenizer, "bos_token": begin, "eos_token": end}
    said |= {"unk_token": "<unk>", "add_bos_token": True} if family.pieces else {}
    said |= {"chat_template": TEMPLATE} if chat else {}
    (folder / "tokenizer_config.json").write_text(json.dumps({**said, "model_max_length": 10**30}))


def _write_pieces(folder: Path, made: Tokenizer, family: Family) -> None:
    """Write a tokenizer as SentencePiece does, which older models have alone."""
    kinds = {"<unk>": 2, **dict.fromkeys(family.marks, 3)}
    proto = ModelProto()
    for piece, at in sorted(made.get_vocab().items(), key=lambda each: each[1]):
        kind = 6 if piece.startswith("<0x") else kinds.get(piece, 1)
        proto.pieces.add(piece=piece, score=-at, type=kind)
    proto.trainer_spec.model_type = 2
    (folder / "tokenizer.model").write_bytes(proto.SerializeToString())


def _trained(pieces: bool, marks: tuple[str, ...]) -> Tokenizer:
    first = ["<unk>", *marks, *(f"<0x{byte:02X}>" for byte in range(256))]
    special = first if pieces else [*marks]
    learned = Tokenizer(models.BPE())
    split = pre_tokenizers.ByteLevel(add_prefix_space=False)
    split = pre_tokenizers.Metaspace(split=True) if pieces else split
    alphabet = [] if pieces else pre_tokenizers.ByteLevel.alphabet()
    learned.pre_tokenizer = split
    learned.train_from_iterator(
        [caption(at) for at in range(200)],
        trainers.BpeTrainer(
            vocab_size=VOCABULARY,
            special_tokens=special,
            initial_alphabet=alphabet,
            show_progress=False,
        ),
    )
    said = json.loads(learned.to_str())["model"]
    vocabulary, merges = said["vocab"], [tuple(pair) for pair in said["merges"]]
    if pieces:
        kind = models.BPE(vocabulary, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
        decoder = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
        made = Tokenizer(kind)
        made.decoder = decoders.Sequence(decoder)
        made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    else:
        made = Tokenizer(models.BPE(vocabulary, merges))
        made.decoder, made.pre_tokenizer = decoders.ByteLevel(), split
    made.add_special_tokens(list(marks))
    return made


def _tiny(spec: str) -> dict[str, Any]:
    """Return the arguments of a timm architecture's own function that make it tiny."""
    name = spec.removeprefix("timm:").partition("@")[0]
    if name.startswith("resnet"):
        return {"layers": (1, 1, 1, 1), "channels": (8, 16, 16, 24)}
    real, deep = _real_sizes()[spec]
    patch = int(re.search(r"patch(\d+)", name)[1])
    heads = {"num_heads": 2, "img_size": 2 * patch}
    return {"embed_dim": 8 * max(1, round(real / 256)), "depth": max(2, deep // 8), **heads}


@contextmanager
def tiny_timm(specs: list[str]) -> Iterator[None]:
    """Let timm make the named architectures tiny: arguments of their own functions say how."""
    with pytest.MonkeyPatch.context() as patch:
        for spec in specs:
            name = spec.removeprefix("timm:").partition("@")[0]
            bare, tiny = name.partition(".")[0], _tiny(spec)
            side = tiny.get("img_size", 2 * SIDE)
            made = registry._model_entrypoints[bare]
            made = made.func if isinstance(made, partial) else made
            patch.setitem(registry._model_entrypoints, bare, partial(made, **tiny))
            for known in {name, bare} & registry._model_pretrained_cfgs.keys():
                real = registry._model_pretrained_cfgs[known]
                small = {"input_size": (3, side, side), "num_classes": min(10, real.num_classes)}
                patch.setitem(registry._model_pretrained_cfgs, known, replace(real, **small))
        yield


def write_vision(folder: Path, spec: str) -> Path:
    """Write the weights of a timm model as timm's hub has them."""
    torch.manual_seed(crc32(spec.encode()))
    model = timm.create_model(spec.removeprefix("timm:"))
    for name, value in model.named_parameters():
        with torch.no_grad():  # at first, blocks of such models hardly change their input
            if name.endswith("gamma"):
                value.uniform_(0.5, 1.5)
            elif value.ndim > 1 and spec.startswith("timm:vit"):
                value.normal_(0, LOUD)
    folder.mkdir(parents=True)
    save_file(model.state_dict(), folder / "model.safetensors")
    return folder


@cache
def caption(seed: int) -> str:
    """Return a sentence of its own for each seed."""
    dice = np.random.default_rng(seed)
    said = " ".join(str(dice.choice(words)) for words in (*WORDS, *WORDS[1:3]))
    return f"{said} number {seed}"


def picture(seed: int) -> Image.Image:
    """Return an image of its own for each seed: a coarse one, enlarged."""
    coarse = np.random.default_rng(seed).integers(0, 255, (4, 4, 3), dtype=np.uint8)
    return Image.fromarray(coarse).resize((SIDE, SIDE), Image.Resampling.BICUBIC)


def host_data(hub: LocalHub, root: Path, size: int) -> None:
    """Host WIT, Flickr30k, OpenWebText and the tasks of VTAB; write folders `places` and `dci`."""
    shots = [picture(at) for at in range(size)]
    texts = [[caption(at), f"{caption(at)} seen from afar"] for at in range(size)]
    for hub_id, column, file, branch in (
        ("minhuh/prh", "text", "train-00000-of-00001", "wit_1024"),
        ("lmms-lab/flickr30k", "caption", "test-00000-of-00001", "main"),
    ):
        folder = root / hub_id
        (folder / "data").mkdir(parents=True)
        (folder / "README.md").write_text("Pairs.\n")
        table = datasets.Dataset.from_dict({"image": shots, column: texts})
        table.to_parquet(folder / "data" / f"{file}.parquet")
        hub.add_dataset(hub_id, folder, branch)
    web = root / "owt" / "plain_text"
    web.mkdir(parents=True)
    said = [". ".join(caption(10 * at + one) for one in range(3 + at % 5)) for at in range(16)]
    pd.DataFrame({"text": said}).to_parquet(web / "train-00000-of-00001.parquet")
    hub.add_dataset("Skylion007/openwebtext", web.parent)
    for number, task in enumerate(vtab_tasks().to_dict("records")):
        for part, each in (("train", 16), ("test", 8)):
            labels = [(at + number) % min(3, task["classes"]) for at in range(each)]
            write_part(root / task["task"] / part, [labels])
        hub.add_dataset(task["hub"], root / task["task"])
    for name, count in (("places", PLACES), ("dci", size)):
        (root / name).mkdir()
        for at in range(count):
            picture(at).save(root / name / f"{at:04d}.png")
    dci = {"image": [f"{at:04d}.png" for at in range(size)]}
    dci |= {"caption": [f"{caption(at)}, and {caption(at + size)}" for at in range(size)]}
    pd.DataFrame(dci).to_csv(root / "dci" / "captions.csv", index=False)


@dataclass(frozen=True)
class Rehearsal:
    """A hub on which everything is, and the folder with what is given by hand."""

    hub: LocalHub
    root: Path

    def words(self, name: str) -> list[str]:
        """Return what is named next to a study."""
        given = {
            "prh-vision": ["--data", f"{self.root / 'places'}"],
            "dense-captions": ["--data", f"{self.root / 'dci'}", "--writer", WRITER],
        }
        return given.get(name, [])


@contextmanager
def rehearsing(root: Path, size: int = SIZE) -> Iterator[Rehearsal]:
    """Host all that the shipped studies name, and turn this process to it."""
    hub, specs = LocalHub(), named_specs()
    with pytest.MonkeyPatch.context() as patch, tiny_timm([s for s in specs if s[:2] == "ti"]):
        for spec in specs:
            place = re.sub(r"\W+", "-", spec)
            if spec.startswith("hf:"):
                hub_id = spec.removeprefix("hf:")
                hub.add_model(hub_id, write_language(root / place, hub_id))
            elif "@" not in spec:
                hub.add_model(spec.replace("timm:", "timm/"), write_vision(root / place, spec))
            shutil.rmtree(root / place, ignore_errors=True)
        host_data(hub, root, size)
        patch.setattr("core.competence.texts._FILES", 1)  # of 80, in place of 4M tokens
        # probes need not be the best
        patch.setattr("core.competence.probes.fit", partial(fit, steps=4))
        turn_to(hub, root / "cache", patch)
        patch.setattr(datasets.config, "HF_DATASETS_CACHE", root / "datasets")
        patch.setenv("HF_DATASETS_CACHE", str(root / "datasets"))
        yield Rehearsal(hub, root)
    close_session()
    hub.close()
