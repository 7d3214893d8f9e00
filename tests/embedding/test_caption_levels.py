"""One model over several caption levels: what it reads, what its vectors are, and that it stays one
model.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from store_fakes import CountedDataset, CountingEncoder, vectors

from core.embedding.reading import AveragingEncoder
from core.embedding.runner import embed
from core.errors import UnknownNameError
from core.recipe import Recipe
from core.store import Store, write_result
from core.store.schema import VERSIONS, find_caption_variants

SUMMARIES = [f"event {i}, in short" for i in range(20)]


def summarize(store: Path, texts: list[str], **choices: object) -> None:
    table = pd.DataFrame({"index": range(len(texts)), "level": "brief", "text": texts})
    write_result(
        store,
        dataset=CountedDataset().card,
        name="captions-brief",
        table=table,
        recipe=Recipe.of("captions", version=VERSIONS["captions"], **choices),
    )


def test_the_mean_of_captions_is_the_mean_of_their_vectors(tmp_path: Path) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder(), level="mean", batch_size=6)
    store = Store(tmp_path)
    np.testing.assert_array_equal(
        store.space("counted", "counting~mean", 0), vectors(range(20), layer=0)
    )
    costs = store.text_costs("counted", "counting~mean")
    texts = CountedDataset().captions.groupby("index")["text"]
    np.testing.assert_array_equal(costs["bytes"], texts.agg(lambda both: sum(map(len, both))))
    np.testing.assert_array_equal(costs["bits"], np.arange(20) * 3.0)  # 1.5 for each of two texts


def test_uneven_numbers_of_captions_are_averaged_each_for_itself() -> None:
    one = CountingEncoder(layers=1)
    found = AveragingEncoder(one, one.card, one.device, one.recipe).encode(
        [("event 1, a", "event 3, b", "event 5, c"), ("event 7, d",)]
    )
    alone = CountingEncoder(layers=1).encode(["event 3, b", "event 7, d", "", ""][:2])
    np.testing.assert_allclose(found.layers[0][:, 1:], alone.layers[0][:, 1:])


def test_concatenated_captions_are_one_text(tmp_path: Path) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder(), level="concatenated")
    costs = Store(tmp_path).text_costs("counted", "counting~concatenated")
    assert costs["bytes"][3] == len("event 3, 20 words event 3, 5 words")


def test_captions_written_since_are_a_level(tmp_path: Path) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder())
    summarize(tmp_path, SUMMARIES, words=3)
    embed(tmp_path, CountedDataset(), CountingEncoder(), level="brief")
    store = Store(tmp_path)
    assert store.model("counted", "counting~brief").level == "brief"
    assert store.text_costs("counted", "counting~brief")["bytes"].tolist() == list(
        map(len, SUMMARIES)
    )
    summarize(tmp_path, SUMMARIES, words=4)  # other texts of one name are another recipe
    with pytest.raises(Exception, match="'counting~brief' is in the store, with other texts;"):
        embed(tmp_path, CountedDataset(), CountingEncoder(), level="brief")


def test_an_unknown_level_names_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(
        UnknownNameError,
        match="no caption level named 'short'; there are: 20, 5, concatenated, longest, mean",
    ):
        embed(tmp_path, CountedDataset(), CountingEncoder(), level="short")
    assert Store(tmp_path).datasets() == []


def test_further_levels_are_no_further_models(tmp_path: Path) -> None:
    for level in ("20", "5", "mean"):
        embed(tmp_path, CountedDataset(), CountingEncoder(), level=level)
    store = Store(tmp_path)
    assert [entry.card.name for entry in store.models("counted")] == ["counting"]
    assert store.caption_variants("counted") == {
        "counting~5": "counting",
        "counting~mean": "counting",
    }
    assert len(store.embeddings("counted")) == 3
    assert store.model("counted", "counting~5").card.title == "Counting"


def test_weights_pooling_prompt_and_level_decide(tmp_path: Path) -> None:
    embed(tmp_path, CountedDataset(), CountingEncoder())
    entry = Store(tmp_path).model("counted", "counting")

    def named(name: str, level: str | None, weights: str = "w1", **reading: str):
        encoder = {"pooling": "mean", **reading}
        recipe = Recipe.of("embedding", version=VERSIONS["embedding"], encoder=encoder)
        return replace(
            entry, card=replace(entry.card, name=name, weights=weights), level=level, recipe=recipe
        )

    entries = [
        named("z", "20"),
        named("a", "5"),
        named("b", "20"),
        named("c", "5", pooling="last"),
        named("d", "5", weights="w2"),
        named("e", "5", prompt="paper"),
    ]
    assert find_caption_variants([*entries, named("picture", None)], ("20", "5")) == {"a": "b"}
