"""`platoscope jobs`: what is queued is seen, canceled and queued again by its number."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.cli import main
from core.jobs import queue
from core.jobs.queue import Outcome
from core.progress import JOB_NOTE

EMBED = ["embed", "--dataset", "d", "--model", "timm:vit", "--device", "cpu"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Return a function that runs a command over a store for which no worker starts."""
    monkeypatch.setattr(queue, "ensure_worker", lambda _: None)

    def call(*words: str) -> tuple[int, str, str]:
        code = main(["jobs", words[0], "--store", str(tmp_path), *words[1:]])
        return code, *capsys.readouterr()

    return call


def test_a_job_is_queued_shown_canceled_and_queued_again(run, tmp_path):
    assert run("list") == (0, "", "nothing yet\n")
    assert run("add", *EMBED)[:2] == (0, "1\n")
    assert run("add", *EMBED)[:2] == (0, "1\n")
    (listed,) = json.loads(run("list", "--json")[1])
    assert listed["command"] == f"platoscope {' '.join(EMBED)}"
    assert (listed["id"], listed["state"]) == (1, "queued")
    assert run("cancel", "1")[1] == "1: canceled\n"
    assert run("retry", "1")[1] == "1: queued\n"
    queue.claim(tmp_path)
    note = {"done": 3, "total": 9, "what": "vit over d", "seconds_left": 12.4, "rows": []}
    (tmp_path / "jobs" / "1.json").write_text(json.dumps(note))
    queue.job(tmp_path, 1).log.write_text("3 of 9\n")
    text = run("list")[1]
    assert "running" in text
    assert "vit over d: 3 of 9, 12 s left" in text
    assert run("cancel", "1")[1] == "1: stopping\n"
    queue.end(tmp_path, 1, Outcome("failed", 2, "no model; name another"))
    shown = run("show", "1")[1]
    assert "failure    no model; name another\n" in shown
    assert "exit code  2\n" in shown
    assert shown.endswith("\n\n3 of 9\n")


def test_a_question_is_queued_as_its_own_parser_reads_it(run):
    assert run("add", "align", "--dataset", "d", "--k", "3")[:2] == (0, "1\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["show", "4"], "no job has the number 4"),
        (["add"], "no command named ''"),
        (["add", "embd"], "no command named 'embd'; did you mean embed"),
        (["add", "model", "list"], "`platoscope model` is quick and not queued"),
        (["add", *EMBED, "--store", "x"], "--store comes before the command"),
    ],
)
def test_mistakes_are_a_sentence(run, words, message):
    code, _, error = run(*words)
    assert code == 2
    assert message in error


def test_words_that_the_command_refuses_are_not_queued(run, capsys):
    with pytest.raises(SystemExit, match="2"):
        run("add", "embed", "--dataset", "d")
    assert "the following arguments are required: --model" in capsys.readouterr().err
    assert run("list")[1] == ""


@pytest.mark.parametrize("words", [["app"], ["model", "list"], ["jobs", "list"]])
def test_what_takes_a_moment_or_for_ever_is_no_job(words, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv(JOB_NOTE, str(tmp_path / "1.json"))
    assert main([*words, "--store", str(tmp_path)]) == 2
    assert f"`platoscope {words[0]}` cannot be a job" in capsys.readouterr().err
