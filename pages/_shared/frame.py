"""The frame of a page: question, style, theme, and a sentence instead of a traceback."""

from __future__ import annotations

import gc
import re
import shlex
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress

import pandas as pd
import streamlit as st

from core.cave.demo import under_way
from core.errors import (
    NotApplicableError,
    NotEmbeddedError,
    PlatoscopeError,
    UnknownNameError,
)
from core.figures import palette
from core.figures.numbers import counted
from core.figures.theme import INK, Mode
from core.modalities import Item, reader_of
from core.questions.question import Question
from core.questions.words import to_words
from core.settings import is_read_only, store_path
from core.stimuli.dataset import DatasetCard
from core.study.models import reads
from core.visible import visible
from pages._shared import address, facts, queries
from pages._shared.queries import Place

LEAST_STIMULI = 3
FOLDED = True  # whether what is closed waits until it is opened
DATA = "data"  # the address of the page whose forms queue commands
FORM = "add"  # what the address calls the form of the page Data that is open
FORMS = {  # by command: what its form is called in the address, and on its button
    "embed": ("models", "Add models"),
    "dataset": ("dataset", "Add a dataset"),
    "demo": ("dataset", "Add a dataset, or build the demo"),
}
STYLE = """<style>
[data-testid=stMainBlockContainer] {{ padding-left: 2.5rem; padding-right: 2.5rem; }}
.st-key-browser-window, [data-testid=stLayoutWrapper]:has(> [data-testid=stVerticalBlock]:empty) {{
  position: absolute; /* the gap that follows what is empty is left out, too */
}}
[data-testid=stMultiSelect] [data-tag] {{
  background: transparent; color: inherit; box-shadow: inset 0 0 0 1px {ink.ember};
}}
[data-testid=stMultiSelect] [data-tag] button {{ color: inherit; }}
[data-testid=stBaseButton-primary]:enabled {{ color: {ink.paper} !important; }}
[data-testid=stElementToolbarButton]:has([aria-label="Download as CSV"]) {{
  display: none;  /* a spreadsheet would run its texts as formulas; ours are guarded */
}}
[data-testid=stCaptionContainer], [data-testid=stCaptionContainer] * {{
  opacity: 1; color: {ink.soft};
}}
:is(a, button, summary, [role]:not(input), [tabindex]:not(input)):focus-visible,
:is(div, label):not([data-testid=stMultiSelectTagsContainer]):has(> input:focus-visible),
[role=group]:has(input[role=combobox]:focus-visible) {{
  outline: 2px solid {ink.ember} !important; outline-offset: 2px;
}}
.stApp[data-test-script-state=running]::after {{
  content: ""; position: fixed; inset: 0 0 auto 0; height: 3px; z-index: 1000000; opacity: 0;
  background: {ink.ember}; animation: working .8s .7s ease-in-out infinite alternate;
}}
@keyframes working {{ from {{ opacity: .2; }} to {{ opacity: 1; }} }}
@media (max-width: 640px) {{
  [data-testid=stMainBlockContainer] {{ padding-left: 1rem; padding-right: 1rem; }}
  .js-plotly-plot .modebar-container {{ visibility: hidden; }} /* it would cover the heading */
}}
</style>"""
ELSEWHERE = "run the command on the machine that holds the store"
UNSEEN = "\u2060"  # a word joiner
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>$~:&])")
_REPLACED = re.compile(  # where it goes: |http://, |www., name|@, :|icon:, and -|> by itself
    r"(?=https?://|www\.)|(?<=[\w.+-])(?=@)|(?<=:)(?=[a-z_+][\w+/-]*:)"
    r"|(?<!\S[<>~-])(?<=[<>~-])(?=(?:->|[->=])(?!\S))",
    re.IGNORECASE,
)
_NARROW = """
export default function({ data, setStateValue }) {
  const phone = window.matchMedia("(max-width: 640px)");
  const tell = () => { if (phone.matches !== data.narrow) setStateValue("narrow", phone.matches); };
  // Plotly takes every touch for itself; the browser scrolls by a swipe and makes a click of a tap
  const leave = event => {
    if (phone.matches && event.target.closest(".js-plotly-plot")) event.stopImmediatePropagation();
  };
  tell();
  phone.addEventListener("change", tell);
  document.addEventListener("touchstart", leave, { capture: true, passive: true });
  return () => {
    phone.removeEventListener("change", tell);
    document.removeEventListener("touchstart", leave, { capture: true });
  };
}
"""
_frozen = 0  # modules
_window = st.components.v2.component("platoscope_window", js=_NARROW)


