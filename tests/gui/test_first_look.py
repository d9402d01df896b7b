"""The shipped recording as a user without a GPU sees it: whose figures are on screen, what to do
if something is missing, and labels that stay whole on a small screen with large text."""
import pathlib

import pytest

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200.session"


def recording(open_window, *arguments, **sizes):
    window = open_window(str(SAMPLE), "--no-worker", *arguments, **sizes)
    window.wait("timeline", lambda m: any(c["id"] == "performance.timeline" for c in m["controls"]))
    window.settle()
    return window


def test_the_rail_says_whose_settings_took_effect(open_window):
    window = recording(open_window)
    # The rail shows a different request than the recorded one.
    assert window.control("deviations")["label"] == "The recorded run: effective = requested"


def test_for_a_live_run_the_rails_settings_took_effect(open_window):
    window = open_window()
    window.wait_for_result()
    window.settle()
    assert window.control("deviations")["label"] == "Effective = requested"


def test_an_eager_run_has_no_lane_named_after_a_graph(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("performance.lanes.1")
    window.wait("lanes of iterations", lambda m: any(
        c["id"] == "performance.timeline" and c["value"].endswith("lanes=iterations,work")
        for c in m["controls"]))


def test_the_shipped_recording_is_listed_next_to_open(open_window):
    window = open_window("--no-worker")
    window.click("top.recent")
    window.wait("the menu", lambda m: any(c["id"] == "recent.sample" for c in m["controls"]))
    window.settle()
    window.click("recent.sample")
    window.wait("its timeline", lambda m: any(c["id"] == "performance.timeline"
                                              for c in m["controls"]))
    assert window.map()["state"]["from_file"]


def test_missing_elements_lead_to_existing_ones(open_window):
    window = recording(open_window)
    window.key("ctrl+2")
    window.settle()
    window.click("numerics.lower.1")
    window.settle()
    window.click("numerics.recipe_elements")
    window.wait("the recipes", lambda m: any(c["id"] == "recipes.table" for c in m["controls"]))


@pytest.mark.parametrize("choice", [0, 1])
def test_lane_labels_stay_next_to_the_lanes(open_window, choice):
    window = recording(open_window, "--text-scale", "2", width=1280, height=800)
    window.click(f"performance.lanes.{choice}")
    window.settle()
    labels = [c for c in window.map()["controls"] if c["id"].startswith("performance.lane.")]
    labels = [c["rect"] for c in labels if c["kind"] == "button"]
    top, bottom = (window.control("performance.timeline")["rect"][i] for i in (1, 3))
    axis = 2 * (11 + 6)  # the time axis below the lanes, at twice the size
    assert len(labels) >= 3
    for one in labels:
        assert one[1] >= top and one[3] <= bottom - axis
    for above, below in zip(labels, labels[1:]):
        assert above[3] <= below[1]



def test_names_in_a_table_keep_room_next_to_their_figures(open_window):
    window = recording(open_window, "--text-scale", "2", width=1280, height=800)
    window.key("ctrl+4")
    window.settle()
    left, _, right, _ = window.control("compare.times.column.0")["rect"]
    assert right - left >= 2 * 80
