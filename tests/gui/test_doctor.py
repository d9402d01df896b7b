"""The graph views: a recording with visits to the doctor, viewed without a GPU."""
import csv
import io
import json
import os
import pathlib
import sqlite3
import subprocess
import time

import pytest


@pytest.fixture
def recording(tmp_path):
    maker = os.environ.get("DOCTOR_RECORDING_MAKER")
    if not maker:
        pytest.skip("DOCTOR_RECORDING_MAKER does not name the built program")

    def make(nodes=None):
        path = tmp_path / f"visits{nodes or ''}.session"
        subprocess.run([maker, path] + ([str(nodes)] if nodes else []), check=True, timeout=60)
        return path

    return make


def fields(control):
    return dict(part.split("=") for part in control["value"].split(";"))


def opened(window):
    """A recording that has only visits opens the doctor by itself once it is read: not before, not later."""
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    return window


def show(window, view):
    window.key("ctrl+3")
    window.click(f"graphs.view.{view}")


def wait_fields(window, name, condition, seconds=15):
    window.wait(f"{name} as wanted", lambda m: any(
        c["id"] == name and condition(fields(c)) for c in m["controls"]), seconds)
    return fields(window.control(name))


def test_findings_of_a_recorded_visit(open_window, recording):
    window = opened(open_window(str(recording())))
    window.wait("the doctor's view", lambda m: any(c["id"] == "doctor.conclusion" for c in m["controls"]))
    show(window, 3)
    window.wait("the finding", lambda m: any(
        c["id"] == "doctor.finding.0" for c in m["controls"]))
    assert window.control("doctor.finding.0")["value"] == "proved shared-workspace"
    assert window.control("doctor.conclusion")["value"].startswith("Proved")
    assert window.control("doctor.marker_cost")["value"].startswith("Markers cost 7.5 % of a replay")
    assert fields(window.control("doctor.experiments_made"))["n"] == "2"
    prove = window.control("doctor.prove")
    assert not prove["enabled"] and "GPU" in prove["reason"]
    # The proved finding is open; a click closes it, another opens it again.
    assert window.control("doctor.node.1") is not None
    window.click("doctor.finding.0")
    window.wait("it closed", lambda m: all(c["id"] != "doctor.node.1" for c in m["controls"]))
    window.click("doctor.finding.0")
    window.click("doctor.node.1")
    window.click("graphs.view.1")
    assert wait_fields(window, "graphs.topology", lambda f: f["selected"] == "4")["nodes"] == "24"
    assert window.control("graphs.node")["value"].startswith("node=4;addresses=2")


def test_topology_zooms_pans_and_finds(open_window, recording):
    window = opened(open_window(str(recording())))
    show(window, 1)
    start = wait_fields(window, "graphs.topology", lambda f: f["drawn"] == "24")
    x, y = window.centre("graphs.topology")
    window.xdotool("mousemove", x, y, "click", 4, "click", 4, "click", 4)
    wait_fields(window, "graphs.topology", lambda f: float(f["scale"]) > 1.3 * float(start["scale"]))
    window.xdotool("key", "Home")
    wait_fields(window, "graphs.topology", lambda f: f["scale"] == start["scale"])
    window.click("topology.search")
    window.xdotool("type", "--delay", 30, "quantize")
    window.click("topology.next")
    assert wait_fields(window, "graphs.topology", lambda f: f["selected"] == "1")
    window.click("topology.next")
    assert wait_fields(window, "graphs.topology", lambda f: f["selected"] == "3")


def test_memory_shows_unordered_nodes(open_window, recording):
    window = opened(open_window(str(recording())))
    show(window, 2)
    assert wait_fields(window, "graphs.memory", lambda f: f["rows"] == "4")
    window.click("memory.only_red")
    wait_fields(window, "graphs.memory", lambda f: f["rows"] == "1" and f["unordered"] == "1")


def test_a_stalled_visit_says_where(open_window, recording):
    window = opened(open_window(str(recording())))
    show(window, 3)
    window.click("graphs.source")
    window.wait("the list of visits", lambda m: any(
        c["id"] == "graphs.source.1" for c in m["controls"]))
    window.click("graphs.source.1")
    window.wait("why it stalled", lambda m: any(
        c["id"] == "doctor.stall" for c in m["controls"]))
    text = window.control("doctor.stall")["value"]
    assert "a kernel spins" in text and "2  grouped_gemm" in text


def test_gallery_explains_its_cases_without_a_gpu(open_window):
    window = open_window("--no-worker")
    show(window, 3)
    window.click("doctor.subject.1")
    window.wait("the case", lambda m: any(c["id"] == "doctor.case_text" for c in m["controls"]))
    assert window.control("doctor.case_text")["value"] == "shared-workspace"
    assert not window.control("doctor.examine")["enabled"]


def test_a_dot_file_is_examined_without_a_gpu(open_window):
    plain = pathlib.Path(__file__).parent.parent / "unit/graph/dot/plain.dot"
    window = open_window(str(plain), "--no-worker")
    window.wait("its conclusion", lambda m: any(
        c["id"] == "doctor.conclusion" and "By the rules alone" in c["value"]
        for c in m["controls"]))
    assert "plain" in window.control("graphs.source")["value"]


