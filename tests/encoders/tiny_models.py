"""Tiny random models of several architectures, written to disk as their libraries do."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import timm
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

SIZE = 32
MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.3, 0.4)
SMALL = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "vocab_size": 300}
LOUD = {"initializer_range": 0.4}  # at the usual 0.02 random models hardly look at their context
CONFIGS: dict[str, Callable[[], Any]] = {
    "gpt2": lambda: transformers.GPT2Config(
        n_embd=16, n_layer=2, n_head=2, vocab_size=300, n_positions=64, **LOUD
    ),
    "llama": lambda: transformers.LlamaConfig(
        **SMALL, **LOUD, intermediate_size=32, max_position_embeddings=64
    ),
    "bloom": lambda: transformers.BloomConfig(
        hidden_size=16, n_layer=2, n_head=2, vocab_size=300, **LOUD
    ),
    "opt": lambda: transformers.OPTConfig(
        **SMALL, ffn_dim=32, word_embed_proj_dim=16, max_position_embeddings=64, init_std=0.4
    ),
    "bert": lambda: transformers.BertConfig(
        **SMALL, **LOUD, intermediate_size=32, max_position_embeddings=64
    ),
    "roberta": lambda: transformers.RobertaConfig(
        **SMALL, **LOUD, intermediate_size=32, max_position_embeddings=66
    ),
}
CAUSAL = ("gpt2", "llama", "bloom", "opt")
PLAIN = {**SMALL, **LOUD, "intermediate_size": 32, "max_position_embeddings": 64}
SHARED = {**PLAIN, "num_key_value_heads": 1}
STATES = {"hidden_size": 16, "num_hidden_layers": 2, "vocab_size": 300, "state_size": 4, **LOUD}
WIDE = {"d_model": 16, "vocab_size": 300, **LOUD}
APART = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "max_relative_positions": -1}
NARROW = {"embedding_size": 8, "true_hidden_size": 16, "intra_bottleneck_size": 16}
ZOO: dict[str, tuple[str, dict[str, Any]]] = {  # by name: the class, and what its config says
    "gemma2": ("Gemma2ForCausalLM", {**SHARED, "head_dim": 8, "final_logit_softcapping": 3.0}),
    "recurrent_gemma": (
        "RecurrentGemmaForCausalLM",
        {**SHARED, "lru_width": 16, "logits_soft_cap": 3.0, "attention_window_size": 16}
        | {"block_types": ["recurrent", "attention"]},
    ),
    "mamba": ("MambaForCausalLM", STATES),
    "mamba2": (
        "Mamba2ForCausalLM",
        {**STATES, "num_heads": 4, "head_dim": 8, "n_groups": 1, "chunk_size": 8},
    ),
    "falcon_mamba": ("FalconMambaForCausalLM", STATES),
    "mpt": ("MptForCausalLM", {**WIDE, "n_heads": 2, "n_layers": 2, "max_seq_len": 64}),
    "qwen2": ("Qwen2ForCausalLM", SHARED),
    "phi": ("PhiForCausalLM", PLAIN),
    "cohere": ("CohereForCausalLM", {**SHARED, "logit_scale": 0.25}),
    "granite": ("GraniteForCausalLM", {**SHARED, "logits_scaling": 4.0}),
    "mixtral": ("MixtralForCausalLM", {**SHARED, "num_local_experts": 4}),
    "gpt_neox": ("GPTNeoXForCausalLM", PLAIN),
    "rwkv": ("RwkvForCausalLM", {**PLAIN, "attention_hidden_size": 16, "context_length": 64}),
    "xglm": ("XGLMForCausalLM", {**PLAIN, "ffn_dim": 32, "init_std": 0.4}),
    "deberta": ("DebertaForMaskedLM", {**PLAIN, **APART}),
    "deberta_v2": ("DebertaV2ForMaskedLM", {**PLAIN, **APART, "conv_kernel_size": 3}),
    "ibert": ("IBertForMaskedLM", {**PLAIN, "pad_token_id": 1}),
    "electra": ("ElectraForMaskedLM", {**PLAIN, "embedding_size": 16}),
    "modernbert": ("ModernBertForMaskedLM", {**PLAIN, "local_attention": 8}),
    "longformer": ("LongformerForMaskedLM", {**PLAIN, "attention_window": 8}),
    "bert_lm": ("BertLMHeadModel", PLAIN),
    "xlnet": ("XLNetLMHeadModel", {**WIDE, "n_layer": 2, "n_head": 2, "d_inner": 32}),
    "fnet": ("FNetForMaskedLM", PLAIN),
    "mobilebert": ("MobileBertForMaskedLM", {**PLAIN, **NARROW}),
    "convbert": ("ConvBertModel", {**PLAIN, "embedding_size": 16, "conv_kernel_size": 3}),
}


def make_language(folder: Path, kind: str, *, padding_side: str = "right") -> Path:
    """Save a random model with a tokenizer of bytes: `<s>` in front, no pad token."""
    torch.manual_seed(0)
    if kind in ZOO:
        made, settings = getattr(transformers, ZOO[kind][0]), ZOO[kind][1]
        marks = dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), 0)
        marks |= dict.fromkeys(("cls_token_id", "sep_token_id"), 0)
        model = made(made.config_class(**{**marks, **settings}))
    elif kind in CAUSAL:
        model = transformers.AutoModelForCausalLM.from_config(CONFIGS[kind]())
    else:
        model = transformers.AutoModelForMaskedLM.from_config(CONFIGS[kind]())
    model.save_pretrained(folder)
    save_tokenizer(folder, padding_side=padding_side)
    return folder


def save_tokenizer(
    folder: Path, *, padding_side: str = "right", bos: bool = True, eos: bool = False
) -> None:
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(
        models.BPE(
            vocab={letter: i for i, letter in enumerate(["<s>", "<x>", *letters])}, merges=[]
        )
    )
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> " * bos + "$A" + " <x>" * eos, special_tokens=[("<s>", 0), ("<x>", 1)]
    )
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", padding_side=padding_side
    )
    fast.save_pretrained(folder)


def make_vision(folder: Path, architecture: str, **arguments: Any) -> Path:
    """Save a random timm model as fp16 in timm's hub format."""
    torch.manual_seed(0)
    model = timm.create_model(architecture, num_classes=0, **arguments)
    folder.mkdir(parents=True, exist_ok=True)
    save_file(
        {
            name: value.half() if value.is_floating_point() else value
            for name, value in model.state_dict().items()
        },
        folder / "model.safetensors",
    )
    settings = {
        "input_size": [3, SIZE, SIZE],
        "mean": MEAN,
        "std": STD,
        "crop_pct": 1.0,
        "num_classes": 0,
    }
    config = {"architecture": architecture, "model_args": arguments, "pretrained_cfg": settings}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def put_in_cache(cache: Path, hub_id: str, folder: Path) -> None:
    """Lay a folder out as the hub's cache holds a snapshot."""
    home = cache / f"models--{hub_id.replace('/', '--')}"
    (home / "refs").mkdir(parents=True)
    (home / "refs" / "main").write_text("0" * 40)
    shutil.copytree(folder, home / "snapshots" / ("0" * 40))
