"""A click on a node of a captured graph: where it leads, what is marked, and what is explained."""
import os
import pathlib
import shutil
import subprocess

import pytest

picture = pytest.importorskip("picture")  # needs numpy

SHIPPED = pathlib.Path(__file__).resolve().parents[2] / "assets/sessions/workspace_bug.session"


@pytest.fixture(params=[(1280, 720, 0), (1280, 720, 3)], ids=["plain", "large text"])
def window(open_window, tmp_path, request):
    """The visit to a shared workspace, in the smallest usual window; with large text the cards are stacked."""
    width, height, larger = request.param
    window = open_window(str(shutil.copy(SHIPPED, tmp_path / SHIPPED.name)), "--no-worker", width=width, height=height)
    window.wait("its finding", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))
    for _ in range(larger):
        window.click("top.larger")
    window.key("ctrl+3")
    window.settle()
    return window


def selected(window):
    control = window.control("graphs.topology")
    return control and dict(part.split("=") for part in control["value"].split(";"))["selected"]


def click_at(window, x, y):
    window.xdotool("mousemove", x + 1, y, "mousemove", x, y)
    window.seen("the pointer")
    window.xdotool("mousedown", 1)
    window.seen("the press")
    window.xdotool("mouseup", 1)
    window.seen("the release")


def details(window, node):
    """They are in the window, not below its edge; -> their value."""
    control = next(c for c in window.wait(f"the details of node {node}", lambda m: any(
        c["id"] == "graphs.node" and c["value"].startswith(f"node={node};") for c in m["controls"]))["controls"]
        if c["id"] == "graphs.node")
    x0, y0, x1, y1 = control["rect"]
    assert control["visible"] and 0 <= x0 < x1 <= 1280 and 0 <= y0 < y1 <= 720, control["rect"]
    assert y1 - y0 > 100, "room for arguments, edges and memory"
    return control["value"]


def test_a_click_in_the_topology_marks_the_node_and_another_beside_it_nothing(window):
    window.click("graphs.view.1")
    window.click("topology.search")
    window.xdotool("type", "--delay", 30, "4")  # brings it to the middle
    window.click("topology.next")
    window.wait("node 4", lambda _: selected(window) == "4")
    x0, y0, x1, y1 = (round(edge) for edge in window.control("graphs.topology")["rect"])
    window.settle()
    click_at(window, x0 + 4, y0 + 4)
    window.wait("no node", lambda _: selected(window) == "-1")
    assert window.control("graphs.node")["value"] == "none"
    x, y = (x0 + x1) // 2, (y0 + y1) // 2
    plain = picture.read_png(window.picture().read_bytes())
    click_at(window, x, y)
    window.wait("node 4 again", lambda _: selected(window) == "4")
    assert "addresses=" in details(window, 4)
    marked = picture.read_png(window.picture().read_bytes())
    around = (slice(y - 60, y + 60), slice(max(x0, x - 160), min(x1, x + 160)))
    changed = (abs(marked[around].astype(int) - plain[around].astype(int)).max(axis=2) > 40).sum()
    assert changed > 200, "an outline and its edges"
    click_at(window, x0 + 4, y0 + 4)
    window.wait("no node again", lambda _: selected(window) == "-1")


def test_a_click_on_a_node_of_a_finding_shows_it_in_the_topology(window):
    window.click("graphs.view.3")
    window.wait("its node", lambda m: any(c["id"] == "doctor.node.1" for c in m["controls"]))
    window.settle()
    # With a double click the card fills the page: its nodes are seen with large text too.
    window.xdotool("mousemove", *window.centre("doctor.finding_card.title"))
    window.settle()
    window.xdotool("click", "--repeat", 2, "--delay", 40, 1)
    window.wait("the card alone", lambda m: all(c["id"] != "doctor.state_card.title" for c in m["controls"]))
    window.settle()
    window.click("doctor.node.1")
    window.wait("the topology", lambda _: selected(window) == "7")
    assert "addresses=" in details(window, 7)


def rows_of_the_hung_replay(window):
    """From top to bottom: (name, state)."""
    rows = [c for c in window.map()["controls"] if c["id"].startswith("doctor.stall_row.")]
    return [(c["label"], c["value"]) for c in sorted(rows, key=lambda c: c["rect"][1])]


