"""The doctor's view: a recording with visits to the doctor, viewed without a GPU."""
import json
import os
import pathlib
import sqlite3

import pytest

from graphs_page import fields, opened, recording, saved_csv, shared_workspace, show, wait_fields  # noqa: F401

picture = pytest.importorskip("picture")  # needs numpy


def test_a_picture_of_a_card_says_below_what_was_examined(open_window, recording):
    """The caption is text: other colours than its ground. A card without one has no strip below it."""
    window = opened(open_window(str(recording())))
    show(window, 3)
    window.wait("the finding", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))
    window.settle()
    card = "doctor.state_card"
    window.click(f"{card}.menu")
    window.wait("the menu", lambda m: any(c["id"] == f"{card}.menu.png" for c in m["controls"]))
    window.settle()
    window.click(f"{card}.menu.png")
    saved = window.wait("a picture", lambda m: m["state"]["screenshot_path"] != "")["state"]["screenshot_path"]
    strip = picture.read_png((window.folder / saved).read_bytes())[-40:].astype(int)
    assert (abs(strip - strip[-1, -1]).max(axis=2) > 60).sum() > 200


def test_outcomes_have_the_colours_of_the_theme(open_window, recording):
    """Those of the theme before would be too light to read."""
    window = opened(open_window(str(recording())))
    show(window, 3)
    window.wait("the experiments", lambda m: any(c["id"] == "doctor.experiments.row.1" for c in m["controls"]))

    def pixels(red, green, blue):
        window.settle()
        x0, y0, x1, y1 = (round(edge) for edge in window.control("doctor.experiments")["rect"])
        rows = picture.read_png(window.picture().read_bytes())[y0:y1, x0:x1, :3]
        return (rows == (red, green, blue)).all(axis=2).sum()

    assert pixels(0xE5, 0x60, 0x5C) > 30
    window.click("top.theme")
    window.wait("the light theme", lambda m: any(c["id"] == "top.theme" and c["label"] == "Dark" for c in m["controls"]))
    assert pixels(0xC5, 0x3A, 0x36) > 30
    assert pixels(0xE5, 0x60, 0x5C) == 0


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
    # The proved finding is open; a click on it leaves it open.
    assert window.control("doctor.node.1") is not None
    window.click("doctor.finding.0")
    window.settle()
    assert window.control("doctor.node.1") is not None
    window.click("doctor.no_finding")
    window.wait("it closed", lambda m: all(c["id"] != "doctor.node.1" for c in m["controls"]))
    window.click("doctor.finding.0")
    window.click("doctor.node.1")
    window.click("graphs.view.1")
    assert wait_fields(window, "graphs.topology", lambda f: f["selected"] == "4")["nodes"] == "24"
    assert window.control("graphs.node")["value"].startswith("node=4;addresses=2")


def test_the_conclusion_comes_first_then_the_cure_then_the_evidence(open_window, shared_workspace):
    window = opened(open_window(shared_workspace, "--no-worker"))
    window.wait("the cure", lambda m: any(c["id"] == "doctor.fix" for c in m["controls"]))
    assert window.control("doctor.conclusion")["value"].startswith("Proved: 3 grouped matmuls")
    assert "its own workspace" in window.control("doctor.fix")["value"]
    assert window.control("doctor.smallest_cure")["value"] == (
        'Smallest cure: separate memory for dgrad, layer 0 in place of "workspace of all products".')
    assert "cublasLtMatmul(" in window.control("doctor.code")["value"]
    window.click("doctor.library.1")
    window.wait("PyTorch's code", lambda m: any(
        c["id"] == "doctor.code" and "torch.cuda.graph" in c["value"] for c in m["controls"]))
    # From left to right and from top to bottom.
    read = ["doctor.conclusion", "doctor.fix", "doctor.finding.0", "doctor.proof.0"]
    corners = [(window.control(one)["rect"][1] // 100, window.control(one)["rect"][0]) for one in read]
    assert corners == sorted(corners)
    # After: the search found that moving less than the finding's own cure suffices.
    assert window.control("doctor.proof.0")["value"] == "before: replayed: wrong from replay 2 on"
    assert window.control("doctor.proof.1")["value"] == "after: memory moved of dgrad, layer 0: right"  # as recorded


def test_the_deadline_says_what_it_is_of(open_window):
    window = open_window("--no-worker")
    show(window, 3)
    window.wait("the label", lambda m: any(c["id"] == "doctor.deadline_label" for c in m["controls"]))
    label, choice = (window.control(one)["rect"] for one in ("doctor.deadline_label", "doctor.deadline.0"))
    assert window.control("doctor.deadline_label")["label"] == "Replay deadline"
    assert label[2] < choice[0] and label[1] < choice[3] and label[3] > choice[1]


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


def test_a_dot_file_is_examined_without_a_gpu(open_window):
    plain = pathlib.Path(__file__).parent.parent / "unit/graph/dot/plain.dot"
    window = open_window(str(plain), "--no-worker")
    window.wait("its conclusion", lambda m: any(
        c["id"] == "doctor.conclusion" and "The rules find nothing wrong" in c["value"]
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
    window.wait("the visit", lambda m: not m["state"]["from_file"] and any(
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
    assert json.loads(request)["shape"]["rows"] == 3200
    assert subject == "a step of 3200 rows"


def test_tables_are_saved_with_their_commas_quoted(open_window, recording):
    window = opened(open_window(str(recording())))
    show(window, 3)
    window.wait("the finding", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))
    # As the export of a recording has them, with evidence and fix.
    header, found = saved_csv(window, "doctor.findings_card")
    finding = dict(zip(header, found))
    assert [finding[key] for key in ("rule", "hazard", "confidence", "title")] == [
        "shared-workspace", "1", "proved", "Nodes 2 and 4 share the workspace of fprop"]
    assert finding["nodes"] == "0:2 0:4" and {"evidence", "fix"} <= set(header)
    experiments = saved_csv(window, "doctor.experiments_card")
    rows = [dict(zip(experiments[0], row)) for row in experiments[1:]]
    assert [row["experiment"] for row in rows] == ["replayed", "fprop, layer 1 moved"]
    # Replays of 42.5, 43.5, ... us: the median lies between the two in the middle.
    assert float(rows[0]["median_ns"]) == 1000 * (42 + int(rows[0]["replays"]) / 2)
    checks = saved_csv(window, "doctor.proof_card")
    assert checks[0] == ["experiment", "replay", "output", "parts", "wrong_parts"]
    assert checks[2] == ["replayed", "2", "Y, layer 0", "8", "1 5"]
    assert checks[-1] == ["fprop, layer 1 moved", rows[0]["replays"], "Y, layer 0", "8", ""]
    show(window, 1)
    window.wait("the graph", lambda m: any(c["id"] == "graphs.topology" for c in m["controls"]))
    nodes = saved_csv(window, "topology.card")
    assert len(nodes) == 25 and {len(row) for row in nodes} == {16}
    assert {"node", "stage", "waits_for", "grid"} <= set(nodes[0])
    show(window, 2)
    window.wait("the map", lambda m: any(c["id"] == "graphs.memory" for c in m["controls"]))
    memory = {row[0]: row for row in saved_csv(window, "memory.card")}
    assert memory["Y, layer 0"][1:3] == ["output", str(1 << 20)]
