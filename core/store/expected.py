"""Models whose embeddings are still to come: a store lists them, and only vectors are missing.

`embeddings/DATASET/expected.json` holds what each file will say about itself once it is written,
`expected-texts.parquet` what its texts cost: model, index, bits, bytes.
Answers that ship with the project are checked against that like against any embedding, so that the
demo is complete before anything is embedded. A model whose file is there is no longer expected,
even if that file cannot be used.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import pandas as pd

from core.store.examine import Stamp, stamp
from core.store.publishing import publish_json
from core.store.schema import Meta, load_meta
from core.store.tables import read_frame

FILE = "expected.json"
TEXTS = "expected-texts.parquet"
Said = Mapping[str, str]  # what `dump_meta` returns


def expect(folder: Path, said: Iterable[Said]) -> None:
    """List the models of a folder of embeddings that are to come; none removes the list."""
    listed = list(said)
    if listed:
        publish_json(folder / FILE, listed)
    else:
        (folder / FILE).unlink(missing_ok=True)


def text_costs(folder: Path, model: str) -> pd.DataFrame | None:
    """Return index, bits and bytes of each text of a model that is to come, None if it codes no
    texts.
    """
    costs = _costs_once(folder / TEXTS, stamp(folder / TEXTS))
    own = costs[costs["model"] == model]
    return None if own.empty else own.drop(columns="model").reset_index(drop=True)


@lru_cache(maxsize=2)
def _costs_once(path: Path, _: Stamp) -> pd.DataFrame:
    return read_frame(path)


def forget(folder: Path, names: Collection[str]) -> None:
    """Expect these models no longer."""
    if (folder / FILE).exists():
        listed = json.loads((folder / FILE).read_text("utf-8"))
        expect(folder, [said for said in listed if load_meta(said).name not in names])


def expected(folder: Path, published: Collection[str]) -> list[Meta]:
    """Return the metas of the models that are to come; published: names of those whose files are
    there.
    """
    try:
        metas = _read_once(folder / FILE, stamp(folder / FILE))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [meta for meta in metas if meta.name not in published]


@lru_cache(maxsize=8)
def _read_once(path: Path, _: Stamp) -> list[Meta]:
    try:
        return [load_meta(said) for said in json.loads(path.read_text("utf-8"))]
    except (KeyError, TypeError, ValueError):  # an edited file: the models come without it
        return []