def test_a_broken_dot_file_is_refused_with_the_reason(open_window, tmp_path):
    path = tmp_path / "broken.dot"
    path.write_text("no graph")
    window = open_window(str(path), "--no-worker")
    window.wait("why it was not opened", lambda m: any(
        c["value"].startswith("Not opened") for c in m["controls"]))


def test_a_report_is_exported(open_window, recording):
    window = opened(open_window(str(recording())))
    show(window, 3)
    window.click("doctor.export")
    window.wait("the file dialog", lambda m: any(
        c["id"] == "file.accept" and c["enabled"] for c in m["controls"]))
    window.click("file.accept")
    window.wait("the report", lambda m: any(
        c["value"].startswith("Report written") for c in m["controls"]))
    written = list(window.folder.parent.rglob("graph-doctor.md"))
    assert written and "shared-workspace" in written[0].read_text()


def test_ten_thousand_nodes(open_window, recording):
    window = opened(open_window(str(recording(10000))))
    show(window, 1)
    window.click("graphs.source")
    window.wait("the list of visits", lambda m: any(
        c["id"] == "graphs.source.2" for c in m["controls"]))
    window.click("graphs.source.2")
    wait_fields(window, "graphs.topology", lambda f: f["drawn"] == "10000")
    frame, began = window.map()["frame"], time.monotonic()
    x, y = window.centre("graphs.topology")
    for step in range(20):
        window.xdotool("mousemove", x + step, y)
        time.sleep(0.02)
    frames = window.map()["frame"] - frame
    assert frames / (time.monotonic() - began) > 4


def test_prove_this_takes_the_visits_own_request(open_window, recording, tmp_path):
    fake = os.environ.get("FAKE_WORKER")
    if not fake:
        pytest.skip("FAKE_WORKER does not name the built program")
    worker = tmp_path / "worker"
    worker.write_text(f'#!/bin/sh\nexec "{fake}" captures\n')
    worker.chmod(0o700)
    window = opened(open_window(str(recording()), "--worker", str(worker)))
    window.wait_for_link("responsive")
    show(window, 3)
    window.click("doctor.subject.0")  # the bar shows the request in the rail, which is different
    window.wait("the finding", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))
    window.click("doctor.prove_this")
    window.wait("the visit", lambda m: m["state"]["session_path"] == "" and any(
        c["id"] == "doctor.experiments_made" and not c["value"].startswith("n=0") for c in m["controls"]))
    window.key("ctrl+s")
    window.wait("the file dialog", lambda m: any(
        c["id"] == "file.accept" and c["enabled"] for c in m["controls"]))
    window.click("file.accept")
    window.wait("the recording", lambda m: any("saved in" in c["value"] for c in m["controls"]))
    saved, = window.folder.parent.rglob("expertscope*.session")
    # The fake worker's snapshot names the request that it was given.
    with sqlite3.connect(saved) as file:
        (request,), = file.execute("SELECT request_json FROM visits")
        (subject,), = file.execute("SELECT subject FROM snapshots")
    assert json.loads(request)["shape"]["tokens"] == "3200"
    assert subject == "a step of 3200 tokens"


def saved_csv(window, card):
    """The rows that the card's menu saves."""
    stem = card.removesuffix("_card").replace(".", "-")
    window.click(f"{card}.menu")
    window.wait("the menu", lambda m: any(c["id"] == f"{card}.menu.save_csv" for c in m["controls"]))
    window.settle()
    window.click(f"{card}.menu.save_csv")

    def notices(controls):
        return [c["value"] for c in controls if c["value"].startswith("Table saved") and stem in c["value"]]
    saved = notices(window.wait("the table", lambda m: notices(m["controls"]))["controls"])[-1]
    window.settle()
    return list(csv.reader(io.StringIO(pathlib.Path(saved.removeprefix("Table saved: ")).read_text())))


def test_tables_are_saved_with_their_commas_quoted(open_window, recording):
    window = opened(open_window(str(recording())))
    show(window, 3)
    window.wait("the finding", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))
    assert saved_csv(window, "doctor.findings_card") == [
        ["rule", "hazard", "confidence", "title"],
        ["shared-workspace", "1", "proved", "Nodes 2 and 4 share the workspace of fprop"]]
    experiments = saved_csv(window, "doctor.experiments_card")
    assert [row[1] for row in experiments] == ["experiment", "replayed", "fprop, layer 1 moved"]
    # Replays of 42.5, 43.5, ... us: the median lies between the two in the middle.
    replays = int(experiments[1][4])
    assert float(experiments[1][5]) == 42 + replays / 2
    checks = saved_csv(window, "doctor.proof_card")
    assert checks[0] == ["experiment", "replay", "output", "parts", "wrong_parts"]
    assert checks[2] == ["replayed", "2", "Y, layer 0", "8", "1 5"]
    assert checks[-1] == ["fprop, layer 1 moved", str(replays), "Y, layer 0", "8", ""]
    show(window, 1)
    window.wait("the graph", lambda m: any(c["id"] == "graphs.topology" for c in m["controls"]))
    nodes = saved_csv(window, "topology.card")
    assert len(nodes) == 25 and {len(row) for row in nodes} == {6}
    show(window, 2)
    window.wait("the map", lambda m: any(c["id"] == "graphs.memory" for c in m["controls"]))
    memory = {row[0]: row for row in saved_csv(window, "memory.card")}
    assert memory["Y, layer 0"][1:3] == ["output", str(1 << 20)]
