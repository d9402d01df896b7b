"""The presenter's view: one card at a time, with real keys."""
import json
import pathlib
import re
import time

import pytest

from window_driver import WaitedTooLong

SESSIONS = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions"
STEP = {"caption": "Look here.", "recording": str(SESSIONS / "h200_layer.session"), "run": 0}


def line_of(current):
    return next((c["value"] for c in current["controls"] if c["id"] == "present.line"), "")


def wait_for_line(window, start):
    return window.wait(f"the line {start!r}", lambda m: line_of(m).startswith(start))


def ids_of(current):
    return {c["id"] for c in current["controls"]}


def has_rail(current):
    return any(one.startswith("rail.") for one in ids_of(current))


@pytest.fixture
def recorded(open_window):
    window = open_window(str(SESSIONS / "h200_layer.session"), "--no-worker", width=1280, height=720)
    window.wait("the timeline", lambda m: "performance.timeline_card.title" in ids_of(m))
    window.settle()  # its legend may need another line, which moves the cards below
    return window


def test_one_card_at_a_time_and_back(recorded):
    window = recorded
    before = window.map()
    assert has_rail(before)
    scale = before["text_scale"]
    window.key("F11")
    wait_for_line(window, "Performance · Timeline · 1 of 6 · h200_layer.session")
    current = window.wait("large text", lambda m: m["text_scale"] == pytest.approx(1.5 * scale))
    assert not has_rail(current) and "top.open" not in ids_of(current)
    assert [one for one in ids_of(current) if one.endswith("_card.title")] == [
        "performance.timeline_card.title"], "one card"
    assert "performance.spread" not in ids_of(current), "figures under the card are no controls"
    run = window.control("present.run")["value"]
    assert run.startswith("step 11.2") and "TFLOP/s · SNR of Y 23.6 dB · " in run and "NVIDIA H200" in run and "FP8 block" in run
    sentence = window.control("present.sentence")["value"]
    assert re.match(r"Kernels run for 99\.\d % of the median replay: its gaps together take ", sentence)
    assert "Most of the time goes to wgrad (31 %), then quantize (22 %)" in sentence
    window.key("Right")
    line = line_of(wait_for_line(window, "Performance · Per expert: "))
    assert re.match(r"Performance · Per expert: (fprop|dgrad|wgrad|quantize)[^·]* · 2 of 6", line), "its stage"
    assert window.control("present.sentence") is None, "it shows no kernels"
    window.key("Left")
    wait_for_line(window, "Performance · Timeline · 1 of 6")
    window.key("End")
    wait_for_line(window, "Performance · Roofline · 6 of 6")
    assert window.control("present.sentence")["value"].startswith("Of what this run's own copy (")
    window.key("Next")
    current = wait_for_line(window, "Numerics · ")
    assert " · 1 of " in line_of(current) and current["state"]["page"] == "numerics"
    window.key("Prior")
    wait_for_line(window, "Performance · Roofline · 6 of 6")
    window.key("space")
    wait_for_line(window, "Numerics · ")
    window.key("Escape")
    after = window.wait("the rail", lambda m: has_rail(m) and m["text_scale"] == scale)
    assert not line_of(after) and after["state"]["page"] == "performance"
    assert ids_of(after) == ids_of(before)
    window.key("Next")
    window.wait("the next run", lambda m: m["state"]["shown_run_id"]
                != before["state"]["shown_run_id"])


def test_every_page_is_reached_and_can_be_left(recorded):
    window = recorded
    window.key("ctrl+4")
    window.wait("Compare", lambda m: m["state"]["page"] == "compare")
    window.key("ctrl+1")
    window.wait("Performance", lambda m: m["state"]["page"] == "performance")
    window.key("F11")
    current = wait_for_line(window, "Performance · ")
    seen = [line_of(current)]
    for _ in range(40):
        window.key("Right")
        window.settle()
        if line_of(window.map()) == seen[-1]:
            break
        seen.append(line_of(window.map()))
    pages = list(dict.fromkeys(one.split(" · ")[0] for one in seen))
    assert pages == ["Performance", "Numerics", "Graphs", "Compare"]
    assert len(seen) == len(set(seen))
    window.key("F11")
    window.wait("the rail", has_rail)
    assert window.state()["page"] == "performance"


