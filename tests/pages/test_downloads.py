"""A file that a click makes stays until the browser has fetched it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit import runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from pages._shared.exportbar import fetchable


def csv() -> bytes:
    return b"a,b"


def fetched(make) -> bytes:
    """Return what a browser gets that asks for the file after other parts of the page ran."""
    storage = MemoryMediaFileStorage("/media")
    files = MediaFileManager(storage)
    runtime.get_instance().media_file_mgr = files
    url = files.execute_deferred(files.add_deferred(make, "text/csv", "1.2", "a.csv"))
    for _ in range(2):  # the first end of a run marks the file, the second drops it
        files.remove_orphaned_files()
    return storage.get_file(url.rpartition("/")[2]).content


def test_a_file_stays_while_other_parts_of_the_page_run(monkeypatch):
    server = SimpleNamespace()
    with monkeypatch.context() as patched:
        patched.setattr(runtime, "exists", lambda: True)
        patched.setattr(runtime, "get_instance", lambda: server)
        with pytest.raises(MediaFileStorageError):  # what Streamlit does by itself
            fetched(csv)
        assert fetched(fetchable(csv, "a.csv", "text/csv")) == b"a,b"
