"""The tokenizers of the Cave's models of language and of melodies."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import (
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import PreTrainedTokenizerFast

from core.stimuli.cave.music.notes import LENGTHS, PITCHES

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
    return _finished(tokenizer)


def build_note_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer of melodies as `core.stimuli.cave.music.notes` writes them: a token for
    each pitch and rest, and one for each length. Nothing is learned.
    """
    tokens = [PAD, BOS, EOS, MASK, *PITCHES, *map(str, LENGTHS)]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("[ :]"), "removed")
    return _finished(tokenizer)


def _finished(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """Put the beginning-of-text token in front of every text, and name the special tokens."""
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BOS} $A",
        pair=f"{BOS} $A {BOS} $B",
        special_tokens=[(BOS, tokenizer.token_to_id(BOS))],
    )
    special = {"pad_token": PAD, "bos_token": BOS, "eos_token": EOS, "mask_token": MASK}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, padding_side="right", **special)
