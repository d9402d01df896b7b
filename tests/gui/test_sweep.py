"""Sweeps of the Compare page with real mouse and keys: their plan, their points, what a point becomes, their table."""
import re

import numpy as np
import picture

from compare_page import SAMPLE, compare, saved_csv, shown, value


def test_sweep_becomes_a_frontier_and_a_point_becomes_a(open_window):
    window = open_window()
    window.wait_for_result()
    shown_run = window.state()["shown_run_id"]
    compare(window)
    window.click("compare.part.1")
    window.wait("what to do", shown("frontier.start_now"))
    # The rail's default of 10 could decide nothing among 9 points.
    assert value(window, "frontier.plan").startswith("9 runs of 20 iterations")
    window.click("frontier.pow2")
    window.wait("fewer runs", lambda m: value(window, "frontier.plan").startswith("6 runs"))
    window.click("frontier.start")
    window.wait("the end of the sweep", lambda m: m["state"]["batch_id"] > 0
                and not m["state"]["batch_running"] and shown("frontier.scatter")(m), 120)
    window.settle()
    assert value(window, "frontier.scatter").startswith("points=6;")
    assert value(window, "frontier.table") == "6"
    # The run on screen does not change with it.
    assert window.state()["shown_run_id"] == shown_run
    point = next(c for c in window.map()["controls"] if c["id"].startswith("frontier.point.")
                 and c["value"] in ("yes", "undecided"))
    window.click(point["id"])
    window.wait("the menu", shown("frontier.make_a"))
    window.settle()
    window.click("frontier.make_a")
    window.wait("the menu to close", lambda m: not shown("frontier.make_a")(m))
    window.settle()
    window.click("compare.part.0")
    # Named as everywhere else, not as on the command line.
    parts = point["label"].split(", ")
    assert parts[0] in ("BF16", "FP8 tensor", "FP8 block", "FP8 delayed", "MXFP8", "NVFP4"), point["label"]
    window.wait("the point as A", lambda m: all(part in value(window, "compare.a") for part in parts))
    # A measurement that is no sweep is not called by the names of the sweep before it.
    window.type_number("compare.iterations", "400")
    window.settle()
    window.click("compare.again")
    window.click("compare.part.1")
    current = window.wait("its progress", shown("frontier.progress"))
    doing = next(c["value"] for c in current["controls"] if c["id"] == "frontier.progress")
    assert re.fullmatch(r"\d+ of \d+: [AB](, about \d+ s left)?", doing), doing


def test_beside_a_recording_the_sweep_that_was_started_is_shown(open_window):
    window = open_window(str(SAMPLE.with_name("h200_layer.session")))
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    compare(window)
    window.click("compare.part.1")
    window.wait("its sweep", lambda m: "NVIDIA H200" in window.control("headline.subject")["value"])
    assert "Sweep of 5 points, E16 R16384" in value(window, "headline.subject")
    assert value(window, "headline.subject").endswith("h200_layer.session")
    window.click("frontier.table.row.2")
    window.wait("the selected row", lambda m: value(window, "frontier.table.row.2") == "true")
    window.click("top.live")
    # A recording's sweep is not this window's.
    window.wait("none of its own", lambda m: value(window, "headline.subject").startswith("Sweeps:"))
    window.wait_for_result()
    window.click("frontier.start")
    window.wait("the first points", shown("frontier.point.0"), 60)
    assert "NVIDIA" not in value(window, "headline.subject")
    assert ".session" not in value(window, "headline.subject")
    ended = window.wait("the end", lambda m: not m["state"]["batch_running"] and shown("frontier.table.row.2")(m), 120)
    selected = [c["id"] for c in ended["controls"] if c["id"].startswith("frontier.table.row.") and c["value"] == "true"]
    assert not selected, "what was selected belongs to the other sweep"


def test_sweep_is_cancelled_and_keeps_what_is_done(open_window):
    window = open_window()
    window.wait_for_result()
    compare(window)
    window.click("compare.part.1")
    window.click("frontier.start")
    window.wait("the first point", shown("frontier.point.0"), 60)
    if window.control("frontier.cancel"):
        window.click("frontier.cancel")
    ended = window.wait("the end", lambda m: not m["state"]["batch_running"])
    assert shown("frontier.point.0")(ended)


