"""Pages of experiments: what takes long is offered, and made on a click."""

from __future__ import annotations

import shutil

from pages._parts.experiments import patience
from tests.pages.seen import charts, said, tiles


def test_units_of_two_models_are_mined_on_a_click_and_shown_with_what_excites_them(
    opened, small, tmp_path, monkeypatch
):
    monkeypatch.setattr(patience, "PATIENCE", 0.0)
    store = shutil.copytree(small(40), tmp_path / "store")
    app = opened(store, "experiments/neurons", null="19", rotations="1")
    assert said(app).count("This takes about") == 2
    assert charts(app) == []
    offers = [button for button in app.button if button.label == "Compute it here"]
    offers[1].click().run()
    assert not app.exception
    assert charts(app) == ["neurons-pairs"]
    first, second = (tiles(app, f"excited-{side}") for side in "xy")
    both = {tile["index"] for tile in first} & {tile["index"] for tile in second}
    assert len(first) == len(second) == 8
    for tile in (*first, *second):
        assert tile["marked"] == (tile["index"] in both)
        assert float(tile["note"]["head"].replace("−", "-")) > 0
