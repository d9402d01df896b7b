"""The timeline of a recording: lanes, search, steps, the strip, and zoom down to nanoseconds."""
import contextlib
import pathlib
import shutil
import sqlite3

import pytest

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
# Without pauses between replays, and from before records had registers and calls.
FORMER = SAMPLE.parents[2] / "tests" / "unit" / "session" / "former" / "h200_linear.session"


def fields(window):
    value = window.control("performance.timeline")["value"]
    parts = (part.split("=") for part in value.split(";"))
    return {name: float(number) for name, number in parts if name != "lanes"}


def found(window):
    """Text and count of the search field."""
    return window.control("performance.find")["value"].split(";")


def place(window):
    """Which of the hits is chosen, counted from 1; 0 = none."""
    count, slash, _ = found(window)[1].partition("/")
    return int(count.replace(" ", "")) if slash else 0


def middle_of_a_product(recording, stage, low, high):
    """Of the run on screen, near the middle: between its replays the device rests."""
    with contextlib.closing(sqlite3.connect(f"file:{recording}?mode=ro", uri=True)) as file:
        (time,), = file.execute(
            "SELECT (start_ns + end_ns) / 2 FROM records JOIN stages USING (stage) WHERE run_id = 1 AND "
            "name = ? AND kind = 1 AND start_ns > ? AND end_ns < ? ORDER BY abs(start_ns - ?) LIMIT 1",
            (stage, low, high, (low + high) / 2))
    return time


def timeline_of(sample, stage, open_window, tmp_path):
    """The recording of an H200, all its timed iterations in view, with the pointer over a product in the middle.
    `opened`: the view before."""
    recording = tmp_path / sample.name
    shutil.copy(sample, recording)  # Exported files are written next to it.
    window = open_window(str(recording), "--no-worker")
    window.wait("timeline", lambda m: any(c["id"] == "performance.timeline" for c in m["controls"]))
    window.settle()
    window.opened = fields(window)
    window.xdotool("mousemove", *window.centre("performance.timeline"))
    window.settle()
    window.key("Home")
    window.settle()
    x0, y0, x1, y1 = window.control("performance.timeline")["rect"]
    low, high = fields(window)["from_ns"], fields(window)["to_ns"]
    share = (middle_of_a_product(recording, stage, low, high) - low) / (high - low)
    window.at = round(x0 + share * (x1 - x0)), round(y0 + 0.1 * (y1 - y0))  # the first lane
    window.xdotool("mousemove", *window.at)
    window.settle()
    return window


@pytest.fixture
def timeline(open_window, tmp_path):
    return timeline_of(SAMPLE, "wgrad", open_window, tmp_path)


@pytest.fixture
def former(open_window, tmp_path):
    return timeline_of(FORMER, "fprop", open_window, tmp_path)


def press(window, *keys):
    for key in keys:
        window.key(key)
        window.settle()


def press_in_field(window, key, what, seen):
    """Held until the window has seen it: older ImGui versions miss a shorter press."""
    window.xdotool("keydown", key)
    try:
        window.wait(what, lambda m: seen())
    finally:
        window.xdotool("keyup", key)
    window.settle()


def step(window, key, moved):
    """Presses the key and waits until `moved` is true for the fields before and now."""
    before = fields(window)
    window.key(key)
    window.wait(f"a step by {key}", lambda m: moved(before, fields(window)))
    return fields(window)


def test_lanes_and_curves_fill_a_maximized_card(timeline):
    centre = timeline.centre("performance.timeline_card.title")
    timeline.xdotool("mousemove", *centre, "click", "--repeat", 2, "--delay", 80, 1)
    timeline.wait("the card alone", lambda m: all(c["id"] != "performance.kernels" for c in m["controls"]))
    timeline.settle()
    lanes = [c["rect"] for c in timeline.map()["controls"]
             if c["id"].startswith("performance.lane.") and c["kind"] == "button"]
    _, top, _, bottom = timeline.control("performance.timeline")["rect"]
    assert max(rect[3] for rect in lanes) - top > 0.75 * (bottom - top)
    _, power_top, _, power_bottom = timeline.control("performance.power")["rect"]
    assert power_bottom - power_top > 90