def list_values(window, field, text):
    """Types over whatever the field of a sweep's numbers holds."""
    window.click(field)
    window.key("ctrl+a")
    window.press("BackSpace")
    window.xdotool("type", "--delay", 20, text)
    window.wait(f"{field} to hold it", lambda m: value(window, field) == text)
    window.settle()


def test_numbers_that_list_values_are_swept_and_saved(open_window):
    window = open_window()
    window.wait_for_result()
    compare(window)
    window.click("compare.part.1")
    window.wait("what to do", shown("frontier.start_now"))
    window.click("frontier.recipe")
    window.click("frontier.pow2")
    window.wait("the rail's request only", lambda m: value(window, "frontier.plan").startswith("1 runs"))
    # A linear step has no tokens to route.
    assert not window.control("frontier.top_k")["enabled"]
    list_values(window, "frontier.rows", "256, many")
    wrong = window.control("frontier.rows")["reason"]
    assert wrong == "Rows lists 'many'; every value must be an integer, between 0 and 16777216"
    assert value(window, "frontier.plan") == wrong
    assert not window.control("frontier.start")["enabled"] and window.control("frontier.start_now") is None
    list_values(window, "frontier.rows", "256, 512")
    assert window.control("frontier.rows")["reason"] == ""
    list_values(window, "frontier.n", ",".join(str(16 * i) for i in range(1, 32)))
    assert value(window, "frontier.plan").startswith("62 combinations are more than the 60 runs")
    assert not window.control("frontier.start")["enabled"]
    # What the request's own checks refuse is counted, and says why.
    list_values(window, "frontier.n", "100,64")
    plan = value(window, "frontier.plan").split("\n")
    assert plan[0].startswith("2 runs of 18 iterations, 2 refused: shape.n is 100; it must be a multiple of 16")
    assert "Rows 256, N 100: shape.n is 100; it must be a multiple of 16" in plan[1]
    list_values(window, "frontier.seed", "1,7")
    window.click("frontier.start")
    window.wait("the end of the sweep", lambda m: m["state"]["batch_id"] > 0
                and not m["state"]["batch_running"] and shown("frontier.scatter")(m), 120)
    window.settle()
    assert value(window, "frontier.scatter").startswith("points=4;")
    def points():
        # The name beside a point has a control of its own.
        return [c for c in window.map()["controls"]
                if c["id"].startswith("frontier.point.") and not c["id"].endswith(".name")]

    names = [point["label"] for point in points()]
    assert sorted(name.split(", ", 2)[2] for name in names) == [
        f"Rows {rows}, N 64, Seed {seed}" for rows in (256, 512) for seed in (1, 7)]
    # Every work has a colour of its own, the one of its points: their times are no choice.
    works = sorted((c for c in window.map()["controls"] if c["id"].startswith("frontier.work.")),
                   key=lambda c: c["id"])
    assert [c["label"] for c in works] == [f"Rows {rows}, Seed {seed}" for rows in (256, 512) for seed in (1, 7)]
    pixels = picture.read_png(window.picture().read_bytes()).astype(int)
    colors = [tuple(pixels[int(c["rect"][1] + c["rect"][3]) // 2, int(c["rect"][0]) + 4]) for c in works]
    assert len(set(colors)) == 4, colors
    for point in points():
        work = next(i for i, c in enumerate(works) if all(part in point["label"] for part in c["label"].split(", ")))
        assert point["value"] == "yes"  # the only one of its work
        left, top, right, bottom = point["rect"]
        middle = pixels[int(top + bottom) // 2, int(left + right) // 2]
        assert abs(middle - np.array(colors[work])).max() < 12, (point["label"], middle, colors[work])
    rows = saved_csv(window, "frontier.table_card")
    assert [(row["shape.rows"], row["seed"]) for row in rows if row["median_ns"]] == [
        ("256", "1"), ("256", "7"), ("512", "1"), ("512", "7")]
    refused = [row for row in rows if not row["median_ns"]]
    assert len(refused) == 4 and all(row["shape.n"] == "100" and "multiple of 16" in row["unmeasured"]
                                     for row in refused), refused
