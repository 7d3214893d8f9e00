"""What UMAP compiles is kept for the next process, where there is a place for it."""

from __future__ import annotations

import pytest
from numba.core.caching import NullCache
from numba.core.dispatcher import Dispatcher

from core.machine.compiling import load_umap


def compiled(umap) -> list[Dispatcher]:
    return [one for one in vars(umap.umap_).values() if isinstance(one, Dispatcher)]


@pytest.fixture(autouse=True)
def _anew():
    load_umap.cache_clear()
    yield
    load_umap.cache_clear()


@pytest.mark.slow
def test_all_that_umap_compiles_is_kept():
    assert len(compiled(load_umap())) > 3
    assert not [one for one in compiled(load_umap()) if isinstance(one._cache, NullCache)]


@pytest.mark.slow
def test_without_a_place_to_keep_it_umap_is_there_all_the_same(monkeypatch):
    def refuse(_: Dispatcher) -> None:
        raise RuntimeError("no locator available")

    load_umap()  # UMAP itself asks for a place when it is imported
    load_umap.cache_clear()
    monkeypatch.setattr(Dispatcher, "enable_caching", refuse)
    assert load_umap().__name__ == "umap"
