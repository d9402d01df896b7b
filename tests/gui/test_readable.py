"""What a newcomer reads at 1280 pixels: names, legends, axes and reasons are whole, and true."""
import pathlib
import shutil
import sqlite3

import pytest

from picture import read_png

SESSIONS = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions"
LAYER = SESSIONS / "h200_layer.session"


def fields(control):
    return dict(part.split("=", 1) for part in control["value"].split(";"))


def recording(open_window, width=1280, height=800):
    window = open_window(str(LAYER), "--no-worker", width=width, height=height)
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    window.settle()
    return window


def show(window, page, *clicks):
    window.key(f"ctrl+{page}")
    window.settle()
    for one in clicks:
        window.click(one)
        window.settle()


def choose_run(window, index):
    window.click("top.run")
    window.settle()
    window.click(f"top.run.{index}")
    window.settle()


def test_boxes_of_the_topology_name_stage_and_tensor(open_window):
    window = recording(open_window)
    show(window, 3, "graphs.view.1")
    shown = {c["value"]: c["label"] for c in window.map()["controls"] if c["id"].startswith("topology.node.")}
    for label in ("quantize Wdown, rowwise and columnwise", "fprop up", "wgrad down", "memset for fprop up"):
        stage_and_tensor = label.split(",")[0]
        assert stage_and_tensor in shown[label], shown[label]
    assert len(set(shown.values())) == len(shown), "each box is named apart"


@pytest.mark.parametrize("width, height", [(1280, 800), (1600, 900), (1600, 1000)])
def test_every_point_of_the_roofline_has_a_name(open_window, width, height):
    window = recording(open_window, width, height)
    show(window, 1)
    choose_run(window, 5)
    found = {c["id"] for c in window.map()["controls"] if c["id"].startswith("performance.roofline.")}
    for stage in ("quantize", "fprop", "dgrad", "wgrad"):
        assert f"performance.roofline.{stage}.name" in found, found


def hover(window, name):
    """-> what is said at the pointer"""
    x, y = window.centre(name)
    window.xdotool("mousemove", x + 1, y, "mousemove", x, y)
    window.seen("the pointer")
    return window.wait("a tooltip", lambda m: m["state"]["tooltip"])["state"]["tooltip"]


@pytest.mark.parametrize("width, height", [(1280, 900), (1440, 900)])
def test_notes_of_cards_are_whole_or_say_what_is_missing(open_window, width, height):
    window = recording(open_window, width, height)
    for page in (1, 2, 3):
        show(window, page)
        notes = {c["id"]: c for c in window.map()["controls"] if c["id"].endswith("card.note")}
        assert len(notes) >= 2, notes
        for name, note in notes.items():
            as_read = note["label"].replace("\n", " ").replace(" \u00b7 ", " ")
            whole = as_read == note["value"].replace(" \u00b7 ", " ")
            assert whole or "..." in note["label"], note
            if not whole and note["visible"]:  # others are there after scrolling
                assert hover(window, name).startswith(note["value"] + "\n"), note
        if page == 1:
            for one in ("timeline", "kernels", "experts", "roofline"):
                assert "..." not in notes[f"performance.{one}_card.note"]["label"], one
            assert notes["performance.iterations_card.note"]["label"].startswith("n 20, 7")


def test_what_is_cut_in_the_bars_is_whole_in_its_tooltip(open_window):
    window = recording(open_window)
    show(window, 1)
    settings = window.control("headline.request")["value"]
    assert hover(window, "headline.request") == f"recorded: {settings}"
    run = window.control("top.run")["value"]
    assert settings.startswith(run.removeprefix("1. ")[:30])
    assert hover(window, "top.run").startswith(run + "\nA run of ")


