"""What closing the window asks, what it keeps for the next start, and what wins over that."""
import json
import os
import pathlib
import sqlite3
import subprocess

from window_driver import Window

ICONIFY = os.environ.get("ICONIFY")


def value(window, name):
    control = window.control(name)
    return None if control is None else control["value"]


def shown(name):
    return lambda m: any(c["id"] == name for c in m["controls"])


def run_once_more(window):
    before = window.wait_for_result()["state"]["shown_run_id"]
    window.press("F5")
    window.wait("another run", lambda m: m["state"]["shown_run_id"] > before)


def ask(window):
    window.key("ctrl+q")
    window.wait("the question", shown("close"))
    window.settle()


def ended(window):
    return window.process.wait(timeout=20)


def test_a_window_that_was_only_looked_at_closes_at_once(open_window):
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+q")
    assert ended(window) == 0


def test_results_in_no_file_are_asked_about_and_saved(open_window):
    window = open_window()
    run_once_more(window)
    ask(window)
    assert value(window, "close").startswith("unsaved=1;")
    window.key("Escape")
    window.wait("no question", lambda m: not shown("close")(m))
    assert window.process.poll() is None
    # The window manager's button asks like Ctrl+Q.
    if ICONIFY:
        subprocess.run([ICONIFY, "Expertscope", "close"], env=window.environment, check=True, timeout=20)
    else:
        window.key("ctrl+q")
    window.wait("the question", shown("close.save"))
    window.settle()
    window.key("Return")
    assert ended(window) == 0
    saved = list(window.folder.glob("expertscope-*.session"))
    assert len(saved) == 1
    with sqlite3.connect(f"file:{saved[0]}?mode=ro", uri=True) as database:
        assert database.execute("SELECT count(*) FROM runs").fetchone()[0] == 2


def test_what_cannot_be_saved_keeps_the_window(open_window):
    window = open_window()
    run_once_more(window)
    ask(window)
    name = pathlib.Path(next(c["label"] for c in window.map()["controls"] if c["id"] == "close.path"))
    (window.folder / name.name).write_text("already here")
    window.click("close.save")
    window.wait("the reason", lambda m: any(c["id"].startswith("notice.") and "Not saved" in c["value"]
                                            for c in m["controls"]))
    assert window.process.poll() is None and window.control("close") is None
    window.quit()
    assert ended(window) == 0


