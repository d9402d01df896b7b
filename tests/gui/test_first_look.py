"""The shipped recording as a user without a GPU sees it: whose figures are on screen, what to do
if something is missing, and labels that stay whole on a small screen with large text."""
import pathlib

import pytest

from picture import read_png
from window_driver import Window

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
LAYER = SAMPLE.with_name("h200_layer.session")


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


def test_what_a_run_will_change_here_is_said_before_it(open_window):
    """A recorded request for a GPU, taken over where there is none: the older run's settings say nothing of it."""
    window = open_window(str(SAMPLE))
    window.wait("the recording", lambda m: m["state"]["from_file"])
    window.wait_for_link("responsive")
    window.settle()
    window.click("run.use_recorded")
    current = window.wait("the button", lambda m: any(c["id"] == "run.use_cpu" for c in m["controls"]))
    coming = next(c for c in current["controls"] if c["id"] == "deviations")["value"]
    for words in ("Backend: cuBLASLt grouped → CPU reference", "Launch: Graph → Eager", "Stamps: on → off"):
        assert words in coming, coming
    assert not window.control("recipe.scaling.0")["enabled"]
    # Its question also says what shrinking would make of it.
    assert "Shrunk to 8 experts, " in window.control("long_run.question")["value"]
    window.settle()
    window.click("run.use_cpu")
    window.wait("the recipes", lambda m: any(c["id"] == "recipe.scaling.0" and c["enabled"] for c in m["controls"]))
    window.settle()
    assert window.control("run.use_cpu") is None
    assert "Launch: Graph → Eager" in window.control("deviations")["value"]


def test_the_rail_is_not_taken_for_the_settings_of_a_page_about_something_else(open_window):
    window = recording(open_window)
    assert window.control("rail.whose")["value"] == "The recorded request"
    window.key("ctrl+2")
    window.settle()
    for button in ("numerics.part.1", "recipes.over.1"):
        window.click(button)
        window.wait("whose settings", lambda m: any(
            c["id"] == "rail.whose" and c["value"].startswith("Not what this page shows (E8 R") for c in m["controls"]))