def test_the_power_label_names_the_timed_part_and_the_whole_run(timeline):
    value = timeline.control("performance.power")["value"]
    assert value.endswith("label=power (updates about every 100 ms), highest 412 W in the timed iterations, "
                          "754 W in the whole run")


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
    timeline.wait("a field that takes text",
                  lambda m: timeline.control("performance.find")["kind"] == "input")
    timeline.xdotool("type", "--delay", 30, "quantize")
    timeline.wait("count of hits", lambda m: found(timeline)[0] == "quantize"
                  and found(timeline)[1].replace(" ", "").isdigit())
    hits = int(found(timeline)[1].replace(" ", ""))
    assert hits > 100
    press_in_field(timeline, "Return", "the first hit", lambda: place(timeline) > 0)
    first = fields(timeline)["record"]
    at = place(timeline)
    press_in_field(timeline, "Return", "the next hit", lambda: place(timeline) == at + 1)
    assert fields(timeline)["record"] > first
    timeline.xdotool("keydown", "shift")
    press_in_field(timeline, "Return", "the hit before", lambda: place(timeline) == at)
    timeline.xdotool("keyup", "shift")
    assert fields(timeline)["record"] == first
    # The whole field is selected after Enter: typing starts a new search.
    timeline.xdotool("type", "--delay", 30, "no such kernel")
    timeline.wait("no hit", lambda m: found(timeline) == ["no such kernel", "no record"])
    press_in_field(timeline, "ctrl+a", "all of it selected", lambda: True)
    timeline.xdotool("type", "--delay", 30, "e5")
    timeline.wait("why there is no hit", lambda m: found(timeline) == ["e5", "no record names an expert"])
    press_in_field(timeline, "Escape", "an empty search", lambda: found(timeline) == ["", ""])


def test_it_opens_on_one_timed_step_and_enter_makes_the_hit_legible(timeline):
    span = timeline.opened["to_ns"] - timeline.opened["from_ns"]
    assert 10e6 < span < 13e6, "one step of 11 ms, without the checks between steps"
    timed = fields(timeline)
    assert timed["to_ns"] - timed["from_ns"] > 5e8, "Home shows all of them"
    press(timeline, "Home")
    assert fields(timeline)["to_ns"] - fields(timeline)["from_ns"] > 1e9, "and again, all records"
    press(timeline, "Home")
    assert fields(timeline)["to_ns"] - fields(timeline)["from_ns"] == span
    press(timeline, "slash")
    timeline.wait("a field that takes text", lambda m: timeline.control("performance.find")["kind"] == "input")
    timeline.xdotool("type", "--delay", 30, "memset")
    timeline.wait("hits", lambda m: found(timeline)[0] == "memset" and found(timeline)[1] not in ("", "..."))
    press_in_field(timeline, "Return", "the first hit", lambda: place(timeline) > 0)
    shown = fields(timeline)
    assert shown["to_ns"] - shown["from_ns"] < 1e6, "wide enough to be seen"


def test_a_search_shows_a_hit_that_is_out_of_view(timeline):
    # Into one product: nothing else is in view.
    press(timeline, *["w"] * 24)
    assert fields(timeline)["to_ns"] - fields(timeline)["from_ns"] < 1e6
    press(timeline, "slash")
    timeline.wait("a field that takes text",
                  lambda m: timeline.control("performance.find")["kind"] == "input")
    before = fields(timeline)
    timeline.xdotool("type", "--delay", 30, "unpermute")
    timeline.wait("the view to move", lambda m: found(timeline)[0] == "unpermute"
                  and fields(timeline)["from_ns"] != before["from_ns"])
    timeline.settle()
    shown = fields(timeline)
    assert shown["to_ns"] - shown["from_ns"] < 1e6, "no wider than the record needs"
    assert "record" not in shown, "a search chooses nothing"
    # Enter begins with the hit in view, which then needs no move.
    press_in_field(timeline, "Return", "the first hit", lambda: place(timeline) > 0)
    first = fields(timeline)
    assert first["from_ns"] == shown["from_ns"]
    assert shown["from_ns"] <= first["record_start_ns"] <= shown["to_ns"]


def test_steps_in_the_row_and_along_the_graph(timeline):
    # Close enough that the click hits one record.
    press(timeline, "w", "w", "w", "w")
    timeline.xdotool("click", 1)
    timeline.wait("a chosen record", lambda m: "record" in fields(timeline))
    here = fields(timeline)
    step(timeline, "period", lambda a, b: b["record_start_ns"] > a["record_start_ns"])
    step(timeline, "comma", lambda a, b: b["record"] == here["record"])
    # The product, which takes most of the time and so gets the click, waits for the quantization.
    cause = step(timeline, "bracketleft", lambda a, b: b["record_node"] != a["record_node"])
    assert cause["record_start_ns"] < here["record_start_ns"]
    effect = step(timeline, "bracketright", lambda a, b: b["record_node"] != a["record_node"])
    assert effect["record_start_ns"] > cause["record_start_ns"]


def test_a_chosen_record_outside_is_brought_into_view(timeline):
    press(timeline, "w", "w", "w", "w", "w", "w")
    timeline.xdotool("click", 1)
    timeline.wait("a chosen record", lambda m: "record" in fields(timeline))
    for _ in range(12):
        now = step(timeline, "period", lambda a, b: b["record"] > a["record"])
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


