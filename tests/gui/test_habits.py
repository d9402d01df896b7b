"""Palette, undo and other everyday actions, with real keys and mouse."""
import os
import pathlib
import struct
import subprocess
import time

import pytest

WORKSPACE_BUG = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "workspace_bug.session"


def palette(window, text):
    window.key("ctrl+shift+p")
    window.wait("palette", lambda m: any(c["id"] == "palette" for c in m["controls"]))
    window.settle()  # The field gets the caret one frame after the palette appears.
    window.xdotool("type", "--delay", 40, text)
    return window.wait("matches", lambda m: any(
        c["id"] == "palette" and c["value"].startswith(f"typed={text};") for c in m["controls"]))


def rows(current):
    return sorted((c for c in current["controls"] if c["id"].startswith("palette.")
                   and c["value"].startswith("row=")),
                  key=lambda c: int(c["value"].split(";")[0][4:]))


def test_palette_finds_the_theme_and_nothing_else(open_window):
    window = open_window("--no-worker")
    assert [one["id"] for one in rows(palette(window, "theme"))] == ["palette.view.theme"]


def test_palette_finds_views_and_buttons_of_pages(open_window):
    window = open_window(str(WORKSPACE_BUG.with_name("h200_layer.session")), "--no-worker")
    window.key("ctrl+4")
    window.wait("A", lambda m: any(c["id"] == "compare.a" and c["value"] for c in m["controls"]))
    a = window.control("compare.a")["value"]
    found = rows(palette(window, "swap"))
    assert found[0]["id"] == "palette.compare.swap" and "enabled=true" in found[0]["value"]
    window.key("Return")
    window.wait("A to be B", lambda m: any(c["id"] == "compare.b" and c["value"] == a for c in m["controls"]))
    found = {one["id"]: one["value"] for one in rows(palette(window, "sweep"))}
    assert "enabled=false" in found["palette.frontier.start"]  # no worker
    window.key("Escape")
    for word, view in (("steps", "numerics.steps"), ("frontier", "compare.frontier")):
        assert f"palette.view.{view}" in [one["id"] for one in rows(palette(window, word))]
        window.key("Escape")


def test_palette_finds_and_runs_actions(open_window):
    window = open_window()
    window.wait_for_result()
    current = palette(window, "numerics")
    assert rows(current)[0]["id"] == "palette.view.numerics"
    window.press("Return")
    window.wait("Numerics", lambda m: m["state"]["page"] == "numerics")
    assert window.control("palette") is None
    # The second of the list, by the arrow keys.
    current = palette(window, "text")
    second = rows(current)[1]["id"]
    window.press("Down")
    window.wait("second selected", lambda m: any(
        c["id"] == second and "selected=true" in c["value"] for c in m["controls"]))
    window.press("Escape")
    window.wait("no palette", lambda m: all(c["id"] != "palette" for c in m["controls"]))
    # A click on the button of the bar, and on an entry.
    window.click("top.palette")
    window.wait("palette", lambda m: any(c["id"] == "palette" for c in m["controls"]))
    window.settle()
    window.xdotool("type", "--delay", 40, "zipf 0.7")
    window.wait("match", lambda m: any(c["id"] == "palette.routing.distribution.2"
                                       for c in m["controls"]))
    window.settle()
    window.click("palette.routing.distribution.2")
    window.wait("Zipf", lambda m: any(c["id"] == "routing.distribution"
                                      and "Zipf 0.7" in c["value"] for c in m["controls"]))