def test_recorded_results_are_not_asked_about(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("top.record")
    window.wait("the recording", lambda m: m["state"]["recording"])
    run_once_more(window)
    window.wait("it in the file", lambda m: any(c["label"] == "Stop (1)" for c in m["controls"]))
    window.key("ctrl+q")
    assert ended(window) == 0


def test_a_tour_on_screen_is_not_what_the_window_is_left_with(open_window):
    window = open_window()
    window.wait_for_result()
    window.type_number("shape.rows", "768")
    window.wait("the number", lambda m: value(window, "shape.rows") == "768")
    window.key("ctrl+3")
    window.wait("the graphs", lambda m: m["state"]["page"] == "graphs")
    window.click("top.recent")
    tours = window.wait("the tours", lambda m: any("Power-of-two" in c["label"] for c in m["controls"]))
    window.settle()
    window.click(next(c["id"] for c in tours["controls"] if "Power-of-two" in c["label"]))
    window.wait("its request", lambda m: value(window, "shape.rows") == "1024" and not m["state"]["live"])
    window.close_politely()
    left = json.loads((window.folder / "config" / "expertscope" / "settings.json").read_text())
    assert left["page"] == "graphs" and left["live"]
    assert left["request"]["shape"]["rows"] == 768


def test_request_page_and_live_are_as_they_were_left(open_window, program):
    window = open_window()
    window.wait_for_result()
    window.click("run.live")
    window.type_number("shape.rows", "768")
    window.wait("the number", lambda m: value(window, "shape.rows") == "768")
    window.key("ctrl+shift+2")
    window.wait("the recipes", lambda m: m["state"]["recipes"])
    window.close_politely()
    settings = window.folder / "config" / "expertscope" / "settings.json"
    assert json.loads(settings.read_text())["page"] == "numerics"
    with Window(program, window.folder, ["--worker-backend", "cpu"]) as again:
        again.wait("the page", lambda m: m["state"]["recipes"])
        assert value(again, "shape.rows") == "768" and value(again, "run.live") == "false"
    # A request that was given wins.
    request = window.folder / "given.json"
    request.write_text(json.dumps({"shape": {"num_experts": 4, "rows": 256, "n": 128, "k": 256}}))
    with Window(program, window.folder, ["--worker-backend", "cpu", "--request", str(request)]) as given:
        given.wait("its tokens", lambda m: value(given, "shape.rows") == "256")
    # A request that is no longer one is said, and the first one is used.
    document = json.loads(settings.read_text())
    document["request"] = {"no_such_field": 1}
    settings.write_text(json.dumps(document))
    with Window(program, window.folder, ["--worker-backend", "cpu"]) as broken:
        broken.wait("the notice", lambda m: any(
            c["id"].startswith("notice.") and "no_such_field" in c["value"] for c in m["controls"]))
        assert value(broken, "shape.rows") not in ("768", "256")


def quit_in_palette(window):
    window.key("ctrl+shift+p")
    window.wait("the palette", shown("palette"))
    window.settle()
    window.xdotool("type", "--delay", 40, "quit")
    window.wait("the action", lambda m: any(
        c["id"] == "palette.file.quit" and c["value"].startswith("row=0;selected=true;enabled=true")
        for c in m["controls"]))
    window.key("Return")


def test_quit_in_the_palette_asks_about_an_unsaved_result(open_window):
    window = open_window()
    run_once_more(window)
    quit_in_palette(window)
    window.wait("the question", lambda m: shown("close")(m) and not shown("palette")(m))
    window.settle()
    # The question has the keys.
    window.key("ctrl+shift+p")
    window.settle()
    assert window.control("palette") is None
    window.key("Escape")
    window.wait("no question", lambda m: not shown("close")(m))
    quit_in_palette(window)
    window.wait("the question again", shown("close.discard"))
    window.settle()
    window.last_click("close.discard")
    assert ended(window) == 0
    assert not list(window.folder.glob("expertscope-*.session"))


def begin_long_run(window):
    window.type_number("engine.iterations", "5000")

    def begun(m):
        return any(c["id"] == "status.progress" and c["value"].endswith("/5000") for c in m["controls"])
    # A busy machine's first run can be so slow that the window asks before it starts this one.
    current = window.wait("its iterations, or the question", lambda m: begun(m) or shown("long_run.run")(m), 60)
    if not begun(current):
        window.settle()
        window.click("long_run.run")
        window.wait("its iterations", begun, 60)


def test_quit_in_the_palette_does_not_wait_for_running_work(open_window):
    window = open_window()
    window.wait_for_result()
    begin_long_run(window)
    worker = window.state()["worker_pid"]
    quit_in_palette(window)
    assert ended(window) == 0
    assert not os.path.exists(f"/proc/{worker}")


def test_quit_in_the_palette_asks_about_results_while_another_is_measured(open_window):
    window = open_window()
    run_once_more(window)
    begin_long_run(window)
    quit_in_palette(window)
    window.wait("the question", shown("close"))
    assert value(window, "close").startswith("unsaved=1;")
    window.settle()
    window.key("Return")
    assert ended(window) == 0
    assert len(list(window.folder.glob("expertscope-*.session"))) == 1


def test_quit_in_the_palette_ends_a_recording_that_is_on(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("top.record")
    window.wait("recording", lambda m: m["state"]["recording"])
    recording = pathlib.Path(window.map()["state"]["recording_path"])
    run_once_more(window)
    quit_in_palette(window)
    assert ended(window) == 0
    with sqlite3.connect(f"file:{recording}?mode=ro", uri=True) as file:
        assert file.execute("SELECT COUNT(*) FROM runs").fetchone()[0] >= 1
