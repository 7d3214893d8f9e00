"""Pages of experiments: what takes long is offered, and made by a job."""

from __future__ import annotations

import math
import shutil

from core.jobs import queue
from pages._shared import runner
from tests.pages.seen import charts, said, tiles


def test_units_of_two_models_are_mined_by_a_job_and_shown_with_what_excites_them(
    opened, small, tmp_path, monkeypatch
):
    store = shutil.copytree(small(40), tmp_path / "store")
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    app = opened(store, "models/compare")
    assert said(app).count("This takes about") == 2
    assert charts(app) == ["all-metrics", "layer-map", "features"]
    app.button(key="queue-neurons-pairs").click().run()
    assert not app.exception
    (job,) = queue.jobs(store)
    assert job.words[:2] == ("neurons", "pairs")
    assert said(app).count("This takes about") == 1  # the job is watched
    monkeypatch.setattr(runner, "LONGEST_WAIT", math.inf)
    app = opened(store, "models/compare")
    assert "neurons-pairs" in charts(app)
    first, second = (tiles(app, f"excited-{side}") for side in "xy")
    both = {tile["index"] for tile in first} & {tile["index"] for tile in second}
    assert len(first) == len(second) == 8
    for tile in (*first, *second):
        assert tile["marked"] == (tile["index"] in both)
        assert float(tile["note"]["head"].replace("−", "-")) > 0


def test_translation_is_offered(opened, small):
    app = opened(small(40), "transfer/unpaired", starts="1", draws="1")
    assert not app.exception
    assert said(app).count("takes about") == 2