def test_a_card_that_filled_the_page_fills_it_again(recorded):
    window = recorded
    window.click("performance.roofline_card.menu")
    window.click("performance.roofline_card.menu.fill")
    window.wait("a filled page", lambda m: "performance.roofline_card.back" in ids_of(m))
    window.key("F11")
    wait_for_line(window, "Performance · Timeline · 1 of 6")
    window.key("F11")
    window.wait("the filled page", lambda m: "performance.roofline_card.back" in ids_of(m)
                and has_rail(m))
    window.close_politely()
    settings = (window.folder / "config" / "expertscope" / "settings.json").read_text()
    assert "1.5" not in settings


def test_a_tour_keeps_its_keys_and_its_caption(open_window, tmp_path):
    tour = tmp_path / "two.json"
    tour.write_text(json.dumps({"title": "Two", "steps": [
        {"name": "1", "page": "performance", "panel": "performance.roofline", **STEP},
        {"name": "2", "page": "numerics", **STEP}]}))
    window = open_window(str(tour), "--no-worker")
    window.wait("the caption", lambda m: "tour.state" in ids_of(m)
                and "performance.timeline_card.title" in ids_of(m))
    window.key("space")
    window.key("F11")
    current = wait_for_line(window, "Performance · Roofline · 6 of 6")
    assert "tour.state" in ids_of(current)
    window.key("Right")
    current = wait_for_line(window, "Numerics · ")
    assert "step=2" in next(c["value"] for c in current["controls"] if c["id"] == "tour.state")
    window.key("Escape")
    window.wait("the rail", lambda m: has_rail(m) and "tour.state" in ids_of(m))


@pytest.fixture
def layer(open_window):
    window = open_window(str(SESSIONS / "h200_layer.session"), "--no-worker", width=1280, height=800)
    window.wait("the timeline", lambda m: "performance.timeline_card.title" in ids_of(m))
    return window


def walk(window):
    seen = [line_of(window.map())]
    for _ in range(40):
        window.key("Right")
        window.settle()
        if line_of(window.map()) == seen[-1]:
            return seen
        seen.append(line_of(window.map()))
    raise AssertionError("the walk has no end")


def test_only_the_card_and_the_line_with_its_keys_are_on_screen(layer):
    window = layer
    assert "status.worker" in ids_of(window.map())
    window.key("F11")
    current = wait_for_line(window, "Performance · ")
    assert not [one for one in ids_of(current) if one.startswith("status.")]
    keys = window.control("present.keys")
    assert "← →" in keys["value"] and "Esc" in keys["value"] and keys["visible"]
    lowest = window.control("present.sentence")["rect"][3]
    assert lowest > 800 - 26, "the card has the room of the status bar"


def test_a_card_that_only_waits_for_the_user_is_not_walked(layer):
    window = layer
    window.key("ctrl+2")
    window.wait("Numerics", lambda m: "numerics.selection" in ids_of(m))
    window.key("F11")
    wait_for_line(window, "Numerics · ")
    assert not [one for one in walk(window) if "Selected range" in one]


def test_the_layers_picture_is_seen_whole(layer):
    window = layer
    scale = window.map()["text_scale"]
    window.key("ctrl+2")
    window.click("numerics.part.2")
    window.wait("the picture", lambda m: "layer.picture" in ids_of(m))
    window.key("F11")
    wait_for_line(window, "Numerics · Expert layer · ")

    def whole(m):
        boxes = [c for c in m["controls"]
                 if c["id"].startswith(("layer.tensor.", "layer.kernels."))]
        return len(boxes) > 10 and all(c["visible"] for c in boxes)
    current = window.wait("every box", whole)
    assert scale <= current["text_scale"] < 1.5 * scale
    # A few bars need little: they and their text get larger than usual.
    window.key("Right")
    window.wait("large text", lambda m: m["text_scale"] > 1.6 * scale)


