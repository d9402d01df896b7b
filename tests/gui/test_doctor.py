"""The graph views: a recording with visits to the doctor, viewed without a GPU."""
import csv
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import time

import pytest

picture = pytest.importorskip("picture")  # needs numpy


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


@pytest.fixture
def shared_workspace(tmp_path):
    """A visit that was made on an H200: three products share a workspace, moving one is enough. A copy: the window
    saves next to what it has opened."""
    shipped = pathlib.Path(__file__).resolve().parents[2] / "assets/sessions/workspace_bug.session"
    return str(shutil.copy(shipped, tmp_path / shipped.name))


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


def zoomed(window, steps):
    """Over the middle of the topology."""
    x, y = window.centre("graphs.topology")
    for _ in range(steps):
        window.xdotool("mousemove", x, y, "click", 4)
    return wait_fields(window, "graphs.topology", lambda f: True)


def test_topology_marks_what_the_finding_names_and_explains_its_colours(open_window, shared_workspace):
    window = opened(open_window(shared_workspace, "--no-worker"))
    show(window, 1)
    start = wait_fields(window, "graphs.topology", lambda f: f["named"] == "3")
    assert window.control("topology.key")["value"] == (
        "offsets; quantize; fprop; dgrad; wgrad; waits for; named by shared-workspace")
    window.click("topology.colors.1")
    window.wait("the key of findings", lambda m: any(
        c["id"] == "topology.key" and c["value"].startswith("likely or proved; possible") for c in m["controls"]))
    # Letters grow with the boxes.
    window.xdotool("mousemove", 5, 5)
    zoomed(window, 4)
    wait_fields(window, "graphs.topology", lambda f: float(f["text"]) > 1.3 * float(start["text"]))
    window.click("topology.search")
    window.xdotool("type", "--delay", 30, "tile_kernel")
    for operand in ("X", "W", "dY"):
        window.click("topology.next")
        window.wait(f"the node that quantizes {operand}", lambda m: any(
            c["id"] == "graphs.node" and c["value"].endswith(f";operand={operand}") for c in m["controls"]))
    # Without the finding nothing is marked.
    window.click("graphs.view.3")
    window.click("doctor.no_finding")
    window.click("graphs.view.1")
    wait_fields(window, "graphs.topology", lambda f: f["named"] == "0")
    assert "named" not in window.control("topology.key")["value"]


def test_memory_marks_what_the_finding_names(open_window, shared_workspace):
    window = opened(open_window(shared_workspace, "--no-worker"))
    show(window, 2)
    wait_fields(window, "graphs.memory", lambda f: f["rows"] == "39" and f["named"] == "1")
    assert window.control("memory.key")["value"] == (
        "named by shared-workspace; address that it names; address held; certainly written; lifetime; capture")
    # What it names is the first row, whatever its role.
    rows = saved_csv(window, "memory.card")
    assert rows[1][0] == "workspace of all products"
    # With another role there is none.
    window.choose("memory.role", "splits")
    wait_fields(window, "graphs.memory", lambda f: f["named"] == "0")


def test_byte_numbers_are_whole_and_grouped(open_window, shared_workspace):
    """1648 and 1656 of a product's argument bytes: the table of the chosen node."""
    window = opened(open_window(shared_workspace, "--no-worker"))
    window.click("doctor.node.0")
    show(window, 1)
    window.wait("the node", lambda m: any(
        c["id"] == "graphs.node" and c["value"].startswith("node=4;") for c in m["controls"]))
    places = [row[0] for row in saved_csv(window, "node.card")[1:]]
    assert "parameter byte 1 648" in places and "parameter byte 1 656" in places


