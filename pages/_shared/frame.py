"""What surrounds every page: the sidebar, the question, and a sentence instead of a traceback."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page

from core.demo import under_way
from core.errors import PlatoscopeError, UnknownNameError
from core.figures import palette
from core.figures.theme import INK, Mode
from core.modalities import Item, reader_of
from core.questions.question import Question
from core.questions.words import to_words
from core.settings import store_path
from core.study.models import reads, tell_apart
from core.study.parts import CAVE
from pages._shared import address, queries
from pages._shared.chosen import selection
from pages._shared.queries import Place

LEAST_STIMULI = 3
WORDMARK = """<style>
.st-key-head { margin-top: -2.6rem; flex-wrap: nowrap; }
.wordmark { font: 600 1.35rem "Source Serif 4", "Source Serif", serif; }
</style><div class="wordmark">Platoscope</div>"""
STYLE = """<style>
[data-testid=stMainBlockContainer] {{ padding-left: 2.5rem; padding-right: 2.5rem; }}
[data-testid=stMultiSelect] [data-tag] {{
  background: transparent; color: inherit; box-shadow: inset 0 0 0 1px {ink.ember};
}}
[data-testid=stMultiSelect] [data-tag] button {{ color: inherit; }}
[data-testid=stBaseButton-primary] {{ color: {ink.paper} !important; }}
[data-testid=stCaptionContainer], [data-testid=stCaptionContainer] * {{
  opacity: 1; color: {ink.soft};
}}
:is(a, button, summary, [role], [tabindex]):focus-visible,
:is(div, label):has(> input:focus-visible) {{
  outline: 2px solid {ink.ember} !important; outline-offset: 2px;
}}
@media (max-width: 640px) {{
  [data-testid=stMainBlockContainer] {{ padding-left: 1rem; padding-right: 1rem; }}
}}
</style>"""
WITHIN = """<style>/* a page within another has no toolbar to stay clear of */
[data-testid=stMainBlockContainer] { padding-top: 2.25rem; }
</style>"""
_NARROW = """
export default function({ data, setStateValue }) {
  const phone = window.matchMedia("(max-width: 640px)");
  const tell = () => { if (phone.matches !== data.narrow) setStateValue("narrow", phone.matches); };
  // Plotly takes every touch for itself; the browser scrolls by a swipe and makes a click of a tap
  const leave = event => {
    if (phone.matches && event.target.closest(".js-plotly-plot")) event.stopImmediatePropagation();
  };
  const visited = document.cookie.match(/platoscope-visited=([^;]*)/)?.[1].split(".") ?? [];
  if (!visited.includes(data.page)) {
    const value = [...visited, data.page].filter(name => name).join(".");
    document.cookie = `platoscope-visited=${value}; path=/; max-age=31536000; SameSite=Lax`;
  }
  tell();
  phone.addEventListener("change", tell);
  document.addEventListener("touchstart", leave, { capture: true, passive: true });
  return () => {
    phone.removeEventListener("change", tell);
    document.removeEventListener("touchstart", leave, { capture: true });
  };
}
"""
_width = st.components.v2.component("platoscope_width", js=_NARROW)


class NeededError(Exception):
    """Something is missing before there is anything to see: a sentence, and the command that makes
    it.
    """

    def __init__(self, sentence: str, command: str | None = None) -> None:
        super().__init__(sentence)
        self.command = command


def plain(text: object) -> str:
    """Escape data for Markdown, so that a caption is shown and never obeyed."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>$~:&])", r"\\\1", str(text)).replace("\n", " ")


def command(*words: str) -> str:
    """Return a `platoscope` command over this store, ready for a shell."""
    store = ["--store", str(store_path())] if str(store_path()) != "store" else []
    return shlex.join(["platoscope", *words, *store])


def question_command(question: Question) -> str:
    """Return the command that prints a question's answer over this store."""
    return command(*to_words(question))


