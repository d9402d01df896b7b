"""The mouse and key map of the plots, on the timeline of a live run."""
import pytest


def fields(control):
    parts = (part.split("=") for part in control["value"].split(";"))
    return {name: float(number) for name, number in parts if name != "lanes"}


@pytest.fixture
def timeline(open_window):
    """The window with a finished run, the pointer over the middle of its timeline."""
    window = open_window()
    window.wait_for_result()
    # No new run may move the plot meanwhile.
    window.click("run.live")
    x, y = window.centre("performance.timeline")
    window.xdotool("mousemove", x, y)
    window.settle()
    return window


def reach(window):
    now = fields(window.control("performance.timeline"))
    return now["from_ns"], now["to_ns"]


def span(window):
    low, high = reach(window)
    return high - low


def press(window, key):
    window.key(key)
    window.settle()


def test_keys_zoom_pan_and_fit(timeline):
    press(timeline, "Home")
    low, high = reach(timeline)
    press(timeline, "w")
    zoomed_low, zoomed_high = reach(timeline)
    assert low < zoomed_low < zoomed_high < high
    press(timeline, "d")
    assert reach(timeline)[0] > zoomed_low and reach(timeline)[1] > zoomed_high
    press(timeline, "a")
    press(timeline, "Left")
    assert reach(timeline)[0] < zoomed_low
    press(timeline, "s")
    assert span(timeline) > zoomed_high - zoomed_low
    press(timeline, "Home")
    assert reach(timeline) == (low, high)


def test_wheel_zooms_at_the_cursor(timeline):
    rect = timeline.control("performance.timeline")["rect"]
    x = round(rect[0] + 0.75 * (rect[2] - rect[0]))
    y = round((rect[1] + rect[3]) / 2)
    low, high = reach(timeline)
    timeline.xdotool("mousemove", x, y, "click", 4)
    timeline.settle()
    new_low, new_high = reach(timeline)
    # The value under the pointer stays there: more is cut on the left than on the right.
    assert new_low - low > 1.5 * (high - new_high) > 0


def test_dragged_range_drives_the_sums(timeline):
    # All steps, and several of them dragged over: on a busy machine a small range can fall between two records.
    press(timeline, "Home")
    whole = fields(timeline.control("performance.timeline"))
    timeline.drag("performance.timeline", 350)
    timeline.settle()
    picked = fields(timeline.control("performance.timeline"))
    assert 0 < picked["selected_records"] < whole["records"]
    press(timeline, "f")
    low, high = reach(timeline)
    assert abs(low - picked["selected_from_ns"]) <= 1 and abs(high - picked["selected_to_ns"]) <= 1
    press(timeline, "Escape")
    assert "selected_records" not in fields(timeline.control("performance.timeline"))
