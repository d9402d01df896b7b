"""Measurements in addition to the iterations: experts by method, clock and power, roofline, observer."""
import csv
import os
import pathlib
import subprocess

import pytest


def fields(control):
    return dict(part.split("=", 1) for part in control["value"].split(";"))


@pytest.fixture
def recording(open_window, tmp_path):
    maker = os.environ.get("MEASURED_RECORDING_MAKER")
    if not maker:
        pytest.skip("MEASURED_RECORDING_MAKER does not name the built program")
    path = tmp_path / "measured.session"
    subprocess.run([maker, path], check=True, timeout=60)
    window = open_window(str(path))
    window.wait("a recording on screen", lambda m: m["state"]["from_file"] and any(
        c["id"] == "performance.experts" for c in m["controls"]))
    return window


def choose_source(window, text):
    window.choose("performance.expert_stage", text)
    window.settle()
    return fields(window.control("performance.experts"))


def test_experts_by_three_methods_and_how_they_agree(recording):
    shown = fields(recording.control("performance.experts"))
    assert (shown["method"], shown["stage"], shown["experts"]) == ("records", "fprop", "3")
    assert float(shown["of_isolated"]) == pytest.approx(1.25)
    shown = choose_source(recording, "fprop, isolated")
    assert shown["method"] == "isolated"
    assert float(shown["of_records"]) == pytest.approx(0.8)
    shown = choose_source(recording, "quantize X, stamps")
    assert (shown["method"], shown["stage"]) == ("stamps", "quantize")
    assert "of_records" not in shown  # the quantize records name no expert


def test_clock_and_power_share_the_axis_of_the_timeline(recording):
    recording.xdotool("mousemove", *recording.centre("performance.timeline"), "key", "Home")
    recording.settle()
    power = fields(recording.control("performance.power"))
    assert (power["samples"], power["max_mhz"], power["max_w"]) == ("40", "1980", "688")
    assert power["limits"].startswith("throttled: "), "the band at the foot has a name"
    assert power["label"] == "power, highest 688 W (timed iterations)", "all samples are in them"
    before = fields(recording.control("performance.timeline"))
    x, y = recording.centre("performance.power")
    recording.xdotool("mousemove", x, y, "click", 4, "click", 4)
    recording.settle()
    after = fields(recording.control("performance.timeline"))
    assert float(after["from_ns"]) > float(before["from_ns"])
    assert float(after["to_ns"]) < float(before["to_ns"])
    assert int(fields(recording.control("performance.power"))["shown"]) < 40


def test_iterations_with_the_throttled_can_be_left_out(recording):
    def step():
        return fields(recording.control("performance.iterations"))

    # From the 10th of 20 on, before which the last reading without a limit was taken.
    assert (step()["n"], step()["throttled"], step()["median_ns"]) == ("20", "11", "990000")
    assert "median of 20" in recording.control("headline.step")["label"]
    recording.click("performance.iterations.skip_throttled")
    recording.settle()
    assert (step()["n"], step()["median_ns"]) == ("9", "900000")
    assert recording.control("headline.step")["value"] == "0.900 ms"
    assert "median of 9" in recording.control("headline.step")["label"]
    # The other page that shows them agrees.
    recording.key("ctrl+3")
    recording.wait("the replays", lambda m: any(c["id"] == "graphs.series" for c in m["controls"]))
    assert fields(recording.control("graphs.series"))["n"] == "9"
    recording.click("graphs.series.skip_throttled")
    recording.settle()
    assert fields(recording.control("graphs.series"))["n"] == "20"


def test_clock_and_power_are_saved_as_csv(recording):
    recording.click("performance.timeline_card.menu")
    recording.click("performance.timeline_card.menu.save_power")
    said = recording.wait("the file", lambda m: any(
        "Table saved" in c["value"] for c in m["controls"]))
    name = next(c["value"] for c in said["controls"] if "Table saved" in c["value"]).split(": ")[1]
    lines = (pathlib.Path(recording.folder) / name).read_text().splitlines()
    assert lines[0].startswith("time_ns,sm_clock_mhz,")
    assert len(lines) == 41
    assert max(float(line.split(",")[3]) for line in lines[1:]) == pytest.approx(688, abs=1)