def mode() -> Mode:
    """Return which theme the visitor sees; figures have the hues of the dataset from here on."""
    palette.show(st.session_state.get("looks", {}))  # each run of a fragment is a thread of its own
    return "dark" if st.context.theme.type == "dark" else "light"


def watch_window(page: str) -> None:
    """Keep `narrow` in the session: whether the window is a phone's; and in a cookie which pages
    were visited. page: this one.
    """
    narrow = bool(st.session_state.get("narrow"))
    window = _width(
        key="window-width",
        data={"narrow": narrow, "page": page or "start"},
        on_narrow_change=lambda: None,
        height=0,
    )
    st.session_state["narrow"] = narrow if window.get("narrow") is None else bool(window["narrow"])


def narrow() -> bool:
    """Return whether plots have to stack their panels."""
    return bool(st.session_state.get("narrow"))


def keep_legible() -> None:
    """Give every page the same margins; outline chosen values in lists and letter main buttons like
    paper: white on the dark theme's orange is hard to read. Captions are of the figures' gray, and
    what has the focus is ringed.
    """
    st.html(STYLE.format(ink=INK[mode()]) + (WITHIN if st.context.is_embedded else ""))


def sidebar(pages: Mapping[str, Sequence[Page]], *, over_store: bool) -> None:
    """Draw the links to all pages and, for a page over the store, the choice of the dataset."""
    links = st.container(gap="small", key="navigation")
    if over_store:
        _pick_dataset()
    with links:
        _navigate(pages)


def head() -> DeltaGenerator:
    """Draw the product's name at the head of the sidebar, and return what has room beside it."""
    beside = st.container(
        horizontal=True,
        horizontal_alignment="distribute",
        vertical_alignment="center",
        key="head",
    )
    beside.html(WORDMARK, width="content")
    return beside


def _navigate(pages: Mapping[str, Sequence[Page]]) -> None:
    """Draw a link to each page, in groups; the dataset goes along, and what was chosen of it."""
    along = address.chosen("dataset") | address.chosen(selection.KEY) | address.chosen("stimulus")
    for group, members in pages.items():
        if group:
            st.caption(group)
        for page in members:
            st.page_link(page, query_params=along)


def _pick_dataset() -> None:
    """Choose the dataset, offer what has come in since, and say what was left out."""
    cards = queries.store().datasets()
    if cards:
        names = [card.name for card in cards]
        titles = dict(zip(names, tell_apart([card.title for card in cards], names), strict=True))
        dataset = st.selectbox(
            "Dataset",
            names,
            format_func=titles.__getitem__,
            **address.bind("dataset", CAVE if CAVE in names else names[0], names),
        )
        with part():
            selection.pick(dataset)
        _offer_news(dataset, len(queries.store().models(dataset)))
    else:
        _await_dataset(under_way(store_path()) is not None)
    problems = queries.store().problems()
    if problems:
        with st.expander(
            f"{len(problems)} file{'s' if len(problems) > 1 else ''} left out",
            icon=":material/warning:",
        ):
            for problem in problems:
                st.text(problem)


@st.fragment(run_every="2s")
def _await_dataset(building: bool) -> None:
    """Draw the page anew once a build begins or ends, or a dataset is there; until then show how
    far the build is.
    """
    built = under_way(store_path())
    if queries.store().datasets() or (built is not None) != building:
        st.rerun(scope="app")
    _show_build(built)


def _show_build(built: tuple[int, int, str] | None) -> None:
    if built:
        done, total, what = built
        st.progress(done / total, f"Building the demo: {done} of {total} {what}")


@st.fragment(run_every="10s")
def _offer_news(dataset: str, shown: int) -> None:
    _show_build(under_way(store_path()))
    now = _count_models(dataset)
    if now < 0:
        st.rerun(scope="app")
    label = f"{now} models now: show them" if now != shown else "Refresh"
    if st.button(label, icon=":material/refresh:", type="primary" if now != shown else "tertiary"):
        st.rerun(scope="app")


