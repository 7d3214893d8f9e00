"""A real Chromium over a synthetic store: controls, clicks, downloads, no error anywhere."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from core.study.selections import decode
from tests.browser.seen import (
    CHOSEN,
    LONG_RUN,
    Wire,
    aim,
    chart,
    choose,
    download,
    field,
    first_dot,
    framed,
    picture,
    press,
    rest,
    tiles,
)

pytestmark = pytest.mark.browser
BAR = """() => {
  const bar = document.querySelector(".st-key-bar");
  const { x, y, width, height } = bar.getBoundingClientRect();
  const ground = getComputedStyle(bar).backgroundColor;
  const top = document.elementFromPoint(x + width / 2, y + height - 3);
  return { opaque: ground.startsWith("rgb("), topmost: bar.contains(top) };
}"""


def test_back_and_forward_pass_through_what_was_shown_and_nothing_else(visit):
    page = visit("/alignment")
    chart(page, "trend")
    for label, text, said in (
        ("Metric", "Unbiased CKA", "metric=unbiased_cka"),
        ("Layers", "last layers", "layers=last"),
    ):
        choose(page, label, text)
        page.wait_for_url(f"**{said}*")
    shown = [page.url]
    steps = (
        (page.go_back, "Unbiased CKA", "best aligned pair"),
        (page.go_back, "Mutual k-nearest neighbors", "best aligned pair"),
        (page.go_forward, "Unbiased CKA", "best aligned pair"),
        (page.go_forward, "Unbiased CKA", "last layers"),
    )
    for step, metric, layers in steps:
        step()
        expect(field(page, "Metric").locator("input")).to_have_value(metric)
        expect(field(page, "Layers").locator("input")).to_have_value(layers)
        rest(page)
        shown.append(page.url)
    assert shown[0] == shown[4]
    assert "layers" not in shown[1]
    assert "metric=unbiased_cka" in shown[1]
    assert shown[1] == shown[3]
    assert shown[2].endswith("/alignment")


def test_a_dropdown_changes_the_plot_and_the_link_opens_the_same_view(visit):
    page = visit("/alignment")
    chart(page, "trend")
    rest(page)  # a run that ends closes the list
    page.get_by_label("Compared with").first.click()
    page.keyboard.type("ViT S · MAE")  # a long list draws only what is in sight
    page.get_by_role("option", name="ViT S · MAE").click()
    page.wait_for_url("**y=vit-mae-s*")
    page.wait_for_function(
        "document.querySelectorAll('.st-key-chart-trend .annotation').length === 1"
    )
    again = visit(page.url.split(page.url.split("/alignment")[0])[1])
    chart(again, "trend")
    said = page.locator(".st-key-chart-trend .annotation").all_text_contents()
    expect(again.locator(".st-key-chart-trend .annotation")).to_have_text(said)
    check_bar_stays(again)


def check_bar_stays(page) -> None:
    """Check that the controls stay in view at the end of a page, and what they open lies above it;
    on a phone they scroll away with it.
    """
    to_end = "document.querySelector('[data-testid=stMain]').scrollTo(0, 1e6)"
    rest(page)
    top = "document.querySelector('.st-key-bar')?.getBoundingClientRect().y"
    page.wait_for_function(f"({to_end}, {top} === 0)")
    assert page.evaluate(BAR) == {"opaque": True, "topmost": True}
    page.locator(".st-key-bar").get_by_role("button", name="More").click()
    page.get_by_text("Horizontal axis", exact=True).click(trial=True)  # nothing covers it
    page.keyboard.press("Escape")
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_text("Controls", exact=True).wait_for()
    page.wait_for_function(f"({to_end}, {top} < -200)")


def test_a_page_that_works_says_so(visit):
    page = visit("/alignment")
    wire = Wire(page)
    k = page.locator(".st-key-k input")
    expect(k).to_have_value("10")
    rest(page)
    line = "getComputedStyle(document.querySelector('.stApp'), '::after').animationName"
    page.wait_for_function(f"{line} === 'none'")
    wire.is_held = True  # a run may end before it is seen
    page.locator(".st-key-k [data-testid=stNumberInputStepUp]").click()
    wire.release_until(f"{line} === 'working'")
    page.wait_for_function(f"{line} === 'none'")
    expect(k).to_have_value("11")


def test_a_clicked_point_opens_its_layers(visit):
    page = visit("/alignment")
    press(page, "trend", first_dot(page, "trend"), until=CHOSEN)
    best = page.locator(".st-key-chart-layer-map svg").filter(has_text="best").first
    expect(best).to_be_visible()


def test_a_clicked_mark_opens_the_model_beside_its_nearest(visit):
    page = visit("/models?layout=mds")
    press(page, "model-map", first_dot(page, "model-map"), until=CHOSEN)
    chart(page, "layer-map")
    pictures = page.locator("[class*=st-key-tiles-beside-] .tile img")
    expect(pictures.first).to_be_visible()


def test_a_stimulus_opens_from_the_gallery(visit):
    page = visit("/stimuli?view=gallery")
    picture(page, "all", 5).click()
    page.wait_for_url("**stimulus=5*")
    chart(page, "agreement")
    assert len(framed(page, "a")) > 0
    assert framed(page, "a") == framed(page, "b")
    tiles(page, "b").first.locator("button").click()
    page.wait_for_function("/stimulus=(?!5(&|$))/.test(location.search)")
    page.get_by_role("button", name=re.compile("^Back")).click()
    picture(page, "all", 5).wait_for()
    page.wait_for_url(lambda url: "stimulus=" not in url)


def test_stimuli_brushed_on_the_map_are_shown_and_studied(visit):
    page = visit("/stimuli?map=residuals")
    aim(page, "stimulus-map", first_dot(page, "stimulus-map"))
    box = page.locator(".st-key-chart-stimulus-map .nsewdrag").first.bounding_box()
    left, top, width, height = box["x"], box["y"], box["width"], box["height"]
    corners = [(0.02, 0.02), (0.98, 0.02), (0.98, 0.98), (0.02, 0.98), (0.02, 0.05)]
    page.mouse.move(left + corners[0][0] * width, top + corners[0][1] * height)
    page.mouse.down()
    for x, y in corners[1:]:
        page.mouse.move(left + x * width, top + y * height, steps=5)
    page.mouse.up()
    page.wait_for_url("**brushed=80.*")
    page.locator(".st-key-drop-brushed").wait_for()
    shown = len(decode(page.url.split("brushed=")[1].split("&")[0], 80))
    chart(page, "stimulus-map")
    page.locator("[class*=st-key-offer-]").get_by_role("link", name="Alignment").click()
    page.wait_for_url("**/alignment*stimuli=80.*")
    assert shown > 0
    expect(page.locator(".st-key-drop-stimuli")).to_contain_text(f"{shown} of 80 stimuli")


def test_a_chosen_preset_stays_when_its_run_ends_and_a_control_changes(visit):
    page = visit("/theory-contrastive?events=8")
    wire = Wire(page)
    chart(page, "training")
    page.get_by_role("radio", name="Too narrow").click()
    chart(page, "capacity")
    page.locator(".st-key-stop").wait_for(state="detached")
    page.wait_for_url("**?preset=capacity")  # a preset is a whole setup: 24 events again
    page.get_by_role("button", name="More").click()
    events = page.locator(".st-key-events input")
    expect(events).to_have_value("24")
    rest(page)
    wire.is_held = True  # a run may end before it is seen
    events.fill("9")
    events.press("Enter")
    wire.release_until("document.querySelector('.st-key-stop button')?.checkVisibility()")
    page.wait_for_url("**/theory-contrastive?*events=9*")
    page.locator(".st-key-stop").wait_for(state="detached")
    assert "preset=capacity" in page.url
    chart(page, "capacity")
    other = visit(page.url.removeprefix(page.url.split("/theory-contrastive")[0]))
    chart(other, "capacity")
    other.get_by_role("button", name="More").click()
    expect(other.locator(".st-key-events input")).to_have_value("9")


def test_a_simulation_stops_and_goes_on(visit):
    page = visit(LONG_RUN)
    done = page.get_by_text(re.compile(r"^\d+ (of \d+ )?looks")).first
    page.locator(".st-key-stop button").click()
    page.locator(".st-key-go-on button").wait_for()
    rest(page)
    for _ in range(6):  # a busy machine may still draw the last look
        stopped = done.inner_text()
        page.wait_for_timeout(1500)  # what still ran would have shown itself
        if done.inner_text() == stopped:
            break
    assert done.inner_text() == stopped
    page.locator(".st-key-go-on button").click()
    page.locator(".st-key-stop button").wait_for()
    page.wait_for_function(f"!document.body.innerText.includes('{stopped}')")


def test_all_a_plot_gives_away_is_downloaded(visit):
    page = visit("/alignment")
    chart(page, "trend")
    name, table = download(page, "trend", "CSV")
    assert name.endswith(".csv")
    assert b"vit-mae-s" in table
    name, html = download(page, "trend", "HTML")
    assert html.startswith(b"<!DOCTYPE html>")
    name, recipe = download(page, "trend", "Recipe")
    assert b'"mutual_knn"' in recipe


def test_text_of_a_dataset_is_never_obeyed(visit):
    page = visit("/stimuli?stimulus=1")
    chart(page, "agreement")
    expect(page.get_by_text("<img src=x onerror=alert(1)>")).to_have_count(4)
    assert page.locator("img[src=x]").count() == 0
