"""The bar of controls: what differs from the default is a chip, and a click on it drops it."""

from __future__ import annotations

from core.study.selections import encode


def chips(app) -> dict[str, str]:
    """Return the texts of the chips, by what each drops."""
    keys = [button for button in app.button if str(button.key).startswith("drop-")]
    return {str(one.key).removeprefix("drop-"): one.label.replace("\\", "") for one in keys}


def test_every_choice_that_is_no_default_has_a_chip(opened, demo):
    app = opened(demo, "trends/across")
    assert chips(app) == {}
    chosen = {"x": ["gpt-2-m", "gpt-2-s"], "k": "7", "layers": "last", "unfinished": "false"}
    app = opened(demo, "trends/across", stimuli=encode(range(25), 60), **chosen)
    assert chips(app) == {
        "stimuli": "25 of 60 stimuli",
        "x": "Models: GPT-2 M, GPT-2 S",
        "k": "Neighbors k: 7",
        "layers": "Layers: last",
    }


def test_a_chip_drops_its_choice_from_page_and_address(opened, demo):
    app = opened(demo, "trends/across", k="7", layers="last")
    app.button(key="drop-k").click().run()
    assert app.number_input(key="k").value == 10
    assert chips(app) == {"layers": "Layers: last"}
    assert dict(app.query_params) == {"layers": "last"}


def test_more_than_two_values_are_counted(opened, demo):
    names = ["gpt-2-m", "gpt-2-s", "llama-m"]
    app = opened(demo, "trends/across", x=names)
    assert chips(app) == {"x": "Models: 3 chosen"}