def drag(window, start, end, *held):
    """Selects between two fractions of the timeline's width, with these keys held."""
    x0, y0, x1, y1 = window.control("performance.timeline")["rect"]
    y = round(y0 + 0.5 * (y1 - y0))
    first, last = (round(x0 + share * (x1 - x0)) for share in (start, end))
    window.xdotool("mousemove", first, y)
    window.settle()
    for key in held:
        window.xdotool("keydown", key)
    window.xdotool("mousedown", 1)
    window.seen("the press")
    for x in (first + 8, (first + last) // 2, last):
        window.xdotool("mousemove", x, y)
        window.seen("the move")
    window.xdotool("mouseup", 1)
    window.seen("the release")
    for key in held:
        window.xdotool("keyup", key)
    window.settle()


def selected(window):
    now = fields(window)
    return now["selected_from_ns"], now["selected_to_ns"]


def test_control_drag_keeps_the_previous_range(timeline):
    drag(timeline, 0.2, 0.3)
    first = selected(timeline)
    drag(timeline, 0.5, 0.7, "ctrl")
    second = selected(timeline)
    assert second[0] > first[1] and fields(timeline)["kept"] == 1
    # A click on the kept one: they swap.
    x0, _, x1, _ = timeline.control("performance.timeline")["rect"]
    timeline.xdotool("mousemove", round(x0 + 0.25 * (x1 - x0)), timeline.at[1])
    timeline.settle()
    timeline.xdotool("mousedown", 1)
    timeline.seen("the press")
    timeline.xdotool("mouseup", 1)
    timeline.wait("the first range", lambda m: selected(timeline) == first)
    assert fields(timeline)["kept"] == 1
    # A plain drag starts over; Escape clears all.
    drag(timeline, 0.4, 0.45)
    assert "kept" not in fields(timeline)
    drag(timeline, 0.6, 0.7, "ctrl")
    timeline.key("Escape")
    timeline.wait("nothing selected", lambda m: "selected_from_ns" not in fields(timeline)
                  and "kept" not in fields(timeline))


def test_middle_click_fits_the_record(timeline):
    before = fields(timeline)
    timeline.xdotool("mousedown", 2)
    timeline.seen("the press")
    timeline.xdotool("mouseup", 2)
    timeline.wait("a closer view", lambda m: fields(timeline)["to_ns"] - fields(timeline)["from_ns"]
                  < 0.05 * (before["to_ns"] - before["from_ns"]))


def test_the_selected_range_is_exported(timeline):
    """By the palette as CSV, by the card's menu as a Chrome trace: the records that the window
    counts in the range, no more and no fewer."""
    import csv
    import json

    from test_habits import palette
    drag(timeline, 0.2, 0.6)
    count = int(fields(timeline)["selected_records"])
    assert 0 < count < 1312

    def accept(name):
        timeline.wait("the dialog", lambda m: any(c["id"] == "file.accept" for c in m["controls"]))
        timeline.settle()
        timeline.click("file.accept")
        said = timeline.wait("the file", lambda m: any(
            c["value"].startswith("Exported: ") and name in c["value"] for c in m["controls"]))
        path = next(c["value"] for c in said["controls"] if c["value"].startswith("Exported: ")
                    and name in c["value"]).removeprefix("Exported: ")
        return timeline.folder / path

    palette(timeline, "export the records")
    timeline.press("Return")
    table = accept("records-")
    with open(table) as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == count
    begin, end = selected(timeline)
    assert all(begin <= int(row["start_ns"]) <= end for row in rows)
    timeline.settle()
    timeline.click("performance.timeline_card.menu")
    timeline.wait("the menu", lambda m: any(
        c["id"] == "performance.timeline_card.menu.export_trace" for c in m["controls"]))
    timeline.settle()
    timeline.click("performance.timeline_card.menu.export_trace")
    events = json.loads(accept("trace-").read_text())["traceEvents"]
    slices = [e for e in events if e["ph"] == "X" and e.get("cat") != "iteration"]
    # A slice is named by what it writes where that is known ("fprop up"); its category is the stage.
    stages = {row["stage"] for row in rows}
    assert len([e for e in slices if e["cat"] in stages and e["pid"] == 1]) == count


def test_lanes_are_pinned_and_hidden(timeline):
    timeline.click("performance.lanes.1")
    timeline.wait("two lanes", lambda m: any(c["id"] == "performance.lane.1"
                                             for c in m["controls"]))

    def top(lane):
        return timeline.control(f"performance.lane.{lane}")["rect"][1]

    def choose(lane, what):
        timeline.settle()
        timeline.click(f"performance.lane.{lane}")
        timeline.wait("the menu", lambda m: any(
            c["id"] == f"performance.lane.{lane}.{what}" for c in m["controls"]))
        timeline.settle()
        timeline.click(f"performance.lane.{lane}.{what}")

    records = fields(timeline)["records"]
    assert top(0) < top(1)
    choose(1, "pin")
    timeline.wait("it on top", lambda m: top(1) < top(0))
    assert timeline.control("performance.lane.1")["value"] == "pinned"
    choose(0, "hide")
    timeline.wait("one lane", lambda m: all(c["id"] != "performance.lane.0" for c in m["controls"]))
    timeline.wait("fewer records", lambda m: fields(timeline)["records"] < records)
    choose(1, "all")
    timeline.wait("both", lambda m: fields(timeline)["records"] == records)
    choose(1, "pin")
    timeline.wait("as before", lambda m: top(0) < top(1))


def details(window):
    """What the panel says, by label; the name of the event is the label \"\"."""
    shown = window.control("performance.details")
    if shown is None:
        return None
    lines = shown["value"].splitlines()
    return {"": lines[0], **dict(line.split("\t", 1) for line in lines[1:])}


def test_a_clicked_record_shows_its_details(former):
    assert details(former) is None
    press(former, "w", "w", "w", "w")
    former.xdotool("click", 1)
    former.wait("its details", lambda m: details(former) is not None)
    shown = details(former)
    assert shown[""].startswith("nvjet_sm90_qqtst_128x128_")
    assert shown["stage"] == "fprop, layer 0"
    assert shown["grid"] == "2 x 66" and shown["block"] == "384 threads"
    assert shown["graph node"] == "5 of 5"
    assert shown["share of it"].split(" %")[0].replace(".", "").isdigit()
    # This recording is older than what records registers and calls: it says so.
    assert shown["registers"] == "not in this recording"
    assert "the host range 'iteration'" in shown["launched by"]
    # Keys go on to the next record, and the details with them.
    start = shown["start"]
    step(former, "period", lambda a, b: b["record"] != a["record"])
    former.wait("the next one's", lambda m: details(former)["start"] != start)
    former.click("performance.details.copy")
    former.wait("what was copied", lambda m: any(
        c["value"].startswith("Copied the details of ") for c in m["controls"]))
    former.click("performance.details.close")
    former.wait("no details", lambda m: details(former) is None)
    former.settle()
    former.xdotool("mousemove", *former.at)
    step(former, "period", lambda a, b: b["record"] != a["record"])
    former.wait("the next one's", lambda m: details(former) is not None)


def test_a_clicked_host_event_shows_its_details(former):
    press(former, "w", "w", "w", "w")
    stages = fields_of_lanes(former).index("host stages")
    _, y0, _, y1 = former.control(f"performance.lane.{stages}")["rect"]
    former.xdotool("mousemove", former.at[0], round(0.5 * (y0 + y1)))
    former.settle()
    former.xdotool("click", 1)
    former.wait("its details", lambda m: details(former) is not None)
    assert details(former)[""] == "iteration"
    assert details(former)["kind"] == "stage range"
    assert "record" not in fields(former)


def fields_of_lanes(window):
    value = window.control("performance.timeline")["value"]
    return next(part for part in value.split(";") if part.startswith("lanes="))[6:].split(",")


def test_groups_of_lanes_collapse(timeline):
    heading = "performance.lane_group.host"
    lanes = {f"performance.lane.{i}" for i, name in enumerate(fields_of_lanes(timeline))
             if name in ("host stages", "overhead", "memory")}
    assert len(lanes) == 3

    def shown():
        return {c["id"] for c in timeline.map()["controls"]} & lanes

    assert timeline.control(heading)["value"] == "open" and shown() == lanes
    timeline.click(heading)
    timeline.wait("no lane of the group", lambda m: not shown())
    assert timeline.control(heading)["value"] == "collapsed"
    timeline.click(heading)
    timeline.wait("its lanes", lambda m: shown() == lanes)
    # By the keyboard: the group under the pointer, or all.
    timeline.settle()
    _, y0, _, y1 = timeline.control(sorted(lanes)[0])["rect"]
    timeline.xdotool("mousemove", timeline.at[0], round(0.5 * (y0 + y1)))
    timeline.settle()
    timeline.key("g")
    timeline.wait("no lane of the group", lambda m: not shown())
    timeline.key("shift+g")
    timeline.wait("its lanes", lambda m: shown() == lanes)
    # Over a lane that is in no group there is nothing to collapse.
    timeline.xdotool("mousemove", *timeline.at)
    timeline.settle()
    press(timeline, "g")
    assert shown() == lanes
