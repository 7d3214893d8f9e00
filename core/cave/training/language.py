"""The language objectives: each is a module that holds a transformers `model` and turns a batch
into a loss. A batch has `tokens` (b, t), filled up on the right, and which of them are `present`.

With a teacher of the other modality, loss = own loss + mean over events of 1 − cos(W s + b, t): s
is the learner's pooled last state, t the teacher's, each feature standardized.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import timm
import torch
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import (
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BloomConfig,
    GPT2Config,
    LlamaConfig,
    PreTrainedConfig,
    PreTrainedTokenizerBase,
    RobertaConfig,
)

from core.cave.training.configs import CONFIGS, NOTES, Config
from core.cave.training.pool import Pool
from core.cave.training.vision import Batch, Supervised, normalize, pool_tokens
from core.errors import TrainingError

_OF_GPT2 = {"resid_pdrop": 0.0, "embd_pdrop": 0.0, "attn_pdrop": 0.0}
# of transformers, and its names of dropout: every caption is seen about once, so there is none
_ARCHITECTURES: dict[str, tuple[type[PreTrainedConfig], dict[str, float]]] = {
    "gpt2": (GPT2Config, _OF_GPT2),
    NOTES: (GPT2Config, _OF_GPT2),
    "llama": (LlamaConfig, {"attention_dropout": 0.0}),
    "bloom": (BloomConfig, {"hidden_dropout": 0.0, "attention_dropout": 0.0}),
    "roberta": (
        RobertaConfig,
        {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0},
    ),
}
_IGNORED = -100
# BERT's shares: of the selected tokens, what is neither kept nor swapped is masked
_SELECTED, _KEPT, _SWAPPED = 0.15, 0.1, 0.1
_BATCH = 256  # events that a teacher is shown at a time


def build_language(config: Config, tokenizer: PreTrainedTokenizerBase) -> nn.Module:
    special = {
        name: getattr(tokenizer, name) for name in ("pad_token_id", "bos_token_id", "eos_token_id")
    }
    make, dropout = _ARCHITECTURES[config.architecture]
    shape = make(vocab_size=len(tokenizer), **special, **dropout, **config.model)
    build = AutoModelForMaskedLM if config.architecture == "roberta" else AutoModelForCausalLM
    model: nn.Module = build.from_config(shape)
    return model


class NextToken(nn.Module):
    """Causal language modeling. Loss: mean negative log-likelihood of each token after the first,
    in nats.
    """

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        return self.read(batch)[0]

    def read(self, batch: Batch) -> tuple[Float[Tensor, ""], Float[Tensor, "b d"]]:
        tokens, present = batch["tokens"], batch["present"]
        mask, more = present.long(), {"use_cache": False, "output_hidden_states": True}
        output = self.model(input_ids=tokens, attention_mask=mask, **more)
        truth = tokens.masked_fill(~present, _IGNORED)
        logits, wanted = output.logits[:, :-1].flatten(0, 1).float(), truth[:, 1:].flatten()
        loss = F.cross_entropy(logits, wanted, ignore_index=_IGNORED)
        return loss, pool_tokens(output.hidden_states[-1], present)


class MaskedToken(nn.Module):
    """Masked language modeling (Devlin et al. 2019). Loss: mean negative log-likelihood of the
    selected tokens, in nats.
    """

    def __init__(self, model: Any, *, mask: int) -> None:
        super().__init__()
        self.model = model
        self.mask = mask

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        tokens, present = batch["tokens"], batch["present"]
        chance, fate = torch.rand(2, *tokens.shape, device=tokens.device)
        chosen = present & (chance < _SELECTED)
        chosen[:, 0] |= ~chosen.any(1)  # a batch of short captions still asks something of each
        swapped = torch.randint_like(tokens, self.model.config.vocab_size)
        shown = torch.where(fate < _KEPT, tokens, self.mask)
        shown = torch.where(fate > 1 - _SWAPPED, swapped, shown)
        shown = torch.where(chosen, shown, tokens)
        logits = self.model(input_ids=shown, attention_mask=present.long()).logits
        return F.cross_entropy(logits[chosen].float(), tokens[chosen])


class Transfer(nn.Module):
    """An objective with the teacher's features as a second one.

    learner, teacher: width of the features of each. Events whose `targets` are NaN, which the
    teacher was not shown, count for the learner's own loss alone. Raises TrainingError for an
    objective that gives no states.
    """

    def __init__(self, task: nn.Module, *, learner: int, teacher: int) -> None:
        super().__init__()
        if not isinstance(task, Supervised | NextToken):
            raise TrainingError(
                f"{type(task).__name__} gives no states to learn by; expected Supervised or"
                " NextToken, so name no teacher"
            )
        self.task = task
        self.predict = nn.Linear(learner, teacher)

    def forward(self, batch: Batch) -> Float[Tensor, ""]:
        loss, states = self.task.read(batch)
        shown = batch["targets"].isfinite().all(1)
        if not shown.any():
            return loss
        cosines = F.cosine_similarity(self.predict(states[shown]), batch["targets"][shown])
        return loss + (1 - cosines).mean()


def width_of(config: Config) -> int:
    return int(config.model["embed_dim" if config.reads == "image" else "n_embd"])


@torch.inference_mode()
def teach(
    config: Config, pool: Pool, weights: Path, device: torch.device
) -> Float[Tensor, "events d"]:
    """Return what a config's teacher makes of each event of its learner's, standardized over those
    that the learner ever sees; NaN for the others and for those that are not drawn.

    Vision teachers see the pictures, language teachers read the passages. Raises TrainingError
    if the teacher's weights are missing.
    """
    teacher = CONFIGS[str(config.teacher)]
    folder = weights / teacher.name
    if not (folder / "model.safetensors").exists():
        raise TrainingError(
            f"{config.name} learns from {teacher.name}, whose weights are not in {weights}; train"
            f" {teacher.name} first"
        )
    events = pool.images if config.reads == "image" else pool.events
    seen = min(round(events * config.data), pool.images)
    parts: list[Tensor] = []
    model: Any
    if teacher.reads == "image":
        model = timm.create_model(teacher.architecture, pretrained=False, **teacher.model)
        model.load_state_dict(load_file(folder / "model.safetensors"))
        model.eval().to(device)
        shown = pool.pictures()[:seen].split(_BATCH)
        parts = [model(normalize(images.to(device))).cpu() for images in shown]
    else:
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        model.eval().to(device)
        for passages in pool.passages()[:seen].split(_BATCH):
            tokens = passages.to(device, torch.long)
            mask = (tokens != 0).long()
            read = model(input_ids=tokens, attention_mask=mask, output_hidden_states=True)
            parts.append(pool_tokens(read.hidden_states[-1], tokens != 0).cpu())
    features = torch.cat(parts)
    targets = torch.full((events, features.shape[1]), torch.nan)
    targets[:seen] = (features - features.mean(0)) / features.std(0)
    return targets