def test_palette_holds_every_kind_of_action(open_window):
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+shift+p")
    current = window.wait("palette", lambda m: any(c["id"] == "palette" for c in m["controls"]))
    ids = {c["id"].removeprefix("palette.") for c in rows(current)}
    for name in ["run.now", "edit.undo", "file.open", "view.graphs", "view.theme", "run.live",
                 "recipe.scaling.4", "engine.launch.1", "shape.preset.Laptop small",
                 "activations.source.2", "step.passes.2", "recipe.pow2", "run.back_to_live"]:
        assert name in ids, name
    cases = {name.removeprefix("gallery.") for name in ids if name.startswith("gallery.")}
    assert cases and cases == {name.removeprefix("recorded.") for name in ids if name.startswith("recorded.")}
    # A disabled action says why and stays listed.
    undo = next(c for c in rows(current) if c["id"] == "palette.edit.undo")
    assert "enabled=false" in undo["value"] and "Nothing to undo" in undo["value"]


def entry(current, name):
    return next(c["value"] for c in current["controls"] if c["id"] == f"palette.{name}")


def test_palette_presses_the_buttons_of_the_page_on_screen(open_window):
    window = open_window(width=1280, height=900)
    window.wait_for_result()
    before = window.state()["run_generation"]
    assert "enabled=false;Two runs are needed" in entry(palette(window, "measure again"), "compare.again")
    window.press("Escape")
    window.settle()
    assert "enabled=false;There is no report yet" in entry(palette(window, "export report"), "doctor.export")
    window.press("Escape")
    # Its page is shown first.
    window.key("ctrl+3")
    window.wait("another page", lambda m: m["state"]["page"] == "graphs")
    assert rows(palette(window, "measure roofs"))[0]["id"] == "palette.performance.measure_ceilings"
    window.press("Return")
    window.wait("a run with roofs", lambda m: m["state"]["run_generation"] > before and not m["state"]["stale"])
    assert "copy_gbps=0;" not in window.control("performance.roofline")["value"]
    # The button is gone with the need for it.
    assert window.state()["page"] == "performance"
    current = palette(window, "measure roofs")
    assert "enabled=false;This run has measured roofs already" in entry(current, "performance.measure_ceilings")
    window.press("Escape")
    window.settle()
    assert "enabled=true" in entry(palette(window, "quantize all"), "recipes.compare")
    window.press("Return")
    window.wait("a comparison", lambda m: m["state"]["comparisons"] == 1 and not m["state"]["comparing"])
    assert window.state()["recipes"], "its view is shown"
    window.settle()
    assert window.state()["comparisons"] == 1, "it is pressed once"
    # While cards are presented, pages have no buttons.
    window.key("ctrl+1")
    window.wait("another page", lambda m: m["state"]["page"] == "performance")
    window.key("F11")
    window.wait("one card", lambda m: any(c["id"] == "present.line" for c in m["controls"]))
    assert "enabled=false;While presenting" in entry(palette(window, "quantize all"), "recipes.compare")


def test_palette_measures_a_pair_again_and_exports_a_report(open_window):
    window = open_window(width=1280, height=900)
    window.wait_for_result()
    window.key("ctrl+4")
    window.wait("Compare", lambda m: m["state"]["page"] == "compare")
    window.settle()
    button = window.control("compare.again")
    refused = entry(palette(window, "measure again"), "compare.again")
    assert button is None or f"enabled=false;{button['reason']}" in refused
    window.press("Escape")
    window.settle()
    window.click("recipe.pow2")
    window.wait("a pair", lambda m: any(c["id"] == "compare.again" and c["enabled"] for c in m["controls"]))
    window.type_number("compare.blocks", "4")
    runs = window.state()["runs"]
    # From another view of the page, which has no such button.
    window.click("compare.part.1")
    window.wait("the frontier", lambda m: not any(c["id"] == "compare.again" for c in m["controls"]))
    window.settle()
    assert "enabled=true" in entry(palette(window, "measure again"), "compare.again")
    window.press("Return")
    window.wait("four blocks", lambda m: m["state"]["runs"] >= runs + 4)
    window.key("ctrl+3")
    window.wait("the views", lambda m: any(c["id"] == "graphs.view.3" for c in m["controls"]))
    window.settle()
    window.click("graphs.view.3")
    window.wait("the doctor", lambda m: any(c["id"] == "doctor.export" for c in m["controls"]))
    assert "enabled=false;There is no report yet" in entry(palette(window, "export report"), "doctor.export")
    window.press("Escape")
    window.open_file(WORKSPACE_BUG)
    window.wait("its report", lambda m: any(c["id"] == "doctor.export" and c["enabled"] for c in m["controls"]))
    window.key("ctrl+2")
    window.wait("another page", lambda m: m["state"]["page"] == "numerics")
    window.settle()
    assert "enabled=true" in entry(palette(window, "export report"), "doctor.export")
    window.press("Return")
    window.wait("where to", lambda m: any(c["id"] == "file.path" for c in m["controls"]))


