"""Cards are resized between neighbours, fill their page, and stay readable where the window is low."""
import pathlib
import shutil
import signal
import time

import picture
import pytest

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
BELOW_TIMELINE = "performance.cards.splitter.0"
BESIDE_EXPERTS = "performance.cards.1.splitter.0"


@pytest.fixture
def page(open_window, tmp_path):
    # A copy: pictures are saved next to it.
    window = open_window(shutil.copy(SAMPLE, tmp_path), "--no-worker")
    window.wait("its cards", lambda m: any(c["id"] == BELOW_TIMELINE for c in m["controls"]))
    window.settle()
    return window


def length(window, splitter):
    """Of the card before it."""
    return float(window.control(splitter)["value"])


def drag(window, name, right, down):
    x, y = window.centre(name)
    window.xdotool("mousemove", x, y)
    window.seen("the pointer")
    window.xdotool("mousedown", 1)
    window.seen("the press")
    for part in (0.3, 0.7, 1.0):
        window.xdotool("mousemove", round(x + part * right), round(y + part * down))
        window.seen("the move")
    window.xdotool("mouseup", 1)
    window.seen("the release")
    window.settle()


def double_click(window, name):
    x, y = window.centre(name)
    window.xdotool("mousemove", x + 1, y, "mousemove", x, y)
    window.seen("the pointer")
    window.settle()
    window.xdotool("click", "--repeat", 2, "--delay", 40, 1)
    # Each press and each release has its frame; on a busy machine the first of them comes late.
    window.wait("both clicks", lambda m: m["frame"] > window.frame_before + 4)
    window.settle()


def shown_cards(current):
    """Of any page."""
    return {c["id"].removesuffix(".title") for c in current["controls"] if c["id"].endswith("card.title")}


def shown(window):
    return {c["id"].removesuffix(".title") for c in window.map()["controls"]
            if c["id"].endswith("_card.title")}


def test_a_splitter_resizes_its_neighbours_and_the_size_outlives_a_page_change(page):
    timeline, experts = length(page, BELOW_TIMELINE), length(page, BESIDE_EXPERTS)
    iterations = page.control("performance.iterations")["rect"]
    drag(page, BELOW_TIMELINE, 0, -40)
    assert length(page, BELOW_TIMELINE) == timeline - 40
    # The row after the next one has not moved, and neither has the cut across.
    assert page.control("performance.iterations")["rect"] == iterations
    assert length(page, BESIDE_EXPERTS) == experts
    drag(page, BESIDE_EXPERTS, 90, 0)
    assert length(page, BESIDE_EXPERTS) == experts + 90
    page.key("ctrl+2")
    page.wait("the other page", lambda m: all(c["id"] != BELOW_TIMELINE for c in m["controls"]))
    page.key("ctrl+1")
    page.wait("this page", lambda m: any(c["id"] == BELOW_TIMELINE for c in m["controls"]))
    assert length(page, BELOW_TIMELINE) == timeline - 40
    assert length(page, BESIDE_EXPERTS) == experts + 90
    # A double click resets its own cut only.
    double_click(page, BELOW_TIMELINE)
    assert length(page, BELOW_TIMELINE) == timeline
    assert length(page, BESIDE_EXPERTS) == experts + 90


def test_a_card_keeps_what_it_needs_however_far_its_edge_is_dragged(page):
    drag(page, BELOW_TIMELINE, 0, 440)
    _, top, _, bottom = page.control("performance.experts_card.title")["rect"]
    below = page.control("performance.cards.splitter.1")["rect"]
    assert below[1] - bottom > 100
    assert page.control("performance.iterations")["visible"]


def test_a_double_click_on_a_title_fills_the_page(page):
    all_cards = shown(page)
    assert len(all_cards) == 6
    small = page.control("performance.roofline")["rect"]
    double_click(page, "performance.roofline_card.title")
    assert shown(page) == {"performance.roofline_card"}
    large = page.control("performance.roofline")["rect"]
    assert large[2] - large[0] > 2 * (small[2] - small[0])
    assert large[3] - large[1] > 2 * (small[3] - small[1])
    double_click(page, "performance.roofline_card.title")
    assert shown(page) == all_cards
    double_click(page, "performance.kernels_card.title")
    assert shown(page) == {"performance.kernels_card"}
    page.click("performance.kernels_card.back")
    page.wait("all cards", lambda m: shown(page) == all_cards)


def test_a_double_click_on_a_busy_machine_fills_the_page(page):
    """The window draws nothing between the two clicks, which are read late."""
    x, y = page.centre("performance.roofline_card.title")
    page.xdotool("mousemove", x + 1, y, "mousemove", x, y)
    page.seen("the pointer")
    page.settle()
    page.xdotool("click", 1)
    page.seen("the first click")
    page.process.send_signal(signal.SIGSTOP)
    try:
        page.xdotool("mousemove", x + 2, y + 1, "click", 1)
        time.sleep(1)
    finally:
        page.process.send_signal(signal.SIGCONT)
    page.wait("the card alone", lambda m: shown(page) == {"performance.roofline_card"})


