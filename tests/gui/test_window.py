"""Workspaces, keys, recordings, sizes, and the window at rest."""
import pathlib
import time

import pytest


def save_session(window):
    """Saves the current session through the dialog; returns the path."""
    window.wait_for_result()
    window.click("top.save")
    window.wait("dialog", lambda m: any(c["id"] == "file.accept" for c in m["controls"]))
    name = window.control("file.path")["value"]
    window.click("file.accept")
    window.wait("notice", lambda m: any("saved in" in c["value"] for c in m["controls"]))
    return pathlib.Path(window.folder) / name


def test_pages_by_click_and_key(open_window):
    window = open_window()
    window.wait_for_result()
    for index, name in enumerate(["performance", "numerics", "graphs"]):
        window.click(f"tab.{index}")
        window.wait(name, lambda m, n=name: m["state"]["page"] == n)
    for index, name in enumerate(["performance", "numerics", "graphs"]):
        window.key(f"ctrl+{index + 1}")
        window.wait(name, lambda m, n=name: m["state"]["page"] == n)


def test_keys(open_window):
    window = open_window()
    first = window.wait_for_result()["state"]["requested_id"]
    window.key("F5")
    window.wait("another run", lambda m: m["state"]["requested_id"] > first)
    second = window.wait_for_result()["state"]["requested_id"]
    window.key("ctrl+r")
    window.wait("another run", lambda m: m["state"]["requested_id"] > second)
    for key in ("F1", "question"):
        window.key(key)
        window.wait("help", lambda m: any(c["id"] == "help" for c in m["controls"]))
        window.key("Escape")
        window.wait("no help", lambda m: all(c["id"] != "help" for c in m["controls"]))
    window.key("ctrl+o")
    window.wait("dialog", lambda m: any(c["id"] == "file.accept" for c in m["controls"]))
    window.key("Escape")
    window.wait("no dialog", lambda m: all(c["id"] != "file.accept" for c in m["controls"]))
    scale = window.map()["text_scale"]
    window.key("ctrl+equal")
    window.wait("larger text", lambda m: m["text_scale"] > scale)
    window.key("ctrl+minus")
    window.wait("text as before", lambda m: abs(m["text_scale"] - scale) < 0.01)
    window.key("F12")
    path = window.wait("picture", lambda m: m["state"]["screenshot_path"])["state"]["screenshot_path"]
    assert pathlib.Path(path).read_bytes().startswith(b"\x89PNG")


def test_recording_opens_without_a_worker(open_window):
    live = open_window()
    path = save_session(live)
    assert path.exists()
    live.close()
    window = open_window(str(path), "--no-worker")
    state = window.wait("recording", lambda m: m["state"]["from_file"])["state"]
    assert state["runs"] >= 1 and state["session_path"].endswith(path.name)
    assert window.control("headline.step") is not None
    window.click("top.live")
    window.wait("live again", lambda m: not m["state"]["from_file"])


def test_broken_recording_is_refused_with_a_reason(open_window, tmp_path):
    broken = tmp_path / "broken.session"
    broken.write_bytes(b"SQLite format 3\0" + b"\0" * 200)
    window = open_window(str(broken), "--no-worker")
    state = window.wait("reason", lambda m: m["state"]["last_error"])["state"]
    assert not state["from_file"] and "broken.session" in state["last_error"]


def test_idle_draws_no_frame(open_window):
    window = open_window()
    window.wait_for_result()
    window.settle()
    frame = window.map()["frame"]
    time.sleep(1.5)
    assert window.map()["frame"] == frame


def test_corrupt_settings_are_not_used(open_window, program, tmp_path):
    window = open_window()
    window.wait_for_result()
    window.click("top.theme")
    window.close()
    config = window.folder / "config" / "expertscope"
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.json").write_text("{ not json")
    from window_driver import Window
    with Window(program, window.folder, ["--worker-backend", "cpu"]) as again:
        again.wait("notice", lambda m: any("kept as" in c["value"] and "settings.json.unreadable" in c["value"]
                                           for c in m["controls"] if c["id"].startswith("notice")))
        again.close_politely()
    assert (config / "settings.json.unreadable").read_text() == "{ not json"
    assert sorted(path.name for path in config.iterdir()) == ["settings.json", "settings.json.unreadable"]


@pytest.mark.parametrize("width,height,scale", [(1280, 800, 1.0), (2560, 1440, 1.5)])
def test_no_control_outside_the_window(open_window, width, height, scale):
    window = open_window("--text-scale", str(scale), width=width, height=height)
    window.wait_for_result()
    for tab in range(3):
        window.click(f"tab.{tab}")
        window.settle()
        for control in window.map()["controls"]:
            if not control["visible"]:
                continue  # scrolled out of the rail: reached by scrolling
            x0, y0, x1, y1 = control["rect"]
            assert x0 >= 0 and y0 >= 0 and x1 <= width + 1 and y1 <= height + 1, control
        for name in ["tab.0", "run.live", "top.help", "top.open", "status.worker", "shape.preset"]:
            assert window.control(name)["visible"], name


def test_shipped_recording_opens_from_graphs(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("tab.2")
    window.click("graphs.open_sample")
    window.wait("the recording's graph", lambda m: any(
        c["id"] == "graphs.matrix" and "graph=true" in c["value"] for c in m["controls"]))
    assert window.control("graphs.checks")["value"] == "checks=36;wrong=0"
    assert "DeepSeek-V3" in window.control("top.run")["value"]


PRESSED = {"button", "checkbox", "combo", "drag", "input", "tab", "option"}


def overlapping(controls):
    """Pairs of visible, clickable controls that share more than a border."""
    seen = [c for c in controls if c["kind"] in PRESSED and c["visible"]]
    pairs = []
    for i, a in enumerate(seen):
        for b in seen[i + 1:]:
            ax0, ay0, ax1, ay1 = a["rect"]
            bx0, by0, bx1, by1 = b["rect"]
            if min(ax1, bx1) - max(ax0, bx0) > 2 and min(ay1, by1) - max(ay0, by0) > 2:
                pairs.append((a["id"], b["id"]))
    return pairs


@pytest.mark.parametrize("width,height,scale", [(1280, 800, 1), (1280, 800, 2), (2560, 1440, 1.5),
                                                (1000, 700, 1.4)])
def test_no_controls_overlap(open_window, width, height, scale):
    sample = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "h200_layer.session"
    window = open_window(str(sample), "--no-worker", "--text-scale", str(scale), width=width,
                         height=height)
    window.wait("recording", lambda m: m["state"]["from_file"])
    found = {}
    for name, keys in {"performance": "ctrl+1", "numerics": "ctrl+2", "recipes": "ctrl+shift+2",
                       "graphs": "ctrl+3", "compare": "ctrl+4"}.items():
        window.key(keys)
        window.settle()
        pairs = overlapping(window.map()["controls"])
        if pairs:
            found[name] = pairs
    for keys, part in {"ctrl+2": "numerics.part.2", "ctrl+shift+2": "recipes.over.1"}.items():
        window.key(keys)
        window.settle()
        window.click(part)
        window.settle()
        pairs = overlapping(window.map()["controls"])
        if pairs:
            found[part] = pairs
    assert not found