def test_an_eager_run_has_no_lane_named_after_a_graph(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("performance.lanes.1")
    window.wait("lanes of iterations", lambda m: any(
        c["id"] == "performance.timeline" and c["value"].endswith("lanes=iterations,work")
        for c in m["controls"]))


def test_every_shipped_recording_is_listed_next_to_open_with_what_it_shows(open_window):
    window = open_window("--no-worker")
    files = sorted(file.name for file in SAMPLE.parent.glob("*.session"))
    assert len(files) >= 3
    for file in files:
        window.click("top.recent")
        current = window.wait("the menu", lambda m: any(c["id"] == f"shipped.{file}" for c in m["controls"]))
        listed = [c for c in current["controls"] if c["id"].startswith("shipped.")]
        assert sorted(c["id"].removeprefix("shipped.") for c in listed) == files
        assert all(c["label"].startswith("Recorded on an H200: ") and len(c["label"]) > 40 for c in listed)
        window.settle()
        window.click(f"shipped.{file}")
        window.wait(file, lambda m: m["state"]["from_file"] and m["state"]["session_path"].endswith("/" + file))
        window.settle()
        # The page that opens shows what the recording has.
        assert window.state()["page"] == ("numerics" if file == SAMPLE.name else "graphs")


def test_a_first_start_shows_a_layer_of_a_device_and_the_next_one_does_not(open_window, program):
    window = open_window(first_start=True)
    window.wait("the example", lambda m: any(c["id"] == "layer.tensor.dw-up" for c in m["controls"]))
    state = window.state()
    assert state["from_file"] and state["page"] == "numerics"
    assert "DeepSeek-V3 layer" in window.control("headline.request")["value"]
    assert window.control("top.run")["value"].startswith("1. DeepSeek-V3 layer, 32 experts · FP8 block")
    assert "An example is open" in window.control("status.says")["value"]
    # Meanwhile the worker measures; its run is one click away.
    window.wait("a run of this machine", lambda m: m["state"]["runs"] > 0)
    window.click("top.live")
    window.wait_for_result()
    assert not window.state()["from_file"] and window.state()["live"]
    # Not the picture of a layer, which the live step is not.
    window.wait("figures of the live run", lambda m: any(c["id"] == "numerics.scale_histogram" for c in m["controls"]))
    # Later it is in the menu.
    window.click("top.recent")
    window.wait("the menu", lambda m: any(c["id"] == "shipped.h200_layer.session" for c in m["controls"]))
    window.settle()
    window.click("shipped.h200_layer.session")
    window.wait("the example again", lambda m: m["state"]["from_file"])
    window.close_politely()
    with Window(program, window.folder, ["--worker-backend", "cpu"], first_start=True) as again:
        again.wait_for_result()
        assert not again.state()["from_file"]


def test_a_first_start_says_what_this_is_and_offers_a_tour(open_window):
    window = open_window(first_start=True)
    window.wait("the line", lambda m: any(c["id"] == "welcome" for c in m["controls"]))
    assert "Mixture-of-Experts" in window.control("welcome")["value"]
    window.settle()
    window.click("welcome.tour")
    window.wait("the tour", lambda m: any(
        c["id"] == "tour.state" and "step=1;of=6" in c["value"] for c in m["controls"]))
    window.settle()
    window.click("tour.stop")
    window.wait("no tour", lambda m: all(c["id"] != "tour.state" for c in m["controls"]))
    window.settle()
    assert window.control("welcome") is None, "it was read"


def test_names_of_layers_are_whole_beside_their_replays(open_window):
    """They lie right-aligned in a margin: a name that is too long for it is cut at its left edge."""
    window = open_window(str(LAYER), "--no-worker", width=1280, height=800)
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    window.key("ctrl+3")
    window.wait("the comparison", lambda m: any(c["id"] == "graphs.checks" for c in m["controls"]))
    window.settle()
    left, top, _, bottom = (round(side) for side in window.control("graphs.checks")["rect"])
    edge = read_png(window.picture().read_bytes())[top:bottom - 20, left:left + 2].astype(int)
    assert abs(edge - edge[0, 0]).max() < 12, "something is drawn up to the edge of the card"


def test_elements_that_nobody_can_make_are_explained(open_window):
    window = recording(open_window)
    window.key("ctrl+2")
    window.settle()
    window.click("numerics.lower.1")
    window.wait("the reason", lambda m: any(c["id"] == "numerics.no_elements" for c in m["controls"]))
    said = window.control("numerics.no_elements")["value"]
    assert said == ("X of run 1 of the recording can be made again by a worker, because its values follow from seed 1; "
                    "this window was opened without one.")
    # The recording compares recipes, but on another X.
    assert window.control("numerics.recipe_elements") is None


def inspected(window, element):
    window.wait("its elements", lambda m: any(c["id"] == "numerics.arithmetic" and c["value"].startswith(element)
                                              for c in m["controls"]), 60)


def test_a_click_in_the_example_leads_to_the_element(open_window):
    """X of an H200's layer from tokens, and a W of 2 GB, are made again here: the recorded magnitudes."""
    window = open_window(str(SAMPLE))
    window.wait("timeline", lambda m: any(c["id"] == "performance.timeline" for c in m["controls"]))
    window.key("ctrl+2")
    window.settle()
    for operand, element, value in (("X", "X[2193, 7034] = ", 236), ("Wup", "Wup[20036, 7015] = ", 0.07080078125)):
        window.click("numerics.part.3")
        window.wait("the worst", lambda m: any(c["id"] == "channels.worst.row.0" for c in m["controls"]))
        operands = [c for c in window.map()["controls"]
                    if c["id"].startswith("numerics.operand.") and c["label"] == operand]
        window.click(operands[0]["id"])
        window.settle()
        window.click("channels.worst.row.0")
        inspected(window, element)
        words = window.control("numerics.arithmetic")["value"]
        assert abs(float(words.splitlines()[0].split(" = ")[1])) == pytest.approx(value, rel=1e-6), words
        assert window.state()["from_file"], "the recording stays on screen"
    # From the map too.
    window.settle()
    before = window.control("numerics.arithmetic")["value"]
    window.click("numerics.scale_map")
    window.wait("another element", lambda m: any(c["id"] == "numerics.arithmetic" and c["value"].startswith("Wup[")
                                                 and c["value"] != before for c in m["controls"]), 60)


def test_the_doctor_shows_the_visit_to_the_run_on_screen(open_window):
    window = recording(open_window)
    window.key("ctrl+3")
    window.settle()
    window.click("graphs.view.3")
    window.wait("a visit", lambda m: any(c["id"] == "graphs.source" and c["value"].startswith("visit 1: expert layer")
                                         for c in m["controls"]))
    assert "6 replays equal the eager launches" in window.control("doctor.conclusion")["value"]


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


def test_a_run_that_takes_long_asks_first(open_window):
    window = open_window()
    first = window.wait_for_result()["state"]["shown_run_id"]
    assert window.control("long_run.question") is None
    before = window.state()["requested_id"]
    window.type_number("engine.iterations", "90000")
    asked = window.wait("the question", lambda m: any(c["id"] == "long_run.question" for c in m["controls"]))
    assert "This run takes about" in window.control("long_run.question")["value"]
    assert "GFLOP/s" in window.control("long_run.question")["value"]
    assert asked["state"]["requested_id"] == before and asked["state"]["shown_run_id"] == first
    window.settle()
    window.click("long_run.drop")
    window.wait("no question", lambda m: all(c["id"] != "long_run.question" for c in m["controls"]))
    assert window.state()["requested_id"] == before
    window.press("F5")
    window.wait("the question", lambda m: any(c["id"] == "long_run.shrink" for c in m["controls"]))
    window.settle()
    window.click("long_run.shrink")
    # About 10 s on a machine that does nothing else.
    window.wait("a shorter run", lambda m: m["state"]["shown_run_id"] > first and not m["state"]["stale"], 120)
    assert 1 <= int(window.control("engine.iterations")["value"]) < 90000
    # It is one step of the history.
    window.key("ctrl+z")
    window.wait("the long request", lambda m: any(
        c["id"] == "engine.iterations" and c["value"] == "90000" for c in m["controls"]))
    window.wait("the question", lambda m: any(c["id"] == "long_run.run" for c in m["controls"]))
    window.settle()
    window.click("long_run.run")
    window.wait("the run", lambda m: m["state"]["requested_id"] > before + 1 and all(
        c["id"] != "long_run.question" for c in m["controls"]))


def test_a_devices_request_that_is_taken_over_asks_before_it_runs_on_this_cpu(open_window):
    window = open_window(first_start=True)
    window.wait("a run of this machine beside the example", lambda m: m["state"]["from_file"] and m["state"]["shown_run_id"] >= 0
                and m["state"]["runs"] > 7)
    before = window.state()["requested_id"]
    window.settle()
    window.click("run.use_recorded")
    window.wait("the question", lambda m: any(c["id"] == "long_run.question" for c in m["controls"]))
    assert window.state()["requested_id"] == before and not window.state()["from_file"]
    assert window.control("long_run.run")["label"] == "Run anyway"