def test_escape_restores_the_cards_and_only_then_drops_the_selection(page):
    all_cards = shown(page)
    double_click(page, "performance.timeline_card.title")
    assert shown(page) == {"performance.timeline_card"}
    drag(page, "performance.timeline", 120, 0)
    assert "selected_from_ns" in page.control("performance.timeline")["value"]
    page.key("Escape")
    page.wait("all cards", lambda m: shown(page) == all_cards)
    page.settle()
    assert "selected_from_ns" in page.control("performance.timeline")["value"]


def test_every_page_with_cards_has_them(open_window):
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+2")
    window.wait("its cards", lambda m: any(
        c["id"] == "numerics.cards.0.splitter.0" or c["id"] == "numerics.two_columns.0.splitter.0"
        for c in m["controls"]))
    window.settle()
    double_click(window, "numerics.map_card.title")
    assert shown(window) == {"numerics.map_card"}
    # A range can be chosen while the card that shows its sums is not drawn.
    window.key("Escape")
    window.wait("all cards", lambda m: len(shown(window)) == 6)
    window.key("ctrl+3")
    window.wait("its cards", lambda m: any(c["id"] == "graphs.cards.splitter.0"
                                           for c in m["controls"]))


@pytest.mark.parametrize("view,splitter,card", [
    (1, "topology.cards.splitter.0", "topology.card"), (2, "memory.cards.splitter.0", "node.card"),
    (3, "doctor.columns.0.splitter.0", "doctor.finding_card")])
def test_the_views_of_a_graph_have_them(open_window, tmp_path, view, splitter, card):
    window = open_window(shutil.copy(SAMPLE.parent / "workspace_bug.session", tmp_path), "--no-worker")
    window.wait("the doctor", lambda m: any(c["id"] == "doctor.cure_card.title" for c in m["controls"]))
    window.click(f"graphs.view.{view}")
    window.wait("its cards", lambda m: any(c["id"] == splitter for c in m["controls"]))
    window.settle()
    cards = shown_cards(window.map())
    assert len(cards) == (6 if view == 3 else 2)
    before = length(window, splitter)
    drag(window, splitter, -60, 0)
    assert length(window, splitter) == before - 60
    double_click(window, splitter)
    window.wait("its own length", lambda m: length(window, splitter) == before)
    double_click(window, f"{card}.title")
    assert shown_cards(window.map()) == {card}
    window.key("Escape")
    window.wait("all cards", lambda m: shown_cards(m) == cards)


def test_a_case_of_the_gallery_has_them_too(open_window):
    """It has other cards than a visit: one that fills the page does not stay for the other."""
    window = open_window("--no-worker")
    window.key("ctrl+3")
    window.click("graphs.view.3")
    window.click("doctor.subject.1")
    window.choose("doctor.case", "A counter that no replay resets")
    window.wait("the case", lambda m: any(c["id"] == "doctor.case.0.0.splitter.0" for c in m["controls"]))
    window.settle()
    double_click(window, "doctor.case_card.title")
    assert shown_cards(window.map()) == {"doctor.case_card"}
    window.click("doctor.show_recorded")
    window.wait("a visit", lambda m: any(c["id"] == "doctor.cure_card.title" for c in m["controls"]))
    assert len(shown_cards(window.map())) == 7


def test_the_points_of_a_sweep_have_them(open_window):
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+4")
    window.click("compare.part.1")
    window.click("frontier.recipe")
    window.click("frontier.start")
    window.wait("the end of the sweep", lambda m: m["state"]["batch_id"] > 0 and not m["state"]["batch_running"], 120)
    window.wait("its cards", lambda m: any(c["id"] == "frontier.cards.splitter.0" for c in m["controls"]))
    window.settle()
    before = length(window, "frontier.cards.splitter.0")
    drag(window, "frontier.cards.splitter.0", 0, -30)
    assert length(window, "frontier.cards.splitter.0") == before - 30
    double_click(window, "frontier.card.title")
    assert window.control("frontier.table_card.title") is None
    window.key("Escape")
    window.wait("both", lambda m: any(c["id"] == "frontier.table_card.title" for c in m["controls"]))