def draw(question: str, show: Callable[[Place], None]) -> None:
    """Draw a page: its question first, then what `show` draws, or one sentence that says what to do
    next.
    """
    with _titled(question):
        at = _place()
        shown = _count_models(at.dataset)
        try:
            show(at)
        except NeededError:
            _await_models(at.dataset, shown)
            raise


@st.fragment(run_every="2s")
def _await_models(dataset: str, shown: int) -> None:
    """Draw a page that has nothing to show anew once there are other models."""
    if _count_models(dataset) != shown:
        st.rerun(scope="app")


def _count_models(dataset: str) -> int:
    """Return how many models are embedded; -1 where the dataset was removed or replaced while the
    page was open.
    """
    try:
        return len(queries.store().models(dataset))
    except UnknownNameError:
        return -1


def draw_alone(question: str, show: Callable[[], None]) -> None:
    """Draw a page that needs no dataset: its question first, then what `show` draws, or one
    sentence that says what to do next.
    """
    with _titled(question):
        show()


@contextmanager
def _titled(question: str) -> Iterator[None]:
    """Draw a page under its question; what its link names and is not there comes first."""
    st.title(question, anchor=False)
    above = st.container()
    with part():
        yield
    address.write()
    for sentence in address.stale():
        above.warning(f"Not in this view: {plain(sentence)}.", icon=":material/error:")


@contextmanager
def part() -> Iterator[None]:
    """Draw a part of a page, or one sentence that says what to do next; what comes after it is
    drawn all the same.
    """
    try:
        yield
    except NeededError as needed:
        st.info(plain(needed), icon=":material/lightbulb:")
        if needed.command:
            st.code(needed.command, language="bash", wrap_lines=True)
    except PlatoscopeError as error:
        st.error(plain(error), icon=":material/error:")


def _place() -> Place:
    if not queries.store().datasets():
        problems = queries.store().problems()
        if problems:
            raise NeededError(f"No dataset in the store {store_path()} can be read: {problems[0]}")
        if under_way(store_path()):
            raise NeededError(
                "The demo is being built: pictures first, then models one by one. This page fills"
                " by itself."
            )
        raise NeededError(
            f"The store {store_path()} is empty. Build the demo, a small world with models trained"
            " in it:",
            command("demo"),
        )
    at = queries.place(st.session_state["dataset"])
    st.session_state["looks"] = queries.looks(at)
    return at


def need_stimuli(at: Place) -> None:
    """Raise NeededError where there are too few stimuli to have neighbors."""
    size = queries.size(at)
    if size < LEAST_STIMULI:
        few = (
            f"This dataset has {size} stimuli, too few to compare neighbors: {LEAST_STIMULI} are"
            " needed, hundreds are better."
        )
        raise NeededError(
            f"{few} Add a larger one:", command("dataset", "add", "NAME", "--folder", "DIR")
        )


def need_readers(at: Place, *items: Item) -> None:
    """Raise NeededError where no embedded model reads one of these: images, captions."""
    models = queries.models(at)
    for item in items:
        if not reads(models, item).any():
            modality = reader_of(item)
            embed = command("embed", "--dataset", at.dataset, "--model", modality.example)
            raise NeededError(
                f"No {modality.title} is embedded over this dataset yet. Wait for the run that"
                " does, or start one:",
                command("demo") if queries.card(at).has_demo else embed,
            )


def tell_left_out(at: Place, names: Sequence[str], k: int) -> None:
    """Say which models have no neighbors and why."""
    for reason in queries.without_neighbors(at, names, k=k).values():
        st.caption(f"Left out: {plain(reason)}.")


def list_left_out(models: pd.DataFrame, reasons: Mapping[str, str]) -> None:
    """Say which models have no place among the others, and why; reasons: by model."""
    titles = models.set_index("model")["title"]
    for name, reason in reasons.items():
        st.caption(f"Left out: {plain(titles[name])}, {plain(reason)}.")
