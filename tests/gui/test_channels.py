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
    assert "channels=512" in columns and "outliers=2" in columns
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
