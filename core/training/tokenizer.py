"""The tokenizer of the Cave's language models."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

VERSION = 1  # raise it when other tokens are learned from the same texts
PAD, BOS, EOS, MASK = "<pad>", "<s>", "</s>", "<mask>"


def build_tokenizer(captions: Iterable[str], *, vocab_size: int = 1024) -> PreTrainedTokenizerFast:
    """Learn a byte-level BPE from captions: any text can be encoded and is decoded to itself.

    Every text gets the beginning-of-text token in front, so that a causal model predicts the first
    word too. `vocab_size` counts the four special tokens and the 256 bytes, and is reached if the
    captions have that many distinct pieces.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[PAD, BOS, EOS, MASK],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(captions, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A",
        pair=f"{BOS} $A {BOS} $B",
        special_tokens=[(BOS, tokenizer.token_to_id(BOS))],
    )
    special = {"pad_token": PAD, "bos_token": BOS, "eos_token": EOS, "mask_token": MASK}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="right", **special)
