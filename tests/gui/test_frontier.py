"""The Frontier of a sweep with many points: names, numbers that their rows have too, and marks."""
import subprocess

import pytest


@pytest.fixture
def crowded(open_window, program, tmp_path):
    path = tmp_path / "crowded.session"
    subprocess.run([program, "sweep", "--worker-backend", "cpu", "--num_experts", "4", "--rows", "64", "--n", "64",
                    "--k", "128", "--iterations", "2", "--seed", ",".join(map(str, range(1, 8))), "--axes",
                    "recipe,pow2", "--record", str(path)], check=True, capture_output=True, timeout=200)
    window = open_window(str(path), "--no-worker", width=1440, height=900)
    window.wait("the runs", lambda m: m["state"]["runs"] > 50)
    window.key("ctrl+4")
    window.wait("the page", lambda m: any(c["id"] == "compare.part.1" for c in m["controls"]))
    window.settle()
    window.click("compare.part.1")
    window.wait("the points", lambda m: any(c["id"] == "frontier.point.50" for c in m["controls"]))
    window.settle()
    return window


def controls(window, start):
    return {c["id"]: c for c in window.map()["controls"] if c["id"].startswith(start)}


def test_points_of_a_large_sweep_have_a_name_or_their_number(crowded):
    window = crowded
    points = {one for one in controls(window, "frontier.point.") if one.count(".") == 2}
    assert len(points) > 50
    words = {one: c for one, c in controls(window, "frontier.point.").items() if one.count(".") == 3}
    named = {one.rsplit(".", 1)[0] for one in words}
    briefs = {one: c for one, c in words.items() if one.endswith(".brief")}
    assert briefs, "there is no room for so many names"
    # Of points on top of each other some have neither: the pointer names them, and their rows mark them.
    assert len(named) >= 0.65 * len(points), sorted(points - named)
    for one, brief in briefs.items():
        assert brief["label"] == str(int(one.split(".")[2]) + 1)
    # None covers another, or extends beyond the plot.
    plot = window.control("frontier.scatter")["rect"]
    boxes = [c["rect"] for c in words.values()]
    for i, a in enumerate(boxes):
        assert plot[0] <= a[0] and a[2] <= plot[2]
        for b in boxes[:i]:
            assert a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1], (a, b)
    headings = [c["label"] for one, c in controls(window, "frontier.table.column.").items()]
    assert "#" in headings


def test_a_row_marks_its_point_and_a_point_says_its_name(crowded):
    window = crowded
    brief = next(c for one, c in controls(window, "frontier.point.").items() if one.endswith(".brief"))
    point = window.control(brief["id"].removesuffix(".brief"))
    x, y = window.centre(point["id"])
    window.xdotool("mousemove", x + 1, y, "mousemove", x, y)
    window.seen("the pointer")
    said = window.wait("what it is", lambda m: m["state"]["tooltip"])["state"]["tooltip"]
    names = {c["label"]: c for c in controls(window, "frontier.point.").values()}
    name = said.split("\n")[0]
    assert name in names, said
    assert f"#: {int(names[name]['id'].split('.')[2]) + 1}\n" in said

    def marked(current):
        return next(c["value"] for c in current["controls"] if c["id"] == "frontier.marked")

    assert marked(window.map()) == "selected=0;pointed=0"
    x, y = window.centre("frontier.table.row.2")
    window.xdotool("mousemove", x + 1, y, "mousemove", x, y)
    window.wait("its mark", lambda m: marked(m) == "selected=0;pointed=3")
    window.click("frontier.table.row.1")
    window.wait("both", lambda m: marked(m) == "selected=2;pointed=2")