def test_the_roofline_places_the_product_under_the_roofs(recording):
    shown = fields(recording.control("performance.roofline"))
    assert (shown["points"], shown["nominal"], shown["copy_gbps"]) == ("2", "1", "4100")
    # The quantize kernel is far to the left, under the copy's slope.
    assert float(shown["quantize"]) < 1
    # 2 * 1024 * 1024 * 2048 operations in 40 us.
    assert float(shown["fprop"]) == pytest.approx(2 * 1024 * 1024 * 2048 / 40e-6 / 1e12, rel=1e-3)


def test_trying_algorithms_reports_the_gain(recording):
    lines = recording.control("engine.algorithm_gains")["value"].splitlines()
    assert len(lines) == 3
    assert lines[2].startswith("Trial before the iterations: "), "why the kernels table has other times"
    assert lines[0].startswith("fprop: ") and "10.0 % less (number 3 of 8)" in lines[0]
    assert lines[1].startswith("dgrad: ") and "the first of 4 is the fastest" in lines[1]


def test_the_observer_cost_is_a_headline_figure(recording):
    assert recording.control("performance.observer")["value"].startswith("+1.1")


def test_roofs_are_measured_on_request_live(open_window):
    window = open_window()
    window.wait_for_result()
    assert fields(window.control("performance.roofline"))["copy_gbps"] == "0"
    assert "NVIDIA devices only" in window.control("performance.power")["value"]
    window.click("performance.measure_ceilings")
    window.wait("a measured roof", lambda m: any(
        c["id"] == "performance.roofline" and float(fields(c)["copy_gbps"]) > 0 for c in m["controls"]))
    assert float(fields(window.control("performance.roofline"))["dense_tflops"]) > 0


def test_device_settings_are_disabled_with_their_reason(open_window):
    window = open_window()
    window.wait_for_result()
    window.centre("measure.isolated")
    for name in ("measure.isolated", "measure.stamps", "measure.observer"):
        assert not window.control(name)["enabled"]
        assert "always records them" in window.control(name)["reason"]
    assert window.control("measure.ceilings")["enabled"]


def test_cold_and_burst_run_and_say_so(open_window):
    window = open_window()
    window.wait_for_result()

    def span(current):
        shown = next((c for c in current["controls"] if c["id"] == "performance.timeline"), None)
        return float(fields(shown)["to_ns"]) - float(fields(shown)["from_ns"]) if shown else 0.0

    # Ten steps with 50 ms of rest before each.
    assert fields(window.control("performance.iterations"))["conditions"] == "warm, sustained"
    window.click("measure.cache.1")
    window.click("measure.pace.1")
    window.wait("another run", lambda m: not m["state"]["stale"] and any(
        c["id"] == "performance.iterations" and fields(c)["conditions"] == "cold, burst" for c in m["controls"]))
    window.xdotool("mousemove", *window.centre("performance.timeline"))
    window.settle()
    window.key("Home")
    window.wait("all its steps, with rests", lambda m: span(m) > 9 * 50e6)
    # The plots of the iterations name the conditions of the measurement.
    assert fields(window.control("performance.iterations"))["conditions"] == "cold, burst"
    window.key("ctrl+3")
    window.wait("the same in Graphs", lambda m: any(
        c["id"] == "graphs.series" and fields(c)["conditions"] == "cold, burst"
        for c in m["controls"]))


def test_non_kernel_events_have_their_own_lanes_and_read_outs(recording):
    recording.xdotool("mousemove", *recording.centre("performance.timeline"), "key", "Home")
    recording.settle()
    shown = fields(recording.control("performance.timeline"))
    assert shown["lanes"].endswith("host stages,overhead,memory")
    work = int(shown["records"])
    # All records: from the allocation of the set-up on, and no event counts as a record.
    recording.key("Home")
    recording.settle()
    shown = fields(recording.control("performance.timeline"))
    assert float(shown["from_ns"]) < -850_000
    assert int(shown["records"]) == work == 80
    # In the lanes of experts they would mean nothing.
    recording.click("performance.lanes.2")
    recording.wait("the lanes of the experts", lambda m: any(
        c["id"] == "performance.timeline" and "overhead" not in c["value"] for c in m["controls"]))


