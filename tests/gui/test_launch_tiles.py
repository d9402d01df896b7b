"""SMs over time within one launch: figures, zoom, read-out, selection, export. Of launches with thousands of tiles."""
import csv
import os
import subprocess

import pytest


def fields(control):
    return dict(part.split("=", 1) for part in control["value"].split(";"))


@pytest.fixture
def tiles(open_window, tmp_path):
    maker = os.environ.get("MEASURED_RECORDING_MAKER")
    if not maker:
        pytest.skip("MEASURED_RECORDING_MAKER does not name the built program")
    path = tmp_path / "tiles.session"
    subprocess.run([maker, path, "tiles"], check=True, timeout=60)
    window = open_window(str(path), width=1600, height=1200)
    window.wait("the tiles of a launch", lambda m: any(c["id"] == "performance.launch" for c in m["controls"]))
    window.settle()
    return window


def shown(window):
    return fields(window.control("performance.launch"))


def choose(window, launch):
    window.choose("performance.launch_choice", launch)
    window.settle()
    return shown(window)


def test_the_longest_launch_is_shown_first_with_its_figures(tiles):
    first = shown(tiles)
    assert first["launch"].startswith("wgrad")
    assert (first["tiles"], first["sms"]) == ("40000", "132")
    assert float(first["waves"]) == pytest.approx(40000 / 132, abs=0.01)
    figures = tiles.control("performance.launch.figures")["value"]
    assert "waves of 132 tiles" in figures and "SMs busy 9" in figures and "tail" in figures
    # Of a launch with more tiles than are kept, every second SM.
    assert first["every"] == "2"
    assert int(first["shown"]) < 32768
    assert int(first["narrow"]) > 0 and "narrower than a pixel: zoom in" in figures
    fprop = choose(tiles, "fprop up")
    assert (fprop["tiles"], fprop["every"], fprop["shown"], fprop["narrow"]) == ("4000", "1", "4000", "0")


def test_the_wheel_zooms_and_fewer_tiles_are_painted(tiles):
    before = choose(tiles, "fprop up")
    x, y = tiles.centre("performance.launch")
    tiles.xdotool("mousemove", x, y, *["click", 4] * 6)
    tiles.settle()
    after = shown(tiles)
    assert float(after["from_ns"]) > float(before["from_ns"]) and float(after["to_ns"]) < float(before["to_ns"])
    assert int(after["shown"]) < int(before["shown"]) / 2
    tiles.key("Home")
    tiles.settle()
    assert shown(tiles)["shown"] == "4000"


def test_a_tile_is_read_out_and_a_click_selects_its_expert(tiles):
    choose(tiles, "fprop up")
    x0, y0, x1, y1 = tiles.control("performance.launch")["rect"]
    tiles.xdotool("mousemove", round(0.5 * (x0 + x1)), round(0.5 * (y0 + y1)))
    tiles.wait("the read-out", lambda m: m["state"]["tooltip"].startswith("expert "))
    lines = tiles.map()["state"]["tooltip"].splitlines()
    assert lines[0].startswith("expert ")
    assert [line.split(":")[0] for line in lines[1:]] == ["tile", "SM", "start", "duration"]
    assert int(lines[2].split(": ")[1]) == pytest.approx(66, abs=2), "SM 0 is at the bottom"
    assert shown(tiles)["selected"] == "-1"
    tiles.xdotool("click", 1)
    tiles.wait("a selection", lambda m: any(
        c["id"] == "performance.launch" and fields(c)["selected"] == lines[0].split()[1] for c in m["controls"]))
    assert fields(tiles.control("performance.experts"))["selected"] == shown(tiles)["selected"]


def test_both_products_of_a_layer_have_times_of_experts(tiles):
    for product in ("fprop up", "fprop down"):
        tiles.choose("performance.expert_stage", f"{product}, stamps")
        tiles.settle()
        experts = fields(tiles.control("performance.experts"))
        assert (experts["method"], experts["stage"], experts["experts"]) == ("stamps", "fprop", "64")
        assert "of_stamps" not in experts, "the other product is no measurement of this one"