def test_the_deadline_says_what_it_is_of(open_window):
    window = open_window("--no-worker")
    show(window, 3)
    window.wait("the label", lambda m: any(c["id"] == "doctor.deadline_label" for c in m["controls"]))
    label, choice = (window.control(one)["rect"] for one in ("doctor.deadline_label", "doctor.deadline.0"))
    assert window.control("doctor.deadline_label")["label"] == "Replay deadline"
    assert label[2] < choice[0] and label[1] < choice[3] and label[3] > choice[1]


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
    window.choose("doctor.case", "Two grouped matmuls share one workspace")
    window.wait("the case", lambda m: any(c["id"] == "doctor.case_text" for c in m["controls"]))
    assert window.control("doctor.case_text")["value"] == "shared-workspace"
    assert not window.control("doctor.examine")["enabled"]


def test_questions_lead_from_a_symptom_to_a_case(open_window):
    window = open_window("--no-worker", width=1280, height=720)
    show(window, 3)
    window.click("doctor.subject.1")

    def asks(symptom, case):
        def led_to(controls):
            return [c for c in controls if c["id"].startswith("doctor.question.") and c["value"] == case]
        current = window.wait(f"the questions of {symptom}", lambda m: led_to(m["controls"]) and any(
            c["id"] == "doctor.symptom_shown" and c["value"] == symptom for c in m["controls"]))
        return led_to(current["controls"])[0]

    assert not window.control("doctor.show_recorded")["enabled"], "no case is chosen"
    asks("hangs", "lazy-load-in-capture")
    for number, (symptom, case) in enumerate(
            [("hangs", "flag-not-reset"), ("wrong", "shared-workspace"), ("refused", "missing-join"),
             ("slow", "lazy-load-in-capture")]):
        window.click(f"doctor.symptom.{number}")
        question = asks(symptom, case)
        assert question["label"].endswith("?")
        window.click(question["id"])
        window.wait("the case", lambda m: any(
            c["id"] == "doctor.case_text" and c["value"] == case for c in m["controls"]))
        # Back to the questions.
        window.choose("doctor.case", "By what you see")
    asks("slow", "lazy-load-in-capture")


def test_no_conclusion_about_another_subject_stands_beside_a_case(open_window, shared_workspace):
    window = opened(open_window(shared_workspace, "--no-worker"))
    window.wait("its finding", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))

    def only_the_case(case):
        window.wait(f"{case} alone", lambda m: any(
            c["id"] == "doctor.case_text" and c["value"] == case for c in m["controls"]) and not any(
            c["id"] in ("doctor.finding.0", "doctor.proof.0", "doctor.stall") for c in m["controls"]) and not any(
            c["id"] == "doctor.export" and c["enabled"] for c in m["controls"]))
        assert "Proved" not in window.control("doctor.conclusion")["value"]
        assert window.control("doctor.experiments_made")["value"].startswith("n=0")
        assert not window.control("doctor.export")["enabled"]

    window.click("doctor.subject.1")
    window.wait("the questions", lambda m: any(c["id"] == "doctor.symptom_shown" for c in m["controls"]))
    assert "Proved" not in window.control("doctor.conclusion")["value"]
    window.choose("doctor.case", "A counter that no replay resets")
    only_the_case("flag-not-reset")
    # A visit to this case is about it, one to its twin would not be.
    window.click("doctor.see_recorded")
    shows_recorded(window, "A counter that no replay resets")
    window.click("doctor.healthy")
    only_the_case("flag-not-reset")
    # The report that is chosen by name brings its subject with it.
    window.choose("graphs.source", "visit 1")
    window.wait("the visit", lambda m: any(
        c["id"] == "doctor.conclusion" and c["value"].startswith("Proved: 3 grouped") for c in m["controls"]))
    assert window.control("doctor.case") is None, "its subject is no case of the gallery"
    window.choose("graphs.source", "recorded on")
    shows_recorded(window, "A counter that no replay resets")
    assert window.control("doctor.case")["value"] == "A counter that no replay resets"


ASSETS = pathlib.Path(__file__).resolve().parents[2] / "assets"


