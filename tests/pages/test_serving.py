"""What the server sends holds together: a part never reaches the browser before what holds it."""

import gc
import sys
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import app_session, media_file_manager
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.media_file_manager import MediaFileManager, MediaFileMetadata
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.scriptrunner import script_runner

from core.jobs import queue, states
from core.jobs.job import queue_file
from pages._server import memory
from pages._server.jobs import watch_jobs
from pages._server.mends import FetchableFile, WholeQueue, tell_nothing


def block(*path: int, part: str) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.add_block.allow_empty = True
    message.delta.fragment_id = part
    message.metadata.delta_path.extend(path)
    return message


def words(text: str, *path: int, part: str) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.new_element.markdown.body = text
    message.delta.fragment_id = part
    message.metadata.delta_path.extend(path)
    return message


def paths(queue: ForwardMsgQueue) -> list[tuple[int, ...]]:
    return [tuple(message.metadata.delta_path) for message in queue.flush()]


def fill(queue: ForwardMsgQueue) -> None:
    queue.enqueue(block(0, 0, part="outer"))
    queue.enqueue(words("before", 0, 0, 0, part="outer"))
    queue.enqueue(block(0, 0, 1, part="outer"))
    queue.enqueue(words("within", 0, 0, 1, 0, part="inner"))


@pytest.mark.parametrize(
    ("queue", "whole"),
    [
        (WholeQueue(), True),
        (ForwardMsgQueue(), False),  # once this one holds together, WholeQueue may go
    ],
)
def test_a_part_is_never_sent_without_what_holds_it(queue, whole):
    fill(queue)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["outer"])
    sent = paths(queue)
    assert all(path[:-1] in sent for path in sent if len(path) > 2) is whole


def test_what_a_part_draws_anew_follows_its_new_place():
    queue = WholeQueue()
    fill(queue)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["outer"])
    queue.enqueue(block(0, 0, part="outer"))
    queue.enqueue(words("after", 0, 0, 0, part="outer"))
    assert paths(queue)[-2:] == [(0, 0), (0, 0, 0)]


def test_a_redraw_of_the_page_takes_all_back():
    queue = WholeQueue()
    fill(queue)
    queue.clear(retain_lifecycle_msgs=True)
    assert queue.is_empty()


STAND_IN = """
import os, sys, time
with open(os.path.join(os.environ["PLATOSCOPE_STORE"], "started"), "a") as file:
    print(*sys.argv[1:], file=file)
while not os.path.exists(os.path.join(os.environ["PLATOSCOPE_STORE"], "enough")):
    time.sleep(0.02)
"""


def test_jobs_go_on_when_a_server_starts_and_when_their_worker_dies(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(states, "PROGRAM", (sys.executable, "-c", STAND_IN))
    monkeypatch.setenv("PLATOSCOPE_STORE", str(tmp_path))
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    looks, look = [], states.ensure_worker
    monkeypatch.setattr(states, "ensure_worker", lambda store: (looks.append(store), look(store)))

    def wait_for_looks() -> None:
        seen = len(looks)
        wait_for(lambda: len(looks) > seen + 3)

    started, end = tmp_path / "started", watch_jobs(pause=0.05)
    wait_for_looks()
    assert not started.exists()  # nothing was left
    queue.submit(tmp_path, ["demo"])
    wait_for(lambda: started.exists() and started.read_text())
    wait_for_looks()
    assert started.read_text() == "jobs work\n"  # it takes a while until it holds its lock
    (tmp_path / "enough").touch()
    wait_for(lambda: started.read_text().count("jobs work\n") > 1)  # it has ended, the job has not
    queue_file(tmp_path).write_bytes(b"text" * 999)
    said = ""
    while "does not hold a queue; move it away" not in said:
        said += capsys.readouterr().err
        time.sleep(0.02)
    wait_for_looks()
    end.set()
    assert not capsys.readouterr().err  # once is enough


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_nobody_is_told_what_the_repository_holds(monkeypatch):
    asked: list[str] = []
    monkeypatch.setitem(
        sys.modules, "streamlit.git_util", SimpleNamespace(GitRepo=lambda path: asked.append(path))
    )
    session = SimpleNamespace(_script_data=SimpleNamespace(main_script_path="app.py"))
    app_session.AppSession._handle_git_information_request(session)
    assert asked == ["app.py"]  # once Streamlit asks no more, tell_nothing may go
    tell_nothing(session)
    assert asked == ["app.py"]


def test_garbage_is_collected_after_a_run_but_seldom(monkeypatch):
    assert script_runner.gc is gc  # once Streamlit collects none, collect_seldom may go
    looks, clock = [], iter([100.0, 100.0, 101.0, 109.9, 110.1, 110.1, 111.0])
    monkeypatch.setattr(memory, "gc", SimpleNamespace(collect=looks.append))
    monkeypatch.setattr(memory, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(memory, "_looked", 0.0)
    for run in range(5):
        memory.collect_seldom(run)
    assert looks == [0, 3]


def made_for_a_click(files: MediaFileManager) -> str:
    button = files.add_deferred(lambda: b"x,y", "text/csv", "0.1", "table.csv")
    return files.execute_deferred(button)


def drawn_once(files: MediaFileManager) -> str:
    address = files.add(b"a picture", "image/png", "0.2")
    files.clear_session_refs()  # the next time, the page is drawn without it
    return address


@pytest.mark.parametrize("made", [made_for_a_click, drawn_once])
@pytest.mark.parametrize(
    ("noted", "seconds", "stays"),
    [
        (FetchableFile, 60, True),
        (FetchableFile, -1, False),
        (MediaFileMetadata, 60, False),  # once this one stays, FetchableFile may go
    ],
)
def test_a_file_outlives_what_is_drawn_next_and_goes_after_its_time(
    monkeypatch, made, noted, seconds, stays
):
    monkeypatch.setattr(media_file_manager, "MediaFileMetadata", noted)
    monkeypatch.setattr(FetchableFile, "SECONDS", seconds)
    files = MediaFileManager(MemoryMediaFileStorage("/media"))
    name = made(files).rpartition("/")[-1].rpartition(".")[0]
    assert files.read_file(name)
    for _ in range(9):
        files.remove_orphaned_files()
    assert (files.read_file(name) is not None) is stays
