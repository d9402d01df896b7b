"""A click on a node of a captured graph: where it leads, what is marked, and what is explained."""
import pathlib
import shutil

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
