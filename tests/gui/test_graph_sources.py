"""Whose captured graph the views of the Graphs page show: one choice for topology, memory and doctor."""
import pathlib
import shutil

import pytest

SHIPPED = pathlib.Path(__file__).resolve().parents[2] / "assets/sessions/h200_layer.session"
OF_THE_RUN = "graph of the run on screen"


@pytest.fixture
def window(open_window, tmp_path):
    """A recording of runs whose graphs were captured, and of a visit that proved something else."""
    window = open_window(str(shutil.copy(SHIPPED, tmp_path / SHIPPED.name)), "--no-worker", width=1280, height=800)
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    window.key("ctrl+3")
    return window


def show(window, view):
    window.click(f"graphs.view.{view}")
    window.settle()  # the doctor's own source may be another, with other figures above it


def source(window, wanted):
    """The source that the list on screen names, once it begins so; -> its whole name."""
    window.wait(f"the source {wanted}", lambda m: any(
        c["id"] == "graphs.source" and c["value"].startswith(wanted) for c in m["controls"]))
    return window.control("graphs.source")["value"]


def nodes(window, wanted):
    """Waits until the topology shows a graph whose number of nodes is as wanted."""
    def shown(m):
        control = next((c for c in m["controls"] if c["id"] == "graphs.topology"), None)
        return control and wanted(int(dict(part.split("=") for part in control["value"].split(";"))["nodes"]))
    window.wait("its graph", shown)


def test_topology_and_memory_open_on_the_graph_of_the_run_on_screen(window):
    for view in (1, 2):
        show(window, view)
        assert source(window, "") == OF_THE_RUN
    show(window, 1)
    nodes(window, lambda n: n > 20)


def test_the_doctor_opens_on_the_visit_to_the_run_until_one_is_chosen(window):
    """The rules find nothing in the run's graph: there the page would be empty."""
    show(window, 3)
    source(window, "visit 1")
    window.choose("graphs.source", OF_THE_RUN)
    show(window, 1)
    show(window, 3)
    assert source(window, "") == OF_THE_RUN


def test_the_choice_is_that_of_all_views(window):
    show(window, 1)
    source(window, OF_THE_RUN)
    window.choose("graphs.source", "visit 2")
    nodes(window, lambda n: n < 20)
    for view in (2, 3, 1):
        show(window, view)
        source(window, "visit 2")
    window.choose("graphs.source", OF_THE_RUN)
    for view in (2, 3, 1):
        show(window, view)
        source(window, OF_THE_RUN)
    nodes(window, lambda n: n > 20)


def test_a_node_of_a_finding_is_shown_in_the_graph_that_the_finding_is_about(window):
    show(window, 3)
    window.choose("graphs.source", "visit 2")
    source(window, "visit 2")
    window.wait("its finding", lambda m: any(c["id"] == "doctor.node.0" for c in m["controls"]))
    window.settle()
    window.click("doctor.node.0")
    nodes(window, lambda n: n < 20)
    source(window, "visit 2")


def test_the_colours_of_before_and_after_have_a_key(window):
    show(window, 3)
    window.choose("graphs.source", "visit 2")
    window.wait("before and after", lambda m: any(c["id"] == "doctor.proof.1" for c in m["controls"]))
    key, card = window.control("doctor.proof_key"), window.control("doctor.proof_card")
    assert key["value"] == "equal to the eager launches, bit for bit; different"
    x0, y0, x1, y1 = key["rect"]
    assert key["visible"] and 0 <= x0 < x1 <= 1280 and 0 <= y0 < y1 <= 800, key["rect"]
    assert y0 >= window.control("doctor.proof.1")["rect"][3] - 1, "below the grids"


def test_an_outcome_is_read_whole_at_1280_pixels(window):
    """Outcomes get the room that the names of the experiments leave over."""
    show(window, 3)
    window.choose("graphs.source", "visit 2")
    window.wait("its experiments", lambda m: any(
        c["id"] == "doctor.experiments.row.5" for c in m["controls"]))
    window.settle()
    x0, _, x1, _ = window.control("doctor.experiments.column.1")["rect"]
    assert x1 - x0 > 180, "'replays are wrong from replay 1 on'"
    signs, end = (window.control(f"doctor.experiments.column.{i}")["rect"] for i in (2, 3))
    assert signs[2] - signs[0] > 60 and signs[2] <= end[0] <= 902, "the heading 'replays', and six signs"


def test_a_node_is_chosen_once_for_all_views(window):
    def row(m):
        return next((c["id"] for c in m["controls"] if c["id"].startswith("graphs.nodes.row.") and c["value"] == "true"),
                    None)

    def chosen(m):
        control = next((c for c in m["controls"] if c["id"] == "graphs.topology"), None)
        return control and dict(part.split("=") for part in control["value"].split(";"))["selected"]

    window.wait("the nodes", lambda m: any(c["id"] == "graphs.nodes.row.2" for c in m["controls"]))
    window.settle()
    window.click("graphs.nodes.row.2")
    window.wait("the row", lambda m: row(m) == "graphs.nodes.row.2")
    show(window, 1)
    window.wait("its node", lambda m: chosen(m) not in (None, "-1"))
    first = chosen(window.map())
    # And back: the next node of the graph.
    window.click("topology.search")
    window.xdotool("type", "--delay", 30, "1")
    window.click("topology.next")
    window.wait("another node", lambda m: chosen(m) not in (None, "-1", first))
    window.click("graphs.view.0")
    window.wait("its row", lambda m: row(m) not in (None, "graphs.nodes.row.2"))
