"""Rows and columns of an operand: a planted outlier is named, and a click leads to its largest element."""
import numpy as np


def test_an_outlier_channel_is_named_and_leads_to_its_largest_element(open_window, tmp_path):
    rng = np.random.default_rng(3)
    x = rng.standard_normal((1024, 512)).astype(np.float32)
    x[:, 77] *= 60
    x[500, 300] = 400
    path = tmp_path / "x.npy"
    np.save(path, x)
    window = open_window(str(path))
    window.wait_for_result()
    window.key("ctrl+2")
    window.settle()
    window.click("numerics.part.3")
    window.wait("the columns", lambda m: any(c["id"] == "channels.columns" for c in m["controls"]))
    columns = window.control("channels.columns")["value"]
    assert "channels=512" in columns and "outliers=2;marked=2;" in columns
    assert "Column 300 reaches 400" in columns
    assert "Row 500 reaches 400" in window.control("channels.rows")["value"]
    for figure in range(5):
        window.click(f"channels.figure.{figure}")
    window.click("channels.list.1")
    window.settle()
    window.click("channels.list.0")
    window.click("channels.figure.0")
    window.settle()
    left, top, right, bottom = window.control("channels.columns")["rect"]
    x_at = left + 40 + (right - left - 52) * 77.5 / 512
    window.xdotool("mousemove", round(x_at) + 1, round((top + bottom) / 2), "mousemove", round(x_at),
                   round((top + bottom) / 2))
    window.seen("the pointer")
    window.xdotool("mousedown", 1)
    window.seen("the press")
    window.xdotool("mouseup", 1)
    window.wait("its elements", lambda m: any(c["id"] == "numerics.cells" for c in m["controls"]))
    window.settle()
    # One pixel to the left or right is another column: whichever it was, its largest element is picked.
    words = window.control("numerics.arithmetic")["value"]
    row, column = (int(number) for number in words[words.index("[") + 1:words.index("]")].split(","))
    assert abs(column - 77) < 8 and row == int(np.abs(x[:, column]).argmax()), words


def test_without_an_outlier_nothing_is_marked_as_one(open_window, tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.random.default_rng(3).standard_normal((1024, 512)).astype(np.float32))
    window = open_window(str(path))
    window.wait_for_result()
    window.key("ctrl+2")
    window.settle()
    window.click("numerics.part.3")
    window.wait("the columns", lambda m: any(c["id"] == "channels.columns" for c in m["controls"]))
    for card in ("channels.columns", "channels.rows"):
        assert "outliers=0;marked=0;" in window.control(card)["value"]
    # The lowest SNR is worth a look whatever it is.
    window.click("channels.figure.1")
    window.wait("the lowest SNR", lambda m: any(
        c["id"] == "channels.columns" and "marked=3;" in c["value"] for c in m["controls"]))


def test_the_grid_scrolls_to_an_element_in_the_last_columns(open_window, tmp_path):
    x = np.random.default_rng(3).standard_normal((1024, 512)).astype(np.float32)
    x[1020, 509] = 300
    path = tmp_path / "x.npy"
    np.save(path, x)
    window = open_window(str(path), width=1280, height=800)
    window.wait_for_result()
    window.key("ctrl+2")
    window.settle()
    window.click("numerics.part.3")
    window.wait("the worst", lambda m: any(c["id"] == "##channels.worst.row.0" for c in m["controls"]) or any(
        c["id"].endswith("worst.row.0") for c in m["controls"]))
    row = next(c["id"] for c in window.map()["controls"] if c["id"].endswith("worst.row.0"))
    window.click(row)
    window.wait("its elements", lambda m: any(
        c["id"] == "numerics.arithmetic" and "[1020, 509]" in c["value"] for c in m["controls"]))
    window.settle()
    grid = window.control("numerics.cells")
    facts = dict(part.split("=") for part in grid["value"].split(";"))
    left, top, right, bottom = grid["rect"]
    at_x = float(facts["left"]) - float(facts["scroll_x"]) + (509 - int(facts["column"])) * float(facts["cell_width"])
    at_y = float(facts["top"]) - float(facts["scroll_y"]) + (1020 - int(facts["row"])) * float(facts["cell_height"])
    assert float(facts["left"]) <= at_x and at_x + float(facts["cell_width"]) <= right, facts
    assert float(facts["top"]) <= at_y and at_y + float(facts["cell_height"]) <= bottom, facts
