"""A tiny random model with a chat template answers what it is asked, alone or in a batch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tiny_models import make_language

from core.encoders.language.chat import Chat, open_chat
from core.errors import EncoderError

PLAIN = "{% for m in messages %}<x>{{ m.role }}: {{ m.content }}\n{% endfor %}<x>assistant:"
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    + PLAIN
)
DROPPED = (
    "{% for m in messages if m.role != 'system' %}<x>{{ m.role }}: {{ m.content | trim }}\n{%"
    " endfor %}<x>assistant:"
)
DEAF = "<x>assistant:"
BROKEN = "{{ raise_exception('never') }}"


def make_chat(folder: Path, template: str = PLAIN) -> Path:
    make_language(folder, "llama")
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(
        json.dumps(settings | {"chat_template": template})
    )
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_chat(tmp_path_factory.mktemp("models") / "tiny-chat")


def opened(folder: Path):
    return open_chat(f"hf:{folder}", device=torch.device("cpu"))


def test_an_answer_does_not_depend_on_the_batch(folder: Path) -> None:
    chat = opened(folder)
    texts = ["a dog", "two cats on a very long red sofa", "rain"]
    together = chat.answer("Say it shorter.", texts, limit=6)
    assert together == [chat.answer("Say it shorter.", [text], limit=6)[0] for text in texts]
    assert len(set(together)) > 1
    assert all(answer and "\n" not in answer for answer in together)
    assert chat.name == "tiny-chat"


def likeliest(chat: Chat, count: int) -> list[int]:
    """Return what follows the prompt of `red car` under `Short.` by a plain loop."""
    ids = chat.tokenizer(
        "<x>system: Short.\n<x>user: red car\n<x>assistant:", add_special_tokens=False
    )["input_ids"]
    with torch.inference_mode():
        for _ in range(count):
            ids.append(int(chat.model(input_ids=torch.tensor([ids])).logits[0, -1].argmax()))
    return ids[-count:]


def spelled(chat: Chat, ids: list[int]) -> str:
    return " ".join(chat.tokenizer.decode(ids, skip_special_tokens=True).split())


def configure(folder: Path, **asked: object) -> Path:
    """Write how the model of a folder would answer."""
    path = folder / "generation_config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | asked))
    return folder


def test_the_likeliest_tokens_are_those_of_a_plain_loop(folder: Path) -> None:
    chat = opened(folder)
    assert chat.answer("Short.", ["red car"], limit=20) == [spelled(chat, likeliest(chat, 20))]


@pytest.mark.parametrize("several", [False, True])
def test_an_answer_ends_with_the_token_that_its_folder_names(
    tmp_path: Path, folder: Path, several: bool
) -> None:
    whole = likeliest(opened(folder), 6)
    chat = opened(
        configure(
            make_chat(tmp_path / "tiny-chat"), eos_token_id=[whole[2], 3] if several else whole[2]
        )
    )
    assert chat.answer("Short.", ["red car"], limit=6) == [
        spelled(chat, whole[: whole.index(whole[2]) + 1])
    ]


@pytest.mark.parametrize("template", [NO_SYSTEM, DROPPED])
def test_an_instruction_goes_before_the_text_where_the_template_has_no_place_for_it(
    tmp_path: Path, template: str
) -> None:
    chat = opened(make_chat(tmp_path / "humble", template))
    prompt = chat.tokenizer.decode(chat._prompt("Short.", "a dog"))
    assert prompt == "<x>user: Short.\n\na dog\n<x>assistant:"


def test_models_that_cannot_answer_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        EncoderError, match="is not a model that answers in text; expected hf:ID or hf:FOLDER"
    ):
        open_chat("timm:resnet18", device=torch.device("cpu"))
    with pytest.raises(
        EncoderError, match="has no chat template, so it was not tuned to follow instructions"
    ):
        opened(make_language(tmp_path / "plain", "gpt2"))
    with pytest.raises(
        EncoderError, match="the chat template of broken takes no single user's message: never"
    ):
        opened(make_chat(tmp_path / "broken", BROKEN)).answer("Short.", ["a dog"], limit=3)
    with pytest.raises(
        EncoderError,
        match=r"the chat template of deaf .*: it leaves the instruction or the text out; choose",
    ):
        opened(make_chat(tmp_path / "deaf", DEAF)).answer("Short.", ["a dog"], limit=3)