def test_legends_are_whole(open_window):
    window = recording(open_window)
    show(window, 2, "numerics.part.1")
    for legend, first in (("values", "before; "), ("scales", ""), ("codes", "")):
        control = window.control(f"recipes.{legend}_legend")
        assert control["value"] == first + "FP8 block, FP32 scales; MXFP8; NVFP4"
        left, _, right, _ = control["rect"]
        assert 328 <= left < right <= 1280
    show(window, 2, "numerics.part.2")
    assert window.control("layer.memory_legend")["value"] == "X; H; A; Y; second copies of weights"


@pytest.mark.parametrize("width", [1280, 1440])
def test_sentences_of_the_layer_keep_their_conclusion(open_window, width):
    """The memory's says at its end the opposite of its beginning: "1.28x less than BF16; ... 1.83x more"."""
    window = recording(open_window, width, 900)
    show(window, 2, "numerics.part.2")
    for name in ("layer.memory_sentence", "layer.errors_sentence"):
        sentence = window.control(name)
        assert sentence["label"].replace("\n", " ") == sentence["value"], sentence
    memory = window.control("layer.memory_sentence")
    assert memory["value"].endswith("x more than BF16."), memory
    assert "\n" in memory["label"], "it needs several lines here"
    # The bars begin below it, and keep most of the card.
    _, top, _, bottom = memory["rect"]
    legend = window.control("layer.memory_legend")["rect"]
    assert bottom <= legend[1]
    _, card_top, _, card_bottom = window.control("layer.memory")["rect"]
    assert card_bottom - legend[3] > 0.5 * (card_bottom - card_top), (card_top, legend, card_bottom)


def test_the_axis_of_scales_fits_them(open_window):
    """All amax are above 1: a range from the left end of the plot holds some of them."""
    window = recording(open_window)
    show(window, 2)
    left, top, right, bottom = window.control("numerics.amax_histogram")["rect"]
    middle = round((top + bottom) / 2)
    start = round(left + 0.35 * (right - left))
    window.xdotool("mousemove", start, middle)
    window.xdotool("mousedown", 1)
    for x in range(start, round(right) - 20, 20):
        window.xdotool("mousemove", x, middle)
        window.seen("a move")
    window.xdotool("mouseup", 1)
    window.wait("a range", lambda m: any(
        c["id"] == "numerics.selection" and c["value"] != "none" for c in m["controls"]))
    assert float(fields(window.control("numerics.selection"))["from"]) > 0.0


def test_bars_of_32_experts_are_apart(open_window):
    window = recording(open_window)
    show(window, 2)
    left, top, right, bottom = (round(side) for side in window.control("numerics.snr_per_expert")["rect"])
    # Below the lowest SNR, inside the axes.
    row = read_png(window.picture().read_bytes())[bottom - 60, left + 44:right - 10].astype(int).sum(axis=1)
    bright = row > (row.max() + row.min()) / 2
    bars = sum(1 for before, after in zip(bright, bright[1:]) if after and not before) + int(bright[0])
    assert bars >= 30, bars


def test_closing_the_welcome_leaves_no_empty_strip(open_window):
    window = open_window(first_start=True, width=1280, height=800)
    window.wait("the line", lambda m: any(c["id"] == "welcome" for c in m["controls"]))
    window.settle()
    before = window.control("splitter.rail")["rect"][3]
    window.click("welcome.close")
    window.wait("its room given back", lambda m: any(
        c["id"] == "splitter.rail" and c["rect"][3] > before + 10 for c in m["controls"]), 1.5)


def test_back_to_my_runs_ends_what_was_said_about_the_example(open_window):
    window = open_window(first_start=True, width=1280, height=800)
    window.wait("the example", lambda m: any(
        c["id"] == "status.says" and "An example is open" in c["value"] for c in m["controls"]))
    window.wait("a run of this machine", lambda m: m["state"]["runs"] > 0)
    window.click("top.live")
    window.wait("no word of it", lambda m: all(
        c["id"] != "status.says" or "An example is open" not in c["value"] for c in m["controls"]), 5)