def test_live_memory_is_read_out_and_exported(recording):
    x0, _, x1, _ = recording.control("performance.timeline")["rect"]
    lanes = fields(recording.control("performance.timeline"))["lanes"].split(",")
    _, y0, _, y1 = recording.control(f"performance.lane.{lanes.index('memory')}")["rect"]
    recording.xdotool("mousemove", round(0.6 * x0 + 0.4 * x1), round(0.5 * (y0 + y1)))
    recording.settle()
    recording.press("ctrl", "c")
    recording.wait("what is live between the two events", lambda m: any(
        "live on the device 64.0 MiB (67 108 864 B)" in c["value"] for c in m["controls"]))
    recording.click("performance.timeline_card.menu")
    recording.wait("the menu", lambda m: any(
        c["id"] == "performance.timeline_card.menu.export_memory" for c in m["controls"]))
    recording.settle()
    recording.click("performance.timeline_card.menu.export_memory")
    said = recording.wait("the table", lambda m: any(
        "Table saved: " in c["value"] and "memory" in c["value"] for c in m["controls"]))
    path = next(c["value"] for c in said["controls"] if c["value"].startswith("Table saved: "))
    with open(recording.folder / path.removeprefix("Table saved: ")) as file:
        rows = list(csv.DictReader(file))
    assert [row["operation"] for row in rows] == ["allocate", "release"]
    assert [int(row["live_device_bytes"]) for row in rows] == [64 << 20, 0]


def chosen_details(window, text):
    """Of the first record that the search finds."""
    window.xdotool("mousemove", *window.centre("performance.timeline"))
    window.settle()
    window.key("slash")
    window.wait("the search", lambda m: any(
        c["id"] == "performance.find" and c["kind"] == "input" for c in m["controls"]))
    window.xdotool("key", "ctrl+a")
    window.xdotool("type", "--delay", 30, text)
    window.wait("hits", lambda m: any(
        c["id"] == "performance.find" and c["value"].split(";")[0] == text
        and c["value"].split(";")[1].isdigit() for c in m["controls"]))
    window.press("Return")
    found = window.wait("details", lambda m: any(
        c["id"] == "performance.details" for c in m["controls"]))
    value = next(c["value"] for c in found["controls"] if c["id"] == "performance.details")
    return dict(line.split("\t", 1) for line in value.splitlines()[1:])


def test_details_show_the_launch_and_say_what_was_not_recorded(recording):
    shown = chosen_details(recording, "quantize")
    assert shown["grid"] == "132 x 2" and shown["block"] == "384 threads"
    assert shown["registers"] == "168 per thread"
    assert shown["shared memory"] == "1.0 KiB static + 200.0 KiB dynamic"
    assert shown["launched by"].startswith("cudaLaunchKernelExC, begun 30.00 ")
    assert shown["share of it"].startswith("5.56 % of 900.0 ")
    assert shown["expert"] == "all in one launch"
    shown = chosen_details(recording, "matmul")
    assert shown["grid"] == shown["registers"] == "not in this recording"
    assert "somewhere in the host range 'fprop, layer 0'" in shown["launched by"]
    assert shown["expert"] == "0"


def test_details_of_the_cpu_worker_say_that_it_launches_nothing(open_window):
    window = open_window()
    window.wait_for_result()
    shown = chosen_details(window, "quantize")
    for label in ("grid", "block", "registers", "shared memory"):
        assert shown[label] == "not recorded by the CPU worker", label
    assert shown["launched by"].startswith("not recorded by the CPU worker")
    assert "0" not in (shown["grid"], shown["bytes"])