@pytest.mark.parametrize("width,height,scale", [(1920, 1080, 1.6), (1280, 800, 1.0)])
def test_the_lanes_of_the_timeline_stay_readable(open_window, width, height, scale):
    """Every lane has its name: they would be left out where lanes are lower than a line of text."""
    window = open_window(str(SAMPLE), "--no-worker", "--text-scale", str(scale), width=width,
                         height=height)
    window.wait("the timeline", lambda m: any(c["id"] == "performance.timeline"
                                              for c in m["controls"]))
    window.settle()
    value = window.control("performance.timeline")["value"]
    lanes = next(part for part in value.split(";") if part.startswith("lanes=")).count(",") + 1
    labels = sorted(c["rect"][1] for c in window.map()["controls"]
                    if c["id"].startswith("performance.lane.") and c["kind"] == "button")
    assert len(labels) == lanes
    assert min(b - a for a, b in zip(labels, labels[1:])) >= 14 * scale
    # What does not fit is reached by scrolling, not squeezed.
    assert window.control("performance.cards.splitter.1") is not None


def close_notices(window):
    window.settle()
    while window.control("notice.0.close"):
        window.click("notice.0.close")
        window.settle()


def save_picture(window, card):
    before = window.state()["screenshot_path"]
    window.click(f"{card}.menu")
    window.wait("the menu", lambda m: any(c["id"] == f"{card}.menu.png" for c in m["controls"]))
    window.settle()
    window.click(f"{card}.menu.png")
    path = window.wait("a picture", lambda m: m["state"]["screenshot_path"] != before)
    close_notices(window)
    return picture.read_png((window.folder / path["state"]["screenshot_path"]).read_bytes())


def test_a_picture_has_twice_the_size_and_leaves_the_window_as_it_was(page):
    page.click("performance.kernels.column.2")  # sorted by the user: pictures show that order
    page.settle()
    order = page.control("performance.kernels")["rect"]
    seen = picture.read_png(page.picture().read_bytes())
    first = save_picture(page, "performance.kernels_card")
    x0, y0, x1, y1 = order
    assert first.shape[1] == 2 * (x1 - x0 + 24)
    assert first.shape[0] > 2 * (y1 - y0)
    # Sharp, not enlarged: two pixels of a row are not equal throughout.
    even, odd = first[:, 0:first.shape[1] // 2 * 2:2], first[:, 1::2]
    assert (even[:, :odd.shape[1]] != odd).any()
    # The menu button is at the right end of the title row; in the picture nothing is there.
    corner = first[16:60, -70:-30].astype(int)
    assert (abs(corner - corner[0, 0]).max(axis=2) < 8).all()
    # The caption below the card is text: other colours than its ground.
    caption = first[-40:].astype(int)
    assert (abs(caption - caption[-1, -1]).max(axis=2) > 60).sum() > 200
    again = picture.read_png(page.picture().read_bytes())
    assert page.control("performance.kernels")["rect"] == order
    # The message about the file is elsewhere in the window.
    changed = abs(again.astype(int) - seen.astype(int)).max(axis=2)[int(y0):int(y1), int(x0):int(x1)] > 8
    assert changed.sum() < 50
    assert (save_picture(page, "performance.kernels_card") == first).all()


def test_no_tooltip_is_in_a_picture(page):
    page.xdotool("mousemove", *page.centre("performance.roofline_card.title"))
    page.settle()
    page.key("F12")
    path = page.wait("a picture", lambda m: m["state"]["screenshot_path"])["state"]
    over = picture.read_png((page.folder / path["screenshot_path"]).read_bytes())
    close_notices(page)
    away = picture.read_png(page.picture().read_bytes())
    x0, y0, x1, y1 = (round(edge) for edge in page.control("performance.roofline_card.title")["rect"])
    around = (slice(y0 - 100, y1 + 100), slice(x0 - 100, x1))
    assert (abs(over[around].astype(int) - away[around].astype(int)).max(axis=2) > 8).sum() < 50


def test_escape_restores_only_the_board_on_screen(open_window):
    window = open_window("--no-worker")
    window.key("ctrl+3")
    window.click("graphs.view.3")
    window.click("doctor.subject.1")
    window.wait("the case", lambda m: "doctor.case_card" in shown_cards(m))
    window.settle()
    double_click(window, "doctor.case_card.title")
    assert shown(window) == {"doctor.case_card"}
    window.click("doctor.subject.0")
    window.wait("the other board", lambda m: len(shown_cards(m)) > 1)
    window.settle()
    window.key("Escape")
    window.settle()
    window.click("doctor.subject.1")
    window.wait("the case, as it was left", lambda m: shown_cards(m) == {"doctor.case_card"})


def test_the_kernels_card_shows_what_the_step_consists_of(page):
    cards = shown(page)
    page.click("performance.work.1")
    page.wait("the operations", lambda m: "performance.operations_card" in shown(page))
    assert shown(page) == cards - {"performance.kernels_card"} | {"performance.operations_card"}
    rows = [c["label"] for c in page.map()["controls"] if c["id"].startswith("performance.operations.row.")]
    assert "H = X Wup^T" in " ".join(rows), rows
    assert rows[0].startswith("fill arrays"), "in the order of their launches"
    page.click("performance.work.0")
    page.wait("the kernels", lambda m: shown(page) == cards)
