"""A view notes what is read, and tells whether that is still the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import process_time

import numpy as np
import pytest

from core.competence.records import measured_rows
from core.errors import NotEmbeddedError, StoreChangedError
from core.settings import ROOT
from core.store import Store, View, rename_model
from core.store import view as module
from core.store.editing import carry_out, plan_model_deletion
from core.store.files import examine
from core.store.listing import FILE, expect
from core.store.schema import dump_meta
from tests.freshness.test_fresh import (
    REPLACED,
    add,
    import_others,
    import_own,
    measure,
    names_of,
    remove,
    replace_model,
    small,
)
from tests.pages.world import PaintedDataset
from tests.pages.world import _write as write


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return small(tmp_path)


def test_every_read_is_noted_under_its_key(root: Path) -> None:
    view = View(root)
    view.space("cave", "vit-mae-m", 1)
    view.text_costs("cave", "gpt-2-xs")
    view.stimuli("cave")
    read = {"embedding:cave:vit-mae-m", "embedding:cave:gpt-2-xs", "dataset:cave"}
    assert set(view.reads) == read
    view.models("cave")
    view.result("cave", "competence-gpt-2-xs")
    view.results("cave", "measured~")
    more = {"models:cave", "result:cave:competence-gpt-2-xs", "results:cave:measured~"}
    assert set(view.reads) == read | more


def test_what_was_read_of_one_model_stays_fresh_while_others_come_and_go(root: Path) -> None:
    one, every = View(root), View(root)
    one.space("cave", "vit-mae-m", 0)
    every.models("cave")
    for step in (add("SimCLR", "m", 0.9), remove("gpt-2-xs")):
        step(root)
        assert View(root).is_fresh(one.reads)
        assert not View(root).is_fresh(every.reads)
    remove("vit-mae-m")(root)
    assert not View(root).is_fresh(one.reads)


def test_a_title_changes_the_list_of_models_and_no_other_embedding(root: Path) -> None:
    one, other, every = View(root), View(root), View(root)
    one.model("cave", "vit-mae-m")
    other.model("cave", names_of(root)[0])
    every.models("cave")
    rename_model(root, "cave", "vit-mae-m", "Another title")
    assert View(root).is_fresh(other.reads)
    assert not View(root).is_fresh(one.reads)
    assert not View(root).is_fresh(every.reads)


def test_scores_that_are_not_there_yet_are_a_read_too(root: Path) -> None:
    view = View(root)
    assert view.result("cave", "competence~user") is None
    reads = dict(view.reads)
    import_own(root)
    assert not View(root).is_fresh(reads)
    now = View(root)
    assert now.result("cave", "competence~user") is not None
    import_others(root)
    assert not View(root).is_fresh(now.reads)


def test_a_view_stays_as_it_was_and_refuses_what_was_replaced(root: Path) -> None:
    view = View(root)
    before = [entry.card.name for entry in view.models("cave")]
    add("SimCLR", "m", 0.9)(root)
    assert [entry.card.name for entry in view.models("cave")] == before
    assert [entry.card.name for entry in View(root).models("cave")] != before
    name = names_of(root)[0]
    assert np.isfinite(view.space("cave", name, 0)).all()
    replace_model(root)
    with pytest.raises(StoreChangedError, match="ask again"):
        view.space("cave", REPLACED, 0)


def test_files_of_a_person_are_read_by_name_size_and_time(tmp_path: Path, root: Path) -> None:
    folder = tmp_path / "pictures"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"1")
    view = View(root)
    view.note_files(folder)
    assert View(root).is_fresh(view.reads)
    (folder / "b.png").write_bytes(b"2")
    assert not View(root).is_fresh(view.reads)


def test_a_key_of_an_unknown_kind_is_never_fresh(root: Path) -> None:
    assert not View(root).is_fresh({"planet:cave": "1"})
    assert module.ABSENT == ""


@pytest.mark.slow
def test_the_reads_of_five_hundred_models_are_checked_in_a_moment(tmp_path: Path) -> None:
    root = small(tmp_path)
    world = PaintedDataset(60)
    card = Store(root).model("cave", REPLACED).card
    for at in range(500):
        model = replace(card, name=f"m{at:03}", weights=str(at))
        write(root, world, model, [world.reality] * 4, None)
    view = View(root)
    for entry in view.models("cave"):
        view.model("cave", entry.card.name)
    assert len(view.reads) > 500
    spent = []
    for _ in range(5):
        now, began = View(root), process_time()
        now.freeze("cave")
        opened = process_time()
        assert now.is_fresh(view.reads)
        spent.append((opened - began, process_time() - opened))
    print(f"opened in {min(spent)[0] * 1000:.1f} ms, checked in {min(spent)[1] * 1000:.1f} ms")
    assert min(checked for _, checked in spent) < 0.005


def test_a_key_of_what_is_gone_has_no_digest(root: Path) -> None:
    view = View(root)
    for key in ("metric:gone", "answer:gone.Gone", "embedding:cave", "embedding:gone:m", "gone:x"):
        assert view.current(key) == ""


def test_scores_by_other_questions_are_no_longer_what_was_read(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure("vit-mae-m")(root)
    view = View(root)
    assert measured_rows(view, "cave", view.model("cave", "vit-mae-m")) is not None
    assert View(root).is_fresh(view.reads)
    monkeypatch.setattr("core.cave.tasks.VERSION", 1_000)
    assert not View(root).is_fresh(view.reads)


def test_shipped_files_are_read_by_content_and_others_by_time(root: Path, tmp_path: Path) -> None:
    view, own = View(root), tmp_path / "own.csv"
    own.write_text("a")
    view.note_files(ROOT / "README.md", own)
    assert set(view.reads) == {"shipped:README.md", f"path:{own}"}
    own.write_text("ab")
    assert not View(root).is_fresh(view.reads)


def test_a_model_to_come_is_listed_and_makes_nothing_stale_when_it_comes(
    root: Path, tmp_path: Path
) -> None:
    seen, folder = View(root), root / "embeddings" / "cave"
    names = [entry.card.name for entry in seen.models("cave")]
    seen.model("cave", REPLACED)
    file, away = folder / f"{REPLACED}.duckdb", tmp_path / "away.duckdb"
    expect(folder, [dump_meta(examine(file))])
    file.rename(away)
    coming = View(root)
    assert [entry.card.name for entry in coming.models("cave")] == names
    assert coming.is_fresh(seen.reads)
    with pytest.raises(NotEmbeddedError, match="ask again in a few minutes"):
        coming.space("cave", REPLACED, 0)
    away.rename(file)
    assert View(root).is_fresh(seen.reads)
    assert np.isfinite(View(root).space("cave", REPLACED, 0)).all()
    replace_model(root)
    assert not View(root).is_fresh(seen.reads)
    file.write_text("damaged")
    assert REPLACED not in [entry.card.name for entry in View(root).models("cave")]


def test_a_model_to_come_can_be_deleted(root: Path) -> None:
    folder = root / "embeddings" / "cave"
    file = folder / f"{REPLACED}.duckdb"
    expect(folder, [dump_meta(examine(file))])
    file.unlink()
    carry_out(root, plan_model_deletion(root, "cave", REPLACED))
    assert REPLACED not in names_of(root)
    assert not (folder / FILE).exists()