class NeededError(Exception):
    """Something that a page needs is missing; command: makes it."""

    def __init__(self, sentence: str, command: str | None = None) -> None:
        super().__init__(sentence)
        self.command = command


def plain(text: object) -> str:
    """Escape data for Markdown, and break Streamlit's links, icons, emojis and arrows by an
    invisible character.
    """
    line = re.sub(r"[ \t\n]+", " ", visible(str(text)))
    return _MARKUP.sub(r"\\\1", _REPLACED.sub(UNSEEN, line))


def draw_read_only(sentence: str) -> None:
    """Draw what a read-only store does not allow."""
    st.caption(f":material/visibility: Read-only store: {sentence}.")


def command(*words: str) -> str:
    """Return a `platoscope` command over this store, quoted for a shell; without the path of a
    read-only store.
    """
    is_here = str(store_path()) != "store" and not is_read_only()
    store = ["--store", str(store_path())] if is_here else []
    return shlex.join(["platoscope", *words, *store])


def question_command(question: Question) -> str:
    """Return the command that prints a question's answer over this store."""
    return command(*to_words(question))


def mode() -> Mode:
    """Return the visitor's theme, and set the hues of the dataset for this thread."""
    palette.show(st.session_state.get("looks", {}))  # each run of a fragment is a new thread
    return "dark" if st.context.theme.type == "dark" else "light"


def freeze_imports() -> None:
    """Exempt imported modules from garbage collection, which Streamlit runs after each redraw: it
    would take a third of a second.
    """
    global _frozen
    if len(sys.modules) != _frozen:
        _frozen = len(sys.modules)
        gc.collect()
        gc.freeze()


def watch_window() -> None:
    """Keep in the session whether the window is a phone's."""
    narrow = bool(st.session_state.get("narrow"))
    window = _window(
        key="browser-window",
        data={"narrow": narrow},
        on_narrow_change=lambda: None,
        height=0,
    )
    st.session_state["narrow"] = narrow if window.get("narrow") is None else bool(window["narrow"])


def narrow() -> bool:
    """Return whether the window is a phone's, on which plots stack their panels."""
    return bool(st.session_state.get("narrow"))


def keep_legible() -> None:
    """Set margins, contrast of buttons and captions, focus rings, and a line at the top while a
    page works.
    """
    st.html(STYLE.format(ink=INK[mode()]))


def draw(question: str, show: Callable[[Place], None]) -> None:
    """Draw a page over a dataset: its question, then what `show` draws, or what to do next."""
    with _titled(question):
        at = place()
        shown = queries.count_models(at)
        try:
            show(at)
        except NeededError:
            _draw_refused(at)
            _await_models(at.dataset, shown)
            raise
        _draw_refused(at)


def _draw_refused(at: Place) -> None:
    refused = list(queries.study(at).refused().values())
    if refused:
        with st.expander(f"{counted(len(refused), 'model', 'models')} left out"):
            for why in refused:
                st.caption(f"Left out: {plain(why)}.")


@st.fragment(run_every="2s")
def _await_models(dataset: str, shown: int) -> None:
    """Redraw an empty page once models or datasets change."""
    with suppress(UnknownNameError):
        if queries.count_models(queries.place(dataset)) == shown:
            return
    st.rerun(scope="app")


def draw_alone(question: str, show: Callable[[], None]) -> None:
    """Draw a page without a dataset: its question, then what `show` draws, or what to do next."""
    with _titled(question):
        show()


@contextmanager
def _titled(question: str) -> Iterator[None]:
    """Draw the title, warnings about values of the link, and the page."""
    st.title(question, anchor=False)
    above = st.container()
    with part():
        yield
    address.write()
    for sentence in address.stale():
        end = "" if sentence.endswith("?") else "."
        above.warning(f"Not in this view: {plain(sentence)}{end}", icon=":material/error:")