def test_undo_and_redo(open_window):
    window = open_window()
    window.wait_for_result()
    before = window.control("shape.rows")["value"]
    window.drag("shape.rows", 80)
    after = window.control("shape.rows")["value"]
    assert after != before
    window.settle()
    window.key("ctrl+z")
    window.wait("tokens as before", lambda m: any(
        c["id"] == "shape.rows" and c["value"] == before for c in m["controls"]))
    said = window.wait("words", lambda m: any(c["id"] == "status.says" for c in m["controls"]))
    assert "Undone: " in next(c for c in said["controls"] if c["id"] == "status.says")["value"]
    window.key("ctrl+shift+z")
    window.wait("tokens again", lambda m: any(
        c["id"] == "shape.rows" and c["value"] == after for c in m["controls"]))
    window.key("ctrl+z")
    window.key("ctrl+y")
    window.wait("tokens again", lambda m: any(
        c["id"] == "shape.rows" and c["value"] == after for c in m["controls"]))


def test_letters_stay_in_a_text_field(open_window):
    window = open_window()
    window.wait_for_result()
    window.key("q")
    window.wait("no rail", lambda m: all(c["id"] != "shape.rows" for c in m["controls"]))
    window.key("q")
    window.wait("rail", lambda m: any(c["id"] == "shape.rows" for c in m["controls"]))
    palette(window, "quit wasd")
    assert window.control("shape.rows") is not None


def test_recent_files(open_window, program):
    from test_window import save_session
    from window_driver import Window
    window = open_window()
    path = save_session(window)
    window.key("ctrl+o")
    window.wait("dialog", lambda m: any(c["id"] == "file.accept" for c in m["controls"]))
    window.settle()
    window.click(f"file.{path.name}")
    window.wait("the name", lambda m: any(c["id"] == "file.path" and c["value"] == path.name
                                          for c in m["controls"]))
    window.settle()
    window.click("file.accept")
    window.wait("recording", lambda m: m["state"]["from_file"])
    window.close_politely()
    with Window(program, window.folder, ["--worker-backend", "cpu"]) as again:
        again.wait_for_result()
        again.click("top.recent")
        current = again.wait("menu", lambda m: any(c["id"] == "recent.0" for c in m["controls"]))
        entry = next(c for c in current["controls"] if c["id"] == "recent.0")
        assert entry["label"] == str(path) and entry["value"] == ""
        again.settle()
        again.click("recent.0")
        again.wait("recording", lambda m: m["state"]["from_file"])
        path.unlink()
        again.click("top.recent")
        again.wait("reason", lambda m: any(
            c["id"] == "recent.0" and "no longer there" in c["value"] for c in m["controls"]))


def test_saved_files_are_recent_and_unreadable_ones_are_not(open_window):
    from test_window import save_session
    window = open_window()
    path = save_session(window)
    broken = window.folder / "broken.npy"
    broken.write_bytes(b"no tensor")
    window.open_file(broken)
    window.wait("why it cannot be read", lambda m: "broken.npy" in m["state"]["last_error"])
    window.click("top.recent")
    current = window.wait("menu", lambda m: any(c["id"] == "recent.0" for c in m["controls"]))
    recent = [c["label"] for c in current["controls"] if c["id"].startswith("recent.")]
    assert str(path) in recent and not [one for one in recent if "broken" in one]
    window.settle()
    error = [c["value"] for c in current["controls"] if c["id"] == "status.error"]
    assert error and error[0], "of the newest run"
    window.click("recent.0")
    window.wait("the recording, without the error of a run that is not on screen", lambda m: m["state"]["from_file"]
                and not any(c["id"] == "status.error" and c["value"] for c in m["controls"]))


