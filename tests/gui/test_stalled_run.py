"""A run that stalls, seen from the window: the fake worker answers as a real one whose replay is late."""
import os
import stat
import time

import pytest


@pytest.fixture
def stalling_worker(tmp_path):
    """Stalls in the first run; later workers answer correctly."""
    fake = os.environ.get("FAKE_WORKER")
    if not fake:
        pytest.skip("FAKE_WORKER does not name the built program")
    path, marker = tmp_path / "worker", tmp_path / "stalled"
    path.write_text(f'#!/bin/sh\nif [ -e "{marker}" ]; then exec "{fake}" libraries; fi\n'
                    f'touch "{marker}"\nexec "{fake}" stall-in-run\n')
    path.chmod(stat.S_IRWXU)
    return ["--worker", str(path)]


@pytest.fixture
def slowly_stalling_worker(tmp_path):
    """Its replay makes no progress for five seconds before it counts as stalled."""
    fake = os.environ.get("FAKE_WORKER")
    if not fake:
        pytest.skip("FAKE_WORKER does not name the built program")
    path = tmp_path / "worker"
    path.write_text(f'#!/bin/sh\nexec "{fake}" stall-in-run-for-long\n')
    path.chmod(stat.S_IRWXU)
    return ["--worker", str(path)]


def wait_control(window, name, condition=lambda c: True, seconds=15):
    window.wait(name, lambda m: any(c["id"] == name and condition(c) for c in m["controls"]), seconds)
    return window.control(name)


def test_a_stalled_run_is_shown_while_the_window_lives(open_window, stalling_worker):
    window = open_window(*stalling_worker)
    stall = wait_control(window, "doctor.stall")["value"]
    assert "Replay 41 did not end" in stall and "a kernel spins" in stall
    assert "deadline 0.5 s; 99 % of the previous replays took 12.50 µs or less" in stall
    assert "Running: 2  grouped_gemm" in stall and "Last finished: 1  offsets" in stall
    assert "run itself replay 41 hangs" in window.control("doctor.conclusion")["value"]
    assert not window.state()["live"], "the next worker would run into it again"
    frame = window.map()["frame"]
    window.click("graphs.view.1")  # the window keeps drawing
    window.wait("the graph", lambda m: m["frame"] > frame and any(
        c["id"] == "graphs.topology" and "drawn=4" in c["value"] for c in m["controls"]))
    window.wait_for_link("lost", 5)
    clicked = time.monotonic()
    window.click("worker.start")
    window.wait_for_link("responsive", 5)
    assert time.monotonic() - clicked < 3


def test_a_stall_is_kept_by_the_recording(open_window, stalling_worker, program, tmp_path):
    window = open_window(*stalling_worker)
    wait_control(window, "doctor.stall")
    window.key("ctrl+s")
    wait_control(window, "file.accept", lambda c: c["enabled"])
    window.click("file.accept")
    window.wait("the recording", lambda m: any(
        "saved in" in c["value"] for c in m["controls"]))
    saved = list(window.folder.parent.rglob("*.session"))
    assert len(saved) == 1
    again = open_window(str(saved[0]), "--no-worker")
    assert "12.50 µs" in wait_control(again, "doctor.stall")["value"]


def test_the_board_is_drawn_while_the_run_is_stalled(open_window, slowly_stalling_worker):
    window = open_window(*slowly_stalling_worker)
    window.key("ctrl+3")
    window.click("graphs.view.0")
    live = wait_control(window, "replays.live")["value"]
    assert "replay 2" in live and "2 of 4 nodes done" in live
    assert "busy 0 %" in live, "the state of the device is also shown"
    assert any(c["id"] == "doctor.board" for c in window.map()["controls"])
    # Its clock continues although no pulse brings anything new.
    wait_control(window, "replays.live", lambda c: "nothing has finished for 2 s" in c["value"], 5)
    window.wait_for_link("lost", 10)
    window.wait("no replay in progress", lambda m: not any(c["id"] == "replays.live" for c in m["controls"]))
