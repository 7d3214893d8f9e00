"""What the server sends holds together: a part never reaches the browser before what holds it."""

import sys
import time

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue

from core.jobs import queue, starting
from core.jobs.table import queue_file
from pages._server.jobs import resume_jobs
from pages._server.serve import WholeQueue


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
time.sleep(3)
"""


def test_a_server_that_starts_has_left_jobs_go_on(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(starting, "PROGRAM", (sys.executable, "-c", STAND_IN))
    monkeypatch.setenv("PLATOSCOPE_STORE", str(tmp_path))
    resume_jobs().join()  # nothing was left
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)
    queue.submit(tmp_path, ["demo"])
    resume_jobs().join()
    resume_jobs().join()  # the worker takes a while until it holds its lock
    started = tmp_path / "started"
    while not started.exists() or not started.read_text():
        time.sleep(0.02)
    assert started.read_text() == "jobs work\n"
    queue_file(tmp_path).write_bytes(b"text" * 999)
    resume_jobs().join()
    assert "does not hold a queue; move it away" in capsys.readouterr().err