@pytest.fixture
def gallery(tmp_path, monkeypatch):
    """The program's assets with another recording of the gallery, which lacks the named cases; with None there is
    no recording."""
    assets = tmp_path / "assets"

    def make(without):
        (assets / "sessions").mkdir(parents=True)
        for folder in ASSETS.iterdir():
            if folder.name != "sessions":
                (assets / folder.name).symlink_to(folder)
        if without is not None:
            maker = os.environ.get("DOCTOR_RECORDING_MAKER")
            if not maker:
                pytest.skip("DOCTOR_RECORDING_MAKER does not name the built program")
            path = assets / "sessions" / "gallery.session"
            subprocess.run([maker, path, "gallery", *without], check=True, timeout=60)
        monkeypatch.setenv("EXPERTSCOPE_ASSETS", str(assets))

    return make


def shows_recorded(window, title):
    window.wait(f"the recorded visit: {title}", lambda m: any(
        c["id"] == "graphs.source" and c["value"] == f"recorded on NVIDIA H200: {title}" for c in m["controls"]))
    window.wait("its cure", lambda m: any(c["id"] == "doctor.code" for c in m["controls"]))
    assert window.control("doctor.conclusion")["value"].startswith("Proved: ")
    assert window.control("doctor.finding.0")["value"].startswith("proved ")


def test_recorded_visits_of_the_gallery_are_seen_without_a_gpu(open_window, gallery):
    gallery([])
    window = open_window("--no-worker")
    show(window, 1)
    window.click("graphs.recorded")
    shows_recorded(window, "Two grouped matmuls share one workspace")
    # Another case: its visit follows.
    window.choose("doctor.case", "A counter that no replay resets")
    shows_recorded(window, "A counter that no replay resets")
    assert window.control("doctor.finding.0")["value"] == "proved unreset-counter"
    assert fields(window.control("doctor.experiments_made"))["n"] == "2"
    assert window.control("doctor.proof.1")["value"].startswith("after: ")
    show(window, 1)
    wait_fields(window, "graphs.topology", lambda f: f["nodes"] == "24" and f["named"] == "2")
    show(window, 2)
    wait_fields(window, "graphs.memory", lambda f: f["rows"] == "4" and f["named"] == "1")
    # A healthy twin has none.
    show(window, 3)
    window.click("doctor.healthy")
    window.wait("no recorded visit to it", lambda m: any(
        c["id"] == "doctor.show_recorded" and not c["enabled"] for c in m["controls"]))


def test_a_case_that_the_recording_has_a_visit_to_is_opened(open_window):
    window = open_window(str(ASSETS / "sessions" / "gallery.session"), "--no-worker")
    window.wait("the first visit", lambda m: any(c["id"] == "graphs.source" for c in m["controls"]))

    def source_and_header(words):
        window.wait(words, lambda m: any(c["id"] == "graphs.source" and c["value"].endswith(words)
                                         for c in m["controls"]))
        window.settle()
        assert window.control("headline.subject")["value"].endswith(words)

    window.choose("doctor.case", "A scale passed by value")
    source_and_header(": A scale passed by value")
    assert window.control("graphs.source")["value"].startswith("visit ")
    assert "not examined" not in window.control("doctor.conclusion")["value"]
    # Nothing was recorded of its twin: then no other visit is named.
    window.click("doctor.healthy")
    window.wait("the twin", lambda m: any(c["id"] == "graphs.source" and c["value"].startswith("not examined: ")
                                          for c in m["controls"]))
    window.settle()
    assert "not examined: A scale passed by value" in window.control("headline.subject")["value"]


@pytest.mark.parametrize("without, why", [
    (None, "there are no recorded visits to the gallery at"), (["shared-workspace"], "holds no visit to shared-workspace")])
def test_a_missing_visit_is_said_to_be_missing(open_window, gallery, without, why):
    gallery(without)
    window = open_window("--no-worker")
    show(window, 3)
    window.click("doctor.see_recorded")
    window.wait("the reason", lambda m: any(
        c["value"].startswith("Not opened: ") and why in c["value"] for c in m["controls"]))
    # The gallery's own words are there all the same.
    assert window.control("doctor.case_text")["value"] == "shared-workspace"


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


def saved_csv(window, card):
    """The rows that the card's menu saves."""
    stem = card.removesuffix("_card").removesuffix(".card").replace(".", "-")
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