def hung_replay(window):
    window.wait("the hung replay", lambda m: any(c["id"] == "doctor.stall_timeline" for c in m["controls"]))
    control = window.control("doctor.stall_timeline")
    return control, dict(part.split("=") for part in control["value"].split(";"))


@pytest.fixture
def stalled(open_window, tmp_path):
    """A recording whose second visit hung."""
    maker = os.environ.get("DOCTOR_RECORDING_MAKER")
    if not maker:
        pytest.skip("DOCTOR_RECORDING_MAKER does not name the built program")
    path = tmp_path / "visits.session"
    subprocess.run([maker, path], check=True, timeout=60)
    window = open_window(str(path), "--no-worker", width=1280, height=720)
    window.wait("the first visit", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))
    return window


def test_a_hung_replay_is_drawn_on_a_timeline_with_its_board(stalled):
    window = stalled
    assert window.control("doctor.stall_timeline") is None, "nothing hung there"
    window.choose("graphs.source", "visit 2")
    control, stall = hung_replay(window)
    assert control["label"].startswith("In order, not to scale"), "no time of a finished node was measured"
    assert stall == {"finished": "2", "running": "1", "never_started": "3", "unmarked": "0", "deadline_s": "1"}
    rows = rows_of_the_hung_replay(window)
    assert [state for _, state in rows] == ["finished"] * 2 + ["running"] + ["never started"] * 3
    assert rows[0][0].startswith("0  memset") and "grouped_gemm" in rows[2][0]
    board = window.control("doctor.board")
    assert board["value"] == "done=2;running=1;not_reached=3"
    assert board["visible"] and board["rect"][3] <= control["rect"][3], "below the rows, in the card"
    # Right of the names the running node reaches the deadline; a finished one has ended before.
    whole = picture.read_png(window.picture().read_bytes()).astype(int)

    def reach(number):
        x0, y0, x1, y1 = (round(edge) for edge in window.control(f"doctor.stall_row.{number}")["rect"])
        line = whole[(y0 + y1) // 2, x0 + (x1 - x0) // 2:x1]
        return (abs(line - line[-1]).max(axis=1) > 40).sum() / len(line)
    assert reach(2) > 0.3 > reach(0)
    # A click leads to the node.
    window.click("doctor.stall_row.2")
    window.wait("the topology", lambda _: selected(window) == "2")
    details(window, 2)


def test_the_shipped_hung_replay_has_its_timeline(open_window):
    window = open_window("--no-worker", width=1280, height=720)
    window.key("ctrl+3")
    window.click("graphs.view.3")
    window.click("doctor.subject.1")
    window.choose("doctor.case", "A counter that no replay resets")
    window.click("doctor.show_recorded")
    control, stall = hung_replay(window)
    assert control["visible"]
    assert stall["running"] == "1" and stall["deadline_s"] == "0.5"
    assert rows_of_the_hung_replay(window) == [("0  scale_by_amax", "running")]


def test_a_core_dump_says_in_the_window_where_the_kernel_was(stalled):
    """As the recording holds it: neither the dump nor a debugger is here."""
    stalled.choose("graphs.source", "visit 2")
    control, _ = hung_replay(stalled)
    said = {c["id"].removeprefix("doctor.core."): c for c in stalled.map()["controls"]
            if c["id"].startswith("doctor.core.")}
    assert {name: one["value"] for name, one in said.items()} == {
        "kernel": "grouped_gemm_kernel<<<(132,1,1),(384,1,1)>>>", "waits": "a barrier of its thread block",
        "block": "(5,0,0)", "warp": "3 on SM 14, lane 0", "thread": "(96,0,0)",
        "instruction": "BAR.SYNC.DEFER_BLOCKING 0x0", "pc": "0x7fffd5257030", "source": "grouped_gemm.cu:120",
        "file": "dumps/run-7.core"}
    assert said["kernel"]["visible"] and said["waits"]["visible"]
    assert said["kernel"]["rect"][1] < control["rect"][3], "beside the timeline"
    assert "waits for a barrier of its thread block" in stalled.control("doctor.stall")["value"]
    # A visit without a dump has no card for one.
    stalled.choose("graphs.source", "visit 1")
    stalled.wait("the other visit", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))
    assert stalled.control("doctor.core.kernel") is None