def test_examples_have_a_name_in_the_bar(open_window):
    window = recording(open_window)
    assert window.control("top.recent")["label"] == "Examples"


def test_what_trying_algorithms_gained_names_the_product(open_window):
    window = recording(open_window)
    show(window, 1)
    *gains, trial = window.control("engine.algorithm_gains")["value"].splitlines()
    assert trial.startswith("Trial before the iterations: ")
    names = [line.split(":")[0] for line in gains]
    assert sorted(names) == sorted({"fprop up", "dgrad up", "wgrad up", "fprop down", "dgrad down", "wgrad down"})


def test_marks_without_an_axis_say_how_high_they_are(open_window):
    window = recording(open_window)
    show(window, 1)
    assert window.control("performance.experts.companions")["value"] == "rows, own scale: all 1 024"


def test_a_refused_sweep_says_why(open_window):
    window = open_window(width=1280, height=800)
    window.wait_for_result()
    show(window, 4, "compare.part.1")
    window.click("frontier.workspace")
    plan = window.wait("refusals", lambda m: any(
        c["id"] == "frontier.plan" and "refused" in c["value"] for c in m["controls"]))
    value = next(c["value"] for c in plan["controls"] if c["id"] == "frontier.plan")
    assert " refused: " in value or " of them: " in value, value


@pytest.mark.parametrize("width, height", [(1280, 800), (1440, 900)])
def test_outcomes_of_experiments_are_whole(open_window, width, height):
    window = open_window(str(SESSIONS / "workspace_bug.session"), "--no-worker", width=width, height=height)
    window.wait("the visit", lambda m: m["state"]["session_path"] != "")
    show(window, 3, "graphs.view.3")
    left, _, right, _ = window.control("doctor.experiments.column.1")["rect"]
    assert right - left > 180, "'replays are wrong from replay 2 on'"


def test_the_owner_of_memory_is_whole_in_its_tooltip(open_window):
    window = recording(open_window, 1280, 800)
    show(window, 3, "graphs.view.2")
    # The whole owner of a row of the memory map.
    left, top, _, _ = window.control("graphs.memory")["rect"]
    window.xdotool("mousemove", round(left) + 40, round(top) + 45)
    window.seen("the pointer")
    said = window.wait("a tooltip", lambda m: m["state"]["tooltip"])["state"]["tooltip"]
    assert "\nrole: " in said and "..." not in said.split("\n")[0], said


def test_a_disproved_finding_prescribes_nothing(open_window, tmp_path):
    path = shutil.copy(SESSIONS / "workspace_bug.session", tmp_path / "disproved.session")
    with sqlite3.connect(path) as file:
        file.execute("UPDATE findings SET confidence = 'disproved'")
    file.close()
    window = open_window(str(path), "--no-worker", width=1440, height=900)
    window.wait("the visit", lambda m: m["state"]["session_path"] != "")
    show(window, 3, "graphs.view.3")
    if window.control("doctor.fix") is None:
        window.click("doctor.finding.0")
        window.settle()
    assert window.control("doctor.finding.0")["value"] == "disproved shared-workspace"
    assert window.control("doctor.fix")["value"].startswith("Disproved: replays were right")
    assert window.control("doctor.code") is None and window.control("doctor.library") is None


@pytest.mark.parametrize("width", [1024, 1280, 1330, 1440, 1920])
def test_figures_leave_room_for_the_count_of_the_others(open_window, width):
    window = recording(open_window, width, 800)
    for page in (1, 2):
        show(window, page)
        figures = [c for c in window.map()["controls"] if c["kind"] == "figure"]
        others = window.control("figures.others")
        assert figures and (others or width > 1280)
        for one in figures if others else []:
            (left, top, right, bottom), (x, y, _, _) = one["rect"], others["rect"]
            assert right < x or left > x or bottom < y or top > y, (one["label"], others["label"])
