"""The tasks of VTAB, from a cache of the hub that holds small data sets in the same form."""

from __future__ import annotations

import numpy as np
import pytest
from huggingface_hub import constants

from core.competence.images import RAW_CLASSES, open_vtab, task_names
from core.competence.scores import vtab_tasks
from core.competence.transfer import open_tasks
from core.errors import InputError, OfflineError, StimuliError, UnknownNameError
from tests.competence.labeled_files import put_in_cache, write_part

HUB = dict(zip(vtab_tasks()["task"], vtab_tasks()["hub"], strict=True))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path


def publish(cache, task, train, test):
    folder = put_in_cache(cache, HUB[task])
    write_part(folder / "train", train)
    write_part(folder / "test", test)
    return folder


@pytest.mark.parametrize("task", ["SVHN", "KITTI-Distance", "Patch Camelyon"])
def test_a_task_is_read_from_the_cache(cache, task):
    classes = int(vtab_tasks().set_index("task").loc[task, "classes"])
    labels = [number % classes for number in range(20)]
    folder = publish(cache, task, [labels, labels], [labels])
    images = open_vtab(task, limit=30)
    question = images.questions[0]
    assert (question.task, question.group) == (
        task,
        vtab_tasks().set_index("task").loc[task, "group"],
    )
    assert [len(part) for part in vars(question.parts).values()] == [15, 5, 10]
    shown = [np.asarray(image).mean() for image in images.images(0, images.size)]
    assert (np.round((np.array(shown) - 19.5) / 5) == question.labels).all()
    assert images.source == {
        "hub": HUB[task],
        "revision": folder.name,
        "classes": classes,
        "limit": 30,
        "seed": 0,
    }


@pytest.mark.parametrize(("task", "raw"), RAW_CLASSES.items())
def test_positions_and_orientations_are_joined_to_sixteen(cache, task, raw):
    publish(cache, task, [range(raw)], [range(raw)])
    images = open_vtab(task)
    shown = [
        round((np.asarray(image).mean() - 19.5) / 5) for image in images.images(0, images.size)
    ]
    assert sorted(set(shown)) == list(range(raw))
    # the benchmark's own code divides by the number of raw classes per class, 2 or 2.5, and rounds
    # down
    assert images.questions[0].labels.tolist() == [int(label // (raw / 16)) for label in shown]
    assert set(images.questions[0].labels) == set(range(16))


@pytest.mark.parametrize(
    ("task", "label", "classes"), [("SVHN", 10, 10), ("dSprites-Orientation", 40, 40)]
)
def test_labels_beyond_the_benchmark_s_are_refused(cache, task, label, classes):
    publish(cache, task, [[0, 1, label]], [[0, 1]])
    with pytest.raises(
        StimuliError,
        match=rf"labels of {task} go up to {label}, and {classes} classes from 0 were expected",
    ):
        open_vtab(task)


@pytest.mark.usefixtures("cache")
def test_without_network_and_cache_one_sentence_says_what_to_do():
    with pytest.raises(
        OfflineError,
        match=r"DTD \(clip-benchmark/wds_vtab-dtd\) is not in the cache .* connect .*--task DIR",
    ):
        open_vtab("DTD")


def test_names_stand_for_tasks_and_folders(cache, tmp_path):
    assert len(task_names()) == len(set(task_names())) == 19
    publish(cache, "SVHN", [[0, 1] * 6], [[0, 1] * 6])
    write_part(tmp_path / "own" / "test", [[0, 1] * 6])
    assert [images.name for images in open_tasks(["SVHN", str(tmp_path / "own"), "SVHN"])] == [
        "SVHN",
        "folder own",
    ]
    write_part(tmp_path / "other" / "own" / "test", [[0, 1] * 6])
    with pytest.raises(
        InputError,
        match=("2 tasks are named 'folder own', so one would replace the other; rename a folder"),
    ):
        open_tasks([str(tmp_path / "own"), str(tmp_path / "other" / "own")])
    with pytest.raises(
        UnknownNameError, match="no folder or task of VTAB named 'SVNH'; did you mean SVHN"
    ):
        open_tasks(["SVNH"])
    with pytest.raises(UnknownNameError, match="no folder or task of VTAB named ''"):
        open_tasks([""])
    with pytest.raises(UnknownNameError, match="no task of VTAB named 'svhn'"):
        open_vtab("svhn")
    with pytest.raises(OfflineError, match="Caltech101"):  # the first of all
        open_tasks(["vtab"])