def test_tiles_are_saved_as_csv(tiles):
    choose(tiles, "fprop up")
    tiles.click("performance.launch_card.menu")
    tiles.wait("the menu", lambda m: any(c["id"] == "performance.launch_card.menu.save_csv" for c in m["controls"]))
    tiles.settle()
    tiles.click("performance.launch_card.menu.save_csv")
    said = tiles.wait("the table", lambda m: any("Table saved: " in c["value"] for c in m["controls"]))
    path = next(c["value"] for c in said["controls"] if c["value"].startswith("Table saved: "))
    with open(tiles.folder / path.removeprefix("Table saved: ")) as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4000
    assert {int(row["expert"]) for row in rows} == set(range(64))
    assert all(int(row["begin_ns"]) < int(row["end_ns"]) for row in rows)


def test_a_run_without_tiles_has_no_such_card(open_window):
    window = open_window()
    window.wait_for_result()
    assert not any(c["id"] == "performance.launch" for c in window.map()["controls"])


def test_lanes_of_experts_show_the_stamped_launch_in_other_launches(tiles):
    """Drawn in every launch of the operation that is wide enough; no record more, and said to be no measurement."""
    def timeline():
        return fields(tiles.control("performance.timeline"))

    records = timeline()["records"]
    assert "stamped_launches" not in timeline()
    tiles.click("performance.lanes.2")
    tiles.wait("lanes of experts", lambda m: any(c["id"] == "performance.timeline.stamped" for c in m["controls"]))
    tiles.settle()
    shown = timeline()
    # Only experts 0 to 2 have records; two share a lane.
    assert shown["lanes"].split(",") == [f"e {e}–{e + 1}" for e in range(0, 64, 2)] + ["all experts"]
    assert (shown["records"], shown["stamped_launches"]) == (records, "1")
    caption = tiles.control("performance.timeline.stamped")["value"]
    assert "not measured there" in caption and "wgrad up: tiles of 1 in 2 SMs only" in caption
    # A lane in the middle of the plot, whose experts run in the middle of the launch.
    x0, y0, x1, y1 = tiles.control("performance.timeline")["rect"]
    lanes = [c for c in tiles.map()["controls"] if c["label"].startswith("e ") and c["kind"] == "button"]
    lane = min(lanes, key=lambda c: abs(c["rect"][1] - 0.5 * (y0 + y1)))
    y = round(0.5 * (lane["rect"][1] + lane["rect"][3]))
    for x in range(round(x0 + 0.5 * (x1 - x0)), round(x1), 14):
        tiles.xdotool("mousemove", x, y)
        tiles.settle()
        if tiles.map()["state"]["tooltip"].startswith("wgrad up"):
            break
    lines = tiles.map()["state"]["tooltip"].splitlines()
    assert lines[0] == "wgrad up: not measured in this launch"
    experts = lane["label"].removeprefix("e ").split("–")
    assert any(lines[1].startswith(f"expert {expert}: ") for expert in experts)
    assert lines[1].endswith(" % of the launch")
    assert lines[-4] == "as in: the stamped launch of median duration"
    assert lines[-3].startswith("stamped launch: ")
    assert lines[-2:] == ["this launch: 600.0 µs", "tiles of: 1 in 2 SMs"]
    tiles.xdotool("click", 1)
    tiles.wait("the launch itself", lambda m: any(
        c["id"] == "performance.details" and "all in one launch; their lanes show" in c["value"]
        for c in m["controls"]))
    # Those of all 20 iterations.
    tiles.key("Home")
    tiles.wait("all timed iterations", lambda m: any(
        c["id"] == "performance.timeline" and fields(c)["stamped_launches"] == "20" for c in m["controls"]))
    assert timeline()["records"] == "100"
