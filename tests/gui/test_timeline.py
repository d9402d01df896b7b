"""The timeline of a recording: lanes, search, steps, the strip, and zoom down to nanoseconds."""
import pathlib
import time

import pytest

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200.session"


def fields(window):
    value = window.control("performance.timeline")["value"]
    return {name: float(number) for name, number in (part.split("=") for part in value.split(";"))}


def found(window):
    """Text and count of the search field."""
    return window.control("performance.find")["value"].split(";")


@pytest.fixture
def timeline(open_window):
    """The recording of an H200, the pointer over a replay in the middle of its timeline."""
    window = open_window(str(SAMPLE), "--no-worker")
    window.wait("timeline", lambda m: any(c["id"] == "performance.timeline" for c in m["controls"]))
    window.settle()
    x0, y0, x1, y1 = window.control("performance.timeline")["rect"]
    window.at = round(0.5 * (x0 + x1)), round(y0 + 0.25 * (y1 - y0))
    window.xdotool("mousemove", *window.at)
    window.settle()
    return window


def press(window, *keys):
    for key in keys:
        window.key(key)
        window.settle()


def press_in_field(window, key):
    # Held for a few frames, as a finger does: an older ImGui does not see a shorter press.
    window.xdotool("keydown", key)
    time.sleep(0.1)
    window.xdotool("keyup", key)
    window.settle()


def test_lanes_follow_the_switch(timeline):
    streams = fields(timeline)["records"]
    timeline.click("performance.lanes.1")
    timeline.wait("replays among the blocks", lambda m: fields(timeline)["records"] > streams)
    experts = timeline.control("performance.lanes.2")
    assert not experts["enabled"]
    assert "one launch" in experts["reason"]
    timeline.click("performance.lanes.0")
    timeline.wait("streams again", lambda m: fields(timeline)["records"] == streams)


def test_search_counts_hits_and_goes_from_one_to_the_next(timeline):
    press(timeline, "slash")
    timeline.xdotool("type", "--delay", 30, "quantize")
    timeline.wait("count of hits", lambda m: found(timeline)[0] == "quantize"
                  and found(timeline)[1].replace(" ", "").isdigit())
    hits = int(found(timeline)[1].replace(" ", ""))
    assert hits > 100
    press_in_field(timeline, "Return")
    first = fields(timeline)["record"]
    at = int(found(timeline)[1].split("/")[0].replace(" ", ""))
    press_in_field(timeline, "Return")
    assert fields(timeline)["record"] > first
    assert int(found(timeline)[1].split("/")[0].replace(" ", "")) == at + 1
    timeline.xdotool("keydown", "shift")
    press_in_field(timeline, "Return")
    timeline.xdotool("keyup", "shift")
    assert fields(timeline)["record"] == first
    timeline.xdotool("keydown", "ctrl")
    press_in_field(timeline, "a")
    timeline.xdotool("keyup", "ctrl")
    timeline.settle()
    timeline.xdotool("type", "--delay", 30, "no such kernel")
    timeline.wait("no hit", lambda m: found(timeline) == ["no such kernel", "no record"])


def test_steps_in_the_row_and_along_the_graph(timeline):
    # Near enough that the click meets one record.
    press(timeline, "w", "w", "w", "w")
    timeline.xdotool("click", 1)
    timeline.wait("a chosen record", lambda m: "record" in fields(timeline))
    here = fields(timeline)
    press(timeline, "period")
    assert fields(timeline)["record_start_ns"] > here["record_start_ns"]
    press(timeline, "comma")
    assert fields(timeline)["record"] == here["record"]
    # Steps of one replay depend on each other in a chain: forth and back, or back and forth.
    press(timeline, "bracketright")
    there = fields(timeline)
    if there["record"] == here["record"]:  # the last of its replay
        press(timeline, "bracketleft")
        there = fields(timeline)
        assert there["record_start_ns"] < here["record_start_ns"]
    else:
        assert there["record_start_ns"] >= here["record_start_ns"]
    assert there["record_node"] != here["record_node"]


def test_a_chosen_record_outside_is_brought_into_view(timeline):
    press(timeline, "w", "w", "w", "w", "w", "w")
    timeline.xdotool("click", 1)
    timeline.wait("a chosen record", lambda m: "record" in fields(timeline))
    for _ in range(12):
        press(timeline, "period")
        now = fields(timeline)
        assert now["from_ns"] <= now["record_start_ns"] <= now["to_ns"]


def test_the_strip_moves_the_view(timeline):
    press(timeline, "w", "w", "w", "w")
    before = fields(timeline)
    x0, y0, x1, y1 = timeline.control("performance.minimap")["rect"]
    timeline.xdotool("mousemove", round(x0 + 0.97 * (x1 - x0)), round(0.5 * (y0 + y1)), "mousedown", 1)
    timeline.settle()
    timeline.xdotool("mouseup", 1)
    timeline.settle()
    after = fields(timeline)
    assert after["from_ns"] > before["from_ns"]
    span = before["to_ns"] - before["from_ns"]
    assert abs((after["to_ns"] - after["from_ns"]) - span) <= 0.01 * span


def test_zoom_reaches_nanoseconds_and_keeps_the_place(timeline):
    low, high = fields(timeline)["from_ns"], fields(timeline)["to_ns"]
    for _ in range(60):
        press(timeline, "w")
        now = fields(timeline)
        if now["to_ns"] - now["from_ns"] <= 16:
            break
    assert now["to_ns"] - now["from_ns"] <= 16
    assert low < now["from_ns"] < high
