"""The roofline's names: beside their points or joined to them, and never over each other."""
import pathlib

import pytest

LAYER = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
POINT = "performance.roofline."


def gaps(a, b):
    """Between two rectangles, in x and in y; both negative = they overlap."""
    return [max(a[low] - b[low + 2], b[low] - a[low + 2]) for low in (0, 1)]


@pytest.mark.parametrize("width, height", [(1280, 800), (1600, 1000)])
def test_a_name_is_beside_its_point_or_joined_to_it(open_window, width, height):
    window = open_window(str(LAYER), "--no-worker", width=width, height=height)
    window.wait("the roofline", lambda m: any(c["id"].startswith(POINT) for c in m["controls"]))
    window.settle()
    shown = {c["id"][len(POINT):]: c for c in window.map()["controls"]
             if c["id"].startswith(POINT)}
    shown.pop("unnamed", None)  # counts the roofs whose words found no room
    points = {one for one in shown if not one.endswith(".name")}
    assert points == {"quantize", "fprop", "dgrad", "wgrad"}
    names = {one.removesuffix(".name"): shown[one] for one in set(shown) - points}
    assert len(names) >= 3, "there is room for most of them"
    for point, name in names.items():
        distance = max(gaps(name["rect"], shown[point]["rect"]))
        assert distance < (12 if name["value"] == "beside" else 72), (point, name["value"])
        for other, box in names.items():
            if other != point:
                assert max(gaps(name["rect"], box["rect"])) >= 0, (point, other)

