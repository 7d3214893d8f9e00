"""A plan is read whole or refused, with a sentence that says where it is wrong."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest

from core.errors import InputError
from core.plans.plan import checkpoints, put_models
from core.plans.reading import UnknownModelsError, open_plan, question_of, read_plan
from core.questions.alignment.question import Alignment

HEAD = """title = "T"
[dataset]
name = "d"
"""
GROUP = """[[group]]
name = "g"
modality = "language"
models = [{ spec = "hf:a/b" }]
"""
OTHER = GROUP.replace('"g"', '"o"')
PUBLISHED = "[[published]]\nfigure = 'f'\nwhat = 'w'\nsource = 's'\n"
WORDS = "[summaries]\nwords = [1000, {}]\n"
CODING = "[coding]\ngroups = []\ntokens = {}\n"
PROBING = "[probing]\ngroups = []\ntasks = []\n{}\n"
FIGURE = """[[figure]]
name = "f"
ask = "align --x @g --k 3"
"""


def read(place: Path, text: str):
    place.write_text(text)
    return read_plan(place)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "plan.toml"


def test_a_plan_is_what_its_file_says(place: Path):
    plan = read(place, HEAD + "[preparation]\nq = 1\nmetric = 'cka'\n" + GROUP + FIGURE)
    assert (plan.name, plan.dataset.name, plan.preparation.q) == ("plan", "d", 1.0)
    question = question_of(plan, plan.figures[0], {"g": ["one", "two"]})
    assert isinstance(question, Alignment)
    assert (question.x, question.scope.dataset, question.scope.clamping.q) == (
        ("one", "two"),
        "d",
        1.0,
    )
    assert (question.comparison.metric, question.comparison.k) == ("cka", 3)
    with pytest.raises(UnknownModelsError, match="no model of group g is in the store"):
        question_of(plan, plan.figures[0], {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title = ", "cannot be read as TOML"),
        ("title = 3\n[dataset]\nname = 'd'", "title: expected text; got 3"),
        ("titel = 'T'", "unknown key 'titel'; did you mean title"),
        ("title = 'T'", "the key 'dataset' is missing"),
        ("name = 'x'\n" + HEAD, "name is the file's own"),
        (HEAD + "size = '3'", "dataset: size: expected a whole number; got '3'"),
        (HEAD + "size = " + "9" * 400, "size: expected a whole number, 1 to .* got 9+…$"),
        (
            HEAD + GROUP + WORDS.format(1001),
            "words 2: expected a whole number, 1 to 1,000; got 1001",
        ),
        (HEAD + GROUP + CODING.format(0), "tokens: expected a whole number, 1 to 1,0.* got 0"),
        (HEAD + GROUP + PROBING.format("train = 5"), "train: .*number, 6 to 10,.* got 5"),
        (HEAD + GROUP.replace("hf:a/b", "a:b"), "g: 'a:b' is not a model spec; expect"),
        (HEAD + "[[group]]\nmodality = 'language'", "group 1: the key 'name' is missing"),
        (HEAD + GROUP.replace("language", "sound"), "modality: expected one of vision, language"),
        (HEAD + GROUP.replace("spec", "id"), "models 1: unknown key 'id'"),
        (HEAD + GROUP + GROUP, "two groups are named g"),
        (HEAD + GROUP + FIGURE + FIGURE.replace('"f"', '"F"'), "two figures are named f;"),
        (HEAD + GROUP + FIGURE.replace('"f"', '"Models"'), "a figure is named models, as a table"),
        (HEAD + GROUP + PUBLISHED + "value = " + "9" * 401, "value: expected a number; got 9+…$"),
        (HEAD + GROUP.replace('"g"', '"a g"'), "letters, digits and hyphens"),
        (HEAD + OTHER + FIGURE, "toml: no group named 'g'"),
        (HEAD + GROUP + FIGURE.replace("align", "alive"), "no question of figure f named 'alive"),
        (HEAD + GROUP + FIGURE.replace("3", "x"), "figure f: argument --k: expected a whole"),
        (HEAD + GROUP + FIGURE.replace("--k 3", "--dataset e"), "leave --dataset out"),
        (HEAD + GROUP + FIGURE.replace("--k 3", "--k '3"), "f: .*opens a quotation, or ends in"),
        (HEAD + GROUP + FIGURE.replace("--k 3", "-x" + "9" * 5_000), r"unrecognized .{,300}…$"),
        (HEAD + OTHER + "[coding]\ngroups = ['h']", "no group named 'h'"),
        (HEAD + OTHER + PUBLISHED, "no figure named 'f' for w"),
    ],
)
def test_a_wrong_plan_is_refused(place: Path, text: str, message: str):
    with pytest.raises(InputError, match=message):
        read(place, text + "\n")


def test_an_unclosed_text_of_a_plan_is_refused_at_once(place: Path):
    start = process_time()
    with pytest.raises(InputError, match="cannot be read as TOML"):
        read(place, "." * 60 + '"' + '\\"' * 100_000)
    assert process_time() - start < 5


def test_a_study_that_is_not_there_is_named_with_those_that_are():
    with pytest.raises(InputError, match=r"no study named 'prh'.*prh-vision-language"):
        open_plan("prh")


def test_a_group_takes_a_spec_and_a_folder_of_checkpoints(place: Path, tmp_path: Path):
    text = GROUP.replace("language", "vision") + 'architecture = "resnet50"\nmissing = "who?"\n'
    plan = read(place, HEAD + text)
    named = put_models(plan, "g", "timm:resnet18.a1_in1k")
    assert [model.spec for _, model in named.members()] == ["hf:a/b", "timm:resnet18.a1_in1k"]
    assert named.group("g").missing == ""
    folder = tmp_path / "moco"
    (folder / "leaves").mkdir(parents=True)
    (folder / "leaves" / "checkpoint_0199.pth.tar").touch()
    (folder / "noise.pth.tar").touch()
    found = checkpoints(put_models(plan, "g", str(folder)).group("g"))
    assert {model.name: model.spec for model in found} == {
        "leaves": f"timm:resnet50@{folder / 'leaves' / 'checkpoint_0199.pth.tar'}",
        "noise": f"timm:resnet50@{folder / 'noise.pth.tar'}",
    }
    with pytest.raises(InputError, match="has no checkpoint in"):
        checkpoints(put_models(plan, "g", str(tmp_path / "nowhere")).group("g"))
