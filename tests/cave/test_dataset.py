"""The Cave as a dataset: a stable revision, all factors, captions in order, pictures, and
reality.
"""

from __future__ import annotations

import pytest

from core.cave import drawing
from core.cave.captions import LEVELS
from core.cave.events import draw_event
from core.cave.world import CaveDataset
from core.errors import StimuliError


@pytest.fixture(scope="module")
def cave() -> CaveDataset:
    return CaveDataset(24)


def test_the_card_says_what_opens_it_again(cave):
    assert (cave.card.name, cave.card.title, cave.card.size, cave.card.levels) == (
        "cave",
        "The Cave",
        24,
        LEVELS,
    )
    assert cave.card.source == {"kind": "cave", "size": 24, "split": "test", "seed": 2024}


def test_the_revision_is_stable_and_follows_what_it_digests(cave, monkeypatch):
    assert CaveDataset(24).card.revision == cave.card.revision
    assert CaveDataset(23).card.revision != cave.card.revision
    assert CaveDataset(24, split="train").card.revision != cave.card.revision
    monkeypatch.setattr(drawing, "VERSION", drawing.VERSION + 1)
    assert CaveDataset(24).card.revision != cave.card.revision


def test_a_row_holds_the_factors_of_its_event(cave):
    assert cave.stimuli["stimulus"].tolist()[:2] == ["cave-0000", "cave-0001"]
    for index, row in cave.stimuli.iterrows():
        event = draw_event("test", index)
        assert (row["scene"], row["time"], row["weather"], row["count"]) == (
            event.scene,
            event.time,
            event.weather,
            len(event.things),
        )
        for slot in range(4):
            if slot < len(event.things):
                thing = event.things[slot]
                words = [
                    row[f"{factor}_{slot + 1}"] for factor in ("kind", "color", "size", "facing")
                ]
                assert words == [thing.kind, thing.color, thing.size_class, thing.facing]
                numbers = [row[f"{factor}_{slot + 1}"] for factor in ("hue", "x", "depth")]
                assert numbers == pytest.approx([thing.hue, thing.x, thing.depth], abs=1e-6)
            else:
                assert row.filter(regex=f"_{slot + 1}$").isna().all()


@pytest.mark.parametrize("size", [0, 1025])
def test_a_size_beyond_the_held_out_events_is_refused(size):
    with pytest.raises(
        StimuliError,
        match=f"the Cave has 1 to 1024 held-out events, not {size}; choose a size in this range",
    ):
        CaveDataset(size)