@contextmanager
def part() -> Iterator[None]:
    """Draw a part of a page, or a sentence in place of its error; later parts are drawn anyway."""
    try:
        yield
    except NeededError as needed:
        st.info(plain(needed), icon=":material/lightbulb:")
        if needed.command:
            _link_form(needed.command)
            st.code(needed.command, language="bash", wrap_lines=True)
    except NotEmbeddedError as error:
        st.info(plain(error), icon=":material/hourglass_empty:")
    except NotApplicableError as error:
        st.info(plain(error), icon=":material/info:")
    except PlatoscopeError as error:
        st.error(plain(error), icon=":material/error:")


@address.fragment
def fold(title: str, draw: Callable[[], object], *, key: str, link: Collection[str] = ()) -> None:
    """Draw a closed part of a page, which is computed and sent once it is opened.

    link: keys of its controls; an address that names one opens it.
    """
    state = f"fold-{key}"
    if address.names(link):
        st.session_state[state] = True
    box = st.expander(title, key=state, on_change="rerun")
    if box.open or not FOLDED:
        with box, part():
            draw()


def _link_form(command: str) -> None:
    """Link to the form of the page Data that queues this command."""
    kind = shlex.split(command)[1]
    name, label = FORMS.get(kind, ("", ""))
    is_built = kind == "demo" and queries.store().datasets()  # and lacks what is being made
    if name and not is_built and address.page() != DATA and not is_read_only():
        along = address.chosen("dataset") | {FORM: [name]}
        st.page_link("data.py", label=label, icon=":material/arrow_forward:", query_params=along)


def place() -> Place:
    """Return the selected dataset; raise NeededError if the store has none."""
    if not queries.store().datasets():
        problems = queries.store().problems()
        if problems:
            raise NeededError(f"No dataset in the store {store_path()} can be read: {problems[0]}")
        if under_way(store_path()):
            raise NeededError(
                "The demo is being built: images first, then models one by one. This page updates"
                " by itself."
            )
        raise NeededError(
            f"The store {store_path()} is empty. Add a dataset of your own, or build the demo, a"
            " small world with models trained in it:",
            command("demo"),
        )
    at = queries.here(st.session_state["dataset"])
    st.session_state["looks"] = facts.looks(at)
    return at


def need_stimuli(at: Place) -> None:
    """Raise NeededError for too few stimuli to have neighbors."""
    size = queries.size(at)
    if size < LEAST_STIMULI:
        few = (
            f"This dataset has {size} stimuli, too few to compare neighbors: {LEAST_STIMULI} are"
            " needed, hundreds are better."
        )
        raise NeededError(
            f"{few} Add a larger one:", command("dataset", "add", "NAME", "--folder", "DIR")
        )


def need_items(card: DatasetCard, item: Item) -> None:
    """Raise NeededError if a dataset has no images, or no captions."""
    if item in ("caption", "image") and not (card.levels if item == "caption" else card.has_images):
        raise NeededError(
            f"This dataset has only {card.holds}, and the question needs {item}s. Choose another"
            f" dataset, or add one with {item}s:",
            command("dataset", "add", "NAME", "--folder", "DIR"),
        )


def need_readers(at: Place, *items: Item) -> None:
    """Raise NeededError if no embedded model reads one of these items."""
    models, card = queries.models(at), queries.card(at)
    for item in items:
        if not reads(models, item).any():
            modality = reader_of(item)
            need_items(card, item)
            none = f"No {modality.title} is embedded over this dataset yet."
            if card.world:
                raise NeededError(
                    f"{none} Wait for the demo to be built, or build it:", command("demo")
                )
            embed = command("embed", "--dataset", at.dataset, "--model", modality.example)
            raise NeededError(f"{none} Add one:", embed)


def list_left_out(models: pd.DataFrame, reasons: Mapping[str, str]) -> None:
    """Draw why models are left out. reasons: by model."""
    titles = models.set_index("model")["title"]
    for name, reason in reasons.items():
        st.caption(f"Left out: {plain(titles[name])}, {plain(reason)}.")
