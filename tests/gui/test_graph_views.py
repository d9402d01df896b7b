"""Topology and memory map of a captured graph, viewed without a GPU."""
import time

from graphs_page import opened, recording, saved_csv, shared_workspace, show, wait_fields  # noqa: F401


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


def test_memory_shows_unordered_nodes(open_window, recording):
    window = opened(open_window(str(recording())))
    show(window, 2)
    assert wait_fields(window, "graphs.memory", lambda f: f["rows"] == "4")
    window.click("memory.only_red")
    wait_fields(window, "graphs.memory", lambda f: f["rows"] == "1" and f["unordered"] == "1")


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