def test_no_palette_opens_over_a_dialog(open_window):
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+o")
    window.wait("dialog", lambda m: any(c["id"] == "file.accept" for c in m["controls"]))
    window.key("ctrl+shift+p")
    window.settle()
    assert window.control("palette.filter") is None
    window.key("Escape")
    window.wait("no dialog", lambda m: not any(c["id"] == "file.accept" for c in m["controls"]))
    for words, inside in (("another machine", "machine.connect"), ("attach", "attach.command")):
        palette(window, words)
        window.press("Return")
        window.wait("the other dialog", lambda m: any(c["id"] == inside for c in m["controls"]))
        window.key("ctrl+shift+p")
        window.settle()
        assert window.control("palette.filter") is None, inside
        window.key("Escape")
        window.wait("no dialog", lambda m: not any(c["id"] == inside for c in m["controls"]))
    window.key("ctrl+shift+p")
    window.wait("the palette", lambda m: any(c["id"] == "palette.filter" for c in m["controls"]))


def drop(window, *paths):
    dropper = os.environ.get("FILE_DROPPER")
    if not dropper:
        pytest.skip("FILE_DROPPER does not name the built drop_files")
    number = subprocess.run(["xdotool", "search", "--name", "^Expertscope$"], check=True,
                            env=window.environment, capture_output=True, text=True).stdout.split()[0]
    window.xdotool("mousemove", 700, 500)
    subprocess.run([dropper, number, "700", "500", *map(str, paths)], env=window.environment,
                   check=True, timeout=20)


def test_the_dialog_lists_everything_that_opens(open_window):
    window = open_window()
    window.wait_for_result()
    opens = ["x.npy", "x.safetensors", "routing.json", "log.jsonl", "graph.dot", "run.session"]
    for name in [*opens, "notes.txt"]:
        (window.folder / name).write_text("")
    window.key("ctrl+o")
    current = window.wait("the list", lambda m: any(c["id"] == "file.run.session" for c in m["controls"]))
    listed = {c["id"].removeprefix("file.") for c in current["controls"]}
    assert listed.issuperset(opens) and "notes.txt" not in listed
    window.press("Escape")


def test_dropped_files(open_window, tmp_path):
    window = open_window()
    window.wait_for_result()
    np = pytest.importorskip("numpy")
    tensor = tmp_path / "x.npy"
    np.save(tensor, np.ones((1024, 512), dtype=np.float32))
    drop(window, tensor)
    window.wait("the file in the rail", lambda m: any(
        c["id"] == "activations.path" and c["value"] == str(tensor) for c in m["controls"]))
    window.wait_for_result()
    window.key("ctrl+z")
    window.wait("no file in the rail", lambda m: all(c["id"] != "activations.path"
                                                     for c in m["controls"]))
    other = tmp_path / "notes.txt"
    other.write_text("nothing")
    drop(window, other)
    window.wait("sentence", lambda m: any(
        c["kind"] == "text" and "notes.txt cannot be opened" in c["value"] for c in m["controls"]))


def said(window, words):
    return window.wait(words, lambda m: any(c["id"] == "status.says" and words in c["value"]
                                            for c in m["controls"]))


