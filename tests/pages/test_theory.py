"""Both theory pages need no store: they run by themselves, can be stopped, and say what was
seen.
"""

from __future__ import annotations

import threading

import pytest

from core.theory.deep_linear.breaking import training
from core.theory.looks import Look, Run
from pages._shared import experiment
from tests.pages.seen import charts, said


@pytest.fixture(autouse=True)
def _shorter(monkeypatch) -> None:
    """Train at the edge of stability, and along labels, for as long as `test_breakers` does."""
    monkeypatch.setattr(training, "STEPS", 10_000)
    monkeypatch.setattr(training, "FLOW_TIME", 30.0)


@pytest.fixture
def on_nothing(opened, tmp_path, monkeypatch):
    """Return a function that opens a theory page over an empty store; its run works for so many
    seconds at a time.
    """

    def open_page(page: str, *, moment: float = 60.0, **query: str):
        monkeypatch.setattr("pages._shared.experiment.MOMENT", moment)
        app = opened(tmp_path / "nothing", page, **query)
        assert not app.exception
        return app

    return open_page


def seen(app) -> str:
    return " ".join(each.value for each in app.markdown).replace("\\", "")


def test_contrastive_learners_end_at_the_pmi_kernel(on_nothing):
    app = on_nothing("theory/contrastive", events="10")
    assert charts(app) == ["kernels", "products", "plane", "training"]
    assert "R² = 1 −" in seen(app) or "R² = 1." in seen(app)
    assert said(app) == ""
    assert app.code[0].value == "platoscope theory contrastive --events 10"


@pytest.mark.slow
def test_deep_linear_networks_end_aligned(on_nothing):
    app = on_nothing("theory/deep_linear", a="4", b="5, 4")
    assert charts(app) == ["training", "layers", "way", "matrices"]
    assert "1 − " in seen(app)
    assert "theory matrices" in app.code[-1].value
    assert "--a 4 --b 5 4" in app.code[0].value


def run_of(app) -> experiment.Experiment:
    """Return the run that a page shows: the latest."""
    return [*app.session_state["experiments"].values()][-1]


def test_a_run_that_was_left_for_another_rests_and_goes_on_when_it_is_asked_again(on_nothing):
    app = on_nothing("theory/deep_linear", moment=0.0)
    app.button(key="stop").click().run()
    first = run_of(app)
    before = len(first.looks)
    app.number_input(key="seed").set_value(7).run()
    assert run_of(app) is not first
    assert run_of(app).looks
    app.number_input(key="seed").set_value(0).run()
    assert run_of(app) is first
    assert (first.state, len(first.looks)) == ("stopped", before)


def test_a_run_can_be_stopped_and_goes_on(on_nothing):
    app = on_nothing("theory/deep_linear", moment=0.0)
    assert run_of(app).state == "running"
    app.button(key="stop").click().run()
    before = len(run_of(app).looks)
    assert run_of(app).state == "stopped"
    app.run()
    assert len(run_of(app).looks) == before
    app.button(key="go-on").click().run()
    assert len(run_of(app).looks) > before


@pytest.mark.slow
def test_a_breaker_is_swept_and_drawn_beside_its_prediction(on_nothing):
    app = on_nothing("theory/deep_linear", preset="saddle", a="4", b="5")
    assert charts(app) == ["broken", "layers"]
    assert "at strength 2" in seen(app)


@pytest.mark.slow
def test_steps_of_sgd_are_chosen_where_it_trains(on_nothing):
    app = on_nothing(
        "theory/deep_linear", preset="edge-of-stability", a="3", b="3", step="0.01", batch="4"
    )
    assert charts(app) == ["broken", "layers"]
    assert app.code[0].value.endswith("--step 0.01 --batch 4")
    assert "a number, 0.0001 to 1; got '7'" in said(
        on_nothing("theory/deep_linear", preset="limits", step="7")
    )


def test_queries_and_keys_are_drawn_model_by_model(on_nothing):
    app = on_nothing("theory/attention", models="gpt2-xs", captions="2")
    assert charts(app) == ["balance"]
    assert "in GPT-2 XS; fresh weights have" in seen(app)
    assert app.code[0].value == "platoscope theory attention --models gpt2-xs --captions 2"


def test_two_redraws_at_once_do_not_take_the_same_look():
    begun, go = threading.Event(), threading.Event()

    def looks():
        begun.set()
        assert go.wait(120)
        yield Look({"at": 0.0})

    held = experiment.Experiment(Run(looks()))
    first = threading.Thread(target=held.work)
    first.start()
    assert begun.wait(120)
    held.work()  # a click redraws the page while the look is still under way
    assert (held.looks, held.state) == ([], "running")
    go.set()
    first.join()
    assert len(held.looks) == 1