def test_the_user_chooses_cards(layer):
    window = layer
    window.click("performance.roofline_card.menu")
    window.click("performance.roofline_card.menu.present")
    window.key("ctrl+2")
    window.click("numerics.part.2")
    window.click("layer.picture_card.menu")
    window.click("layer.picture_card.menu.present")
    window.click("numerics.part.0")
    window.click("numerics.selection_card.menu")
    window.click("numerics.selection_card.menu.present")
    window.settle()
    window.key("F11")
    wait_for_line(window, "Performance · Roofline · 1 of 3")
    seen = walk(window)
    assert [one.rsplit(" · ", 1)[0] for one in seen] == [
        "Performance · Roofline · 1 of 3", "Numerics · Expert layer · 2 of 3"], "in their order"
    window.key("Escape")
    window.wait("the rail", has_rail)
    window.settle()
    window.click("numerics.selection_card.menu")
    window.wait("its mark", lambda m: any(
        c["id"] == "numerics.selection_card.menu.present" and c["value"] == "chosen"
        for c in m["controls"]))
    window.click("numerics.selection_card.menu.present")
    window.close_politely()
    settings = json.loads((window.folder / "config" / "expertscope" / "settings.json").read_text())
    assert settings["presented"] == [
        {"card": "performance.roofline_card", "page": "performance", "view": ""},
        {"card": "layer.picture_card", "page": "numerics", "view": "layer"}]


def test_a_card_gets_the_room_of_a_message_that_is_not_shown(open_window):
    window = open_window("--no-worker", width=1280, height=800, first_start=True)
    window.wait("the welcome", lambda m: "welcome" in ids_of(m))
    window.key("F11")
    current = window.wait("the first card", lambda m: line_of(m) and "layer.picture" in ids_of(m)
                          and "welcome" not in ids_of(m))
    bottom = next(c["rect"][3] for c in current["controls"] if c["id"] == "layer.picture")
    assert bottom > 770, "the welcome's strip is empty below the card"


def open_large(open_window, name, width, height):
    window = open_window(str(SESSIONS / name), "--no-worker", width=width, height=height)
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    window.settle()
    return window


@pytest.mark.parametrize("width, height", [(1920, 1080), (1440, 900)])
def test_tables_fill_the_slide(open_window, width, height):
    window = open_large(open_window, "h200_layer.session", width, height)
    usual = 1.5 * window.map()["text_scale"]
    window.key("F11")
    wait_for_line(window, "Performance · ")
    tables = {}
    for _ in range(40):
        window.settle()
        current = window.map()
        line = line_of(current)
        for c in current["controls"]:
            if c["kind"] == "table":
                rows = [r["rect"] for r in current["controls"] if r["id"].startswith(c["id"] + ".row.")]
                columns = [r["rect"] for r in current["controls"] if r["id"].startswith(c["id"] + ".column.")]
                tables[line.split(" · ")[1]] = (current["text_scale"], c["rect"], rows, columns)
        window.key("Right")
        try:
            window.wait("the next card", lambda m: line_of(m) not in ("", line), 5)
        except WaitedTooLong:
            break  # it was the last one
    assert {"Kernels", "Nodes", "Settings", "Times"} <= set(tables), tables.keys()
    for name, (scale, (left, top, right, bottom), rows, columns) in tables.items():
        filled = (max(r[3] for r in rows) - top) / (bottom - top)
        largest = scale >= 0.97 * min(usual * 3.5 / 1.5, (width - 16) / 560)
        wide = max(b[0] - a[0] for a, b in zip(columns, columns[1:])) < 0.6 * (right - left)
        assert scale >= 0.99 * usual and wide, (name, scale)
        # Either the height is used, or the width: no text is larger than that. Names of kernels take the width.
        assert filled > 0.75 or largest or name in ("Kernels", "Times"), (name, scale, filled)


def rests(window):
    before = window.map()["frame"]
    time.sleep(0.5)
    return window.map()["frame"] <= before + 1


def test_texts_of_the_doctor_fill_the_slide(open_window):
    window = open_large(open_window, "workspace_bug.session", 1920, 1080)
    usual = 1.5 * window.map()["text_scale"]
    window.key("ctrl+3")
    window.click("graphs.view.3")
    window.settle()
    window.key("F11")
    wait_for_line(window, "Graphs · Conclusion · ")
    window.wait("large text", lambda m: m["text_scale"] > 1.5 * usual)
    window.settle()
    left, top, right, bottom = window.control("doctor.conclusion")["rect"]
    assert bottom - top > 80 and right - left < 1920
    # It rests, on a busy machine a little later.
    assert any(rests(window) for _ in range(10))