def test_numbers_are_copied_whole(open_window):
    window = open_window()
    window.wait_for_result()
    window.settle()
    x, y = window.centre("headline.step")
    window.xdotool("mousemove", x, y)
    window.settle()
    window.xdotool("click", 3)
    current = said(window, "Copied ")
    words = next(c["value"] for c in current["controls"] if c["id"] == "status.says")
    number, unit = words.split(":")[0].split()[1:]
    assert unit == "ns" and float(number) > 0 and "median" in words
    # The clipboard holds only the number: it is pasted into a field.
    palette(window, "")
    window.press("ctrl", "v")
    window.wait("the number", lambda m: any(c["id"] == "palette.filter" and c["value"] == number
                                            for c in m["controls"]))
    window.press("Escape")
    window.settle()
    # A cell of a table by Ctrl+C.
    row = window.control("performance.kernels.row.0")
    table = window.control("performance.kernels")
    low, high = row["rect"][1], row["rect"][3]
    window.xdotool("mousemove", round(table["rect"][2] - 60), round((low + high) / 2))
    window.settle()
    window.press("ctrl", "c")
    said(window, "shown as")


def test_picture_and_table_of_a_card(open_window):
    window = open_window()
    window.wait_for_result()
    for tab, card in [(0, "performance.timeline_card"), (1, "numerics.map_card")]:
        stem = card.split("_")[0].replace(".", "-")
        window.click(f"tab.{tab}")
        window.settle()
        window.click(f"{card}.menu")
        window.wait("menu", lambda m, c=card: any(e["id"] == f"{c}.menu.png"
                                                  for e in m["controls"]))
        window.settle()
        window.click(f"{card}.menu.png")
        path = window.wait("picture", lambda m, s=stem: s in m["state"]["screenshot_path"])
        path = path["state"]["screenshot_path"]
        data = pathlib.Path(path).read_bytes()
        assert data.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", data[16:24])
        x0, y0, x1, _ = window.control(f"{card}.title")["rect"]
        right = window.control(f"{card}.menu")["rect"][2]
        # Twice the card, which extends 12 pixels beyond its title row and menu; and the caption.
        assert width == 2 * (right - x0 + 24)
        assert height > 2 * 100
        window.wait("notice", lambda m, p=path: any(p in e["value"] for e in m["controls"]))
        window.settle()
        window.click(f"{card}.menu")
        window.wait("menu", lambda m, c=card: any(e["id"] == f"{c}.menu.save_csv"
                                                  for e in m["controls"]))
        window.settle()
        window.click(f"{card}.menu.save_csv")
        notice = window.wait("table", lambda m, s=stem: any(
            "Table saved" in e["value"] and s in e["value"] for e in m["controls"]))
        saved = next(e["value"] for e in notice["controls"]
                     if "Table saved" in e["value"] and stem in e["value"])
        table = pathlib.Path(saved.removeprefix("Table saved: "))
        assert len(table.read_text().splitlines()) > 1
        window.settle()
        window.dismiss_notices()


