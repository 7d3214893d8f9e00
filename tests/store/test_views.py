"""Saved views survive, one by one, whoever writes them and whatever they are called."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from core.cli import main
from core.errors import InputError, StoreBusyError, StoreDamagedError, StoreWriteError
from core.store import SavedView, locked, publishing, read_views, remove_view, save_view
from core.store.notes import views as saved
from core.store.notes.views import LONGEST, tidy

NAMES = ["\"quoted\" 'name'", "a\\b/c", "<b>*x*</b> [y](z)", "Größe, 大きさ 👁", "{}", "x" * LONGEST]


def view(name: str, link: str = "/alignment?dataset=cave&k=7") -> SavedView:
    return SavedView(name, link)


def names(root: Path) -> list[str]:
    return [one.name for one in read_views(root)]


def test_views_come_back_the_latest_first(tmp_path: Path) -> None:
    root = tmp_path / "store"
    assert read_views(root) == []
    made = [view(name, f"/models?set={n}%20%26") for n, name in enumerate(NAMES)]
    for one in made:
        save_view(root, one)
    assert read_views(root) == made[::-1]
    assert "Größe, 大きさ 👁" in (root / "views.json").read_text(encoding="utf-8")
    assert [path.name for path in root.iterdir()] == ["views.json"]


def test_a_removed_view_returns_to_its_place(tmp_path: Path) -> None:
    made = [SavedView(name, "/", f"2026-11-0{n}T10:00:00+00:00") for n, name in enumerate("abc", 1)]
    for one in made:
        save_view(tmp_path, one)
    remove_view(tmp_path, made[1])
    assert names(tmp_path) == ["c", "a"]
    save_view(tmp_path, made[1])
    assert names(tmp_path) == ["c", "b", "a"]


def test_a_name_in_use_is_replaced_only_by_who_has_seen_it(tmp_path: Path) -> None:
    first, second, third = (view("a", f"/models?k={k}") for k in range(3))
    save_view(tmp_path, first)
    with pytest.raises(InputError, match="named 'a' already; take another name, or replace it"):
        save_view(tmp_path, second)
    save_view(tmp_path, second, over=first)
    for change in (
        lambda: save_view(tmp_path, third, over=first),
        lambda: remove_view(tmp_path, first),
    ):
        with pytest.raises(InputError, match="'a' has been changed meanwhile; look at the list"):
            change()
    assert read_views(tmp_path) == [second]


@pytest.mark.parametrize("name", ["", " a", "two\nlines", "x" * 500, "\u202egnp.a", "\ud800"])
def test_a_name_is_one_short_line(name: str) -> None:
    with pytest.raises(InputError, match=f"has 1 to {LONGEST} characters on one line, not"):
        view(name)


def test_a_name_is_made_tidy() -> None:
    assert tidy("  two\n lines\t\u202e of\x00it ") == "two lines of it"


@pytest.mark.parametrize(
    "link",
    [
        "alignment",
        "//evil.example/",
        "javascript:alert(1)",
        "/a b",
        "/alignment?k=1 2",
        "/../etc",
        "",
    ],
)
def test_a_link_leads_to_a_page_of_the_dashboard(link: str) -> None:
    with pytest.raises(InputError, match="link is /PAGE\\?KEY=VALUE, not"):
        view("a", link)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "7",
        '{"a": 1}',
        '{"a": {}}',
        '{"a": {"link": "/", "more": 1}}',
        '{"a": {"link": "http://evil.example"}}',
        '{"a": {"link": 7}}',
        '{"a": {"link": "/", "saved_at": "soon"}}',
        '{" a": {"link": "/"}}',
        "\udcff",
    ],
)
def test_a_damaged_file_is_named_and_never_written_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "views.json"
    path.write_bytes(before := text.encode(errors="surrogateescape"))
    for attempt in (lambda: read_views(tmp_path), lambda: save_view(tmp_path, view("a"))):
        with pytest.raises(StoreDamagedError, match=r"views.json does not hold saved views; mend"):
            attempt()
    assert path.read_bytes() == before


def test_visitors_who_save_at_once_lose_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved, "PATIENCE", 120.0)  # a busy machine's turns are long
    barrier = threading.Barrier(8)

    def save(visitor: int) -> None:
        barrier.wait()
        for n in range(5):
            save_view(tmp_path, view(f"{visitor} {n}"))
            assert f"{visitor} {n}" in names(tmp_path)

    threads = [threading.Thread(target=save, args=(visitor,)) for visitor in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(tmp_path)) == 40
    assert [path.name for path in tmp_path.iterdir()] == ["views.json"]


def test_patience_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "PATIENCE", 0.1)
    with (
        locked(tmp_path / "views.json"),
        pytest.raises(StoreBusyError, match="is writing 'views'"),
    ):
        save_view(tmp_path, view("a"))
    save_view(tmp_path, view("a"))


def test_a_read_only_store_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save_view(tmp_path, view("a"))

    def refuse(*_: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(publishing.os, "open", refuse)
    with pytest.raises(StoreWriteError, match="is read-only; choose another store with --store"):
        save_view(tmp_path, view("b"))
    monkeypatch.undo()
    assert names(tmp_path) == ["a"]


def test_a_command_lists_names_and_links(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    save_view(tmp_path, view("By CKA", "/alignment?dataset=cave&metric=cka"))
    assert main(["views", "--store", str(tmp_path)]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [
        "By",
        "CKA",
        "/alignment?dataset=cave&metric=cka",
    ]
    (tmp_path / "views.json").write_text("{")
    assert main(["views", "--store", str(tmp_path)]) == 2
    assert "does not hold saved views; mend it" in capsys.readouterr().err
