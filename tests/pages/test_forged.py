"""What no browser sends: values that a control does not offer, of somebody who speaks Streamlit's
protocol, or of a browser that shows what has gone meanwhile. A page shows its start instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.asyncio.client import ClientConnection, connect

from tests.benchmarks.crowd import AS_BROWSERS, asking
from tests.browser.server import serve

CHOSEN = {"strings": ["no-such-thing", "no-such-thing"], "none": []}  # by what they are called
QUICK = "/models"
MORE = ("/alignment", "/models?view=table", "/dispersion", "/adapters", "/metrics", "/color")
PAGES = (QUICK, *(pytest.param(page, marks=pytest.mark.slow) for page in MORE))
KINDS = ("selectbox", "multiselect", "button_group")


@pytest.fixture(scope="module")
def address(small, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder: Path = tmp_path_factory.mktemp("forged")
    with serve(small(40), log=folder / "log", XDG_STATE_HOME=str(folder)) as address:
        yield address


async def messages(socket: ClientConnection) -> list[ForwardMsg]:
    """Read until a page is whole."""
    read = []
    async for data in socket:
        read.append(ForwardMsg.FromString(data))
        if read[-1].WhichOneof("type") == "script_finished":
            return read
    raise AssertionError("the server hung up")


def controls_of(page: list[ForwardMsg]) -> dict[str, str]:
    """Return the kind of each control of a page that offers values, by its id."""
    elements = [message.delta.new_element for message in page]
    kinds = [(one, one.WhichOneof("type")) for one in elements]
    return {getattr(one, kind).id: kind for one, kind in kinds if kind in KINDS}


async def errors_after(address: str, page: str, texts: list[str]) -> dict[str, list[str]]:
    """Return by control which errors a page shows once texts came that it does not offer."""
    stream = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
    errors = {}
    async with connect(stream, **AS_BROWSERS) as socket:
        await socket.send(asking(address, page))
        for control, kind in controls_of(await messages(socket)).items():
            forged = BackMsg.FromString(asking(address, page))
            state = forged.rerun_script.widget_states.widgets.add(id=control)
            if kind == "selectbox":
                state.string_value = "".join(texts)
            else:
                state.string_array_value.data.extend(texts)
                state.string_array_value.SetInParent()
            await socket.send(forged.SerializeToString())
            alerts = [one.delta.new_element.alert.body for one in await messages(socket)]
            errors[control] = [text for text in alerts if "not expected" in text]
    assert errors
    return {control: said for control, said in errors.items() if said}


@pytest.mark.parametrize("texts", CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_a_control_does_not_offer_is_passed_over(address, page, texts):
    with ThreadPoolExecutor(1) as thread:  # a browser of another test may have left its loop
        run = thread.submit(lambda: asyncio.run(errors_after(address, page, texts)))
        assert run.result() == {}