def drag_over(window, name, start, end):
    """Drags over a plot, from one share of its width to another."""
    window.centre(name)
    x0, y0, x1, y1 = window.control(name)["rect"]
    y = round((y0 + y1) / 2)
    begin, stop = round(x0 + start * (x1 - x0)), round(x0 + end * (x1 - x0))
    window.xdotool("mousemove", begin, y)
    window.settle()
    window.xdotool("mousedown", 1)
    for x in range(begin, stop, max(10, (stop - begin) // 12)):
        window.xdotool("mousemove", x, y)
        time.sleep(0.04)
    window.xdotool("mousemove", stop, y)
    window.seen("the last move")
    window.xdotool("mouseup", 1)
    window.seen("the release")


def write_note(window, text):
    drag_over(window, "performance.timeline", 0.4, 0.7)
    window.wait("a selection", lambda m: any(
        c["id"] == "performance.timeline" and "selected_from_ns" in c["value"]
        for c in m["controls"]))
    window.key("shift+m")
    window.wait("the field", lambda m: any(c["id"] == "note.text" for c in m["controls"]))
    window.settle()
    window.xdotool("type", "--delay", 40, text)
    window.wait("the words", lambda m: any(c["id"] == "note.text" and c["value"] == text
                                           for c in m["controls"]))
    window.press("Return")
    window.wait("the note", lambda m: any(c["id"] == "performance.note.0" and c["label"] == text
                                          for c in m["controls"]))


def test_notes_travel_with_the_session(open_window, program):
    from test_window import save_session
    from window_driver import Window
    window = open_window()
    window.wait_for_result()
    drag_over(window, "performance.timeline", 0.4, 0.6)
    window.wait("a selection", lambda m: any(
        c["id"] == "performance.timeline" and "selected_from_ns" in c["value"]
        for c in m["controls"]))
    window.key("m")
    window.wait("a mark", lambda m: any(c["id"] == "performance.mark" for c in m["controls"]))
    window.key("Escape")
    window.wait("no mark", lambda m: all(c["id"] != "performance.mark" for c in m["controls"]))
    write_note(window, "spike")
    path = save_session(window)
    window.close()
    with Window(program, window.folder, [str(path), "--no-worker"]) as again:
        again.wait("the note", lambda m: any(
            c["id"] == "performance.note.0" and c["label"] == "spike" for c in m["controls"]))
        again.click("performance.note.0")
        again.wait("its words", lambda m: any(c["id"] == "note.text" for c in m["controls"]))
        again.settle()
        again.click("note.delete")
        again.wait("it gone from the file", lambda m: any(
            c["id"] == "status.says" and "Notes saved in" in c["value"] for c in m["controls"]))
        assert again.control("performance.note.0") is None
    with Window(program, window.folder, [str(path), "--no-worker"]) as third:
        third.wait("recording", lambda m: m["state"]["from_file"])
        assert third.control("performance.note.0") is None


def test_drawing_pauses_while_iterations_are_timed(open_window):
    window = open_window()
    window.wait_for_result()
    window.type_number("engine.iterations", "300")
    window.wait("300 steps", lambda m: any(c["id"] == "engine.iterations" and c["value"] == "300"
                                           for c in m["controls"]))
    # Not its set-up, which takes long under a sanitizer: drawing goes on during it.
    window.wait("its iterations", lambda m: any(c["id"] == "status.progress" and c["value"].endswith("/300")
                                                for c in m["controls"]))
    window.xdotool("mousemove", 700, 5)
    began, first = time.monotonic(), window.map()["frame"]
    time.sleep(3)
    seconds, frames = time.monotonic() - began, window.map()["frame"] - first
    if window.state()["link"] == "busy":
        assert frames <= 2 * seconds + 6, (frames, seconds)
    window.wait("the result", lambda m: m["state"]["shown_run_id"] == m["state"]["requested_id"]
                and not m["state"]["stale"], 120)
    assert "drawn while timing" in window.control("headline.step")["label"]


def test_nothing_is_drawn_at_rest(open_window):
    window = open_window()
    window.wait_for_result()
    for tab in range(3):
        window.click(f"tab.{tab}")
        window.xdotool("mousemove", 700, 5)
        window.settle()
        frame = window.map()["frame"]
        time.sleep(2)
        assert window.map()["frame"] == frame, f"tab {tab}"


def test_the_window_remembers_itself(open_window, program):
    from window_driver import Window
    window = open_window()
    window.wait_for_result()
    window.click("top.theme")
    window.key("ctrl+equal")
    scale = window.wait("larger text", lambda m: m["text_scale"] > 1.05)["text_scale"]
    window.key("q")
    window.wait("no rail", lambda m: all(c["id"] != "shape.rows" for c in m["controls"]))
    window.close_politely()
    with Window(program, window.folder, ["--worker-backend", "cpu"]) as again:
        current = again.wait("a frame", lambda m: m["frame"] > 2)
        assert abs(current["text_scale"] - scale) < 0.01
        assert again.control("top.theme")["label"] == "Dark"
        assert again.control("shape.rows") is None
