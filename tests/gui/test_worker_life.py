"""The window outlives its worker and reports the loss in time; no worker outlives the window."""
import os
import signal
import time

import pytest

from processes import is_alive

FAKE = os.environ.get("FAKE_WORKER")


@pytest.fixture
def fake(tmp_path):
    """A function that creates a fake worker of a mode and returns the arguments that name it."""
    if not FAKE:
        pytest.skip("FAKE_WORKER does not name the built fake_worker")

    def make(mode):
        worker = tmp_path / mode
        worker.write_text(f'#!/bin/sh\nexport FAKE_WORKER_PIDS="{tmp_path}/hidden"\nexec "{FAKE}" {mode} "$@"\n')
        worker.chmod(0o755)
        return "--worker", str(worker)
    return make


def wait_until(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.05)
    return condition()


def test_killed_worker_is_lost_and_replaced_by_a_click(open_window):
    window = open_window()
    shown = window.wait_for_result()["state"]
    pid = window.kill_worker()
    state = window.wait_for_link("lost", 1.5)["state"]
    assert "9" in state["link_reason"]
    assert state["run_generation"] == shown["run_generation"], "the last results stay"
    assert window.control("headline.step") is not None
    window.click("worker.start")
    state = window.wait("new worker", lambda m: m["state"]["link"] == "responsive"
                        and m["state"]["worker_pid"] != pid)["state"]
    window.click("recipe.pow2")
    window.wait("result of the new worker",
                lambda m: m["state"]["run_generation"] > shown["run_generation"])


def test_automatic_restart(open_window):
    window = open_window()
    window.wait_for_result()
    window.kill_worker()
    window.wait_for_link("lost", 1.5)
    window.click("worker.automatic")
    window.wait("restarted worker", lambda m: m["state"]["link"] == "responsive")
    pid = window.kill_worker()
    window.wait("worker without a click", lambda m: m["state"]["link"] == "responsive"
                and m["state"]["worker_pid"] not in (0, pid))


def test_stopped_worker_is_stalled_within_a_second(open_window):
    window = open_window()
    window.wait_for_result()
    window.settle()
    pid = window.kill_worker(signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        window.wait_for_link("stalled", 3)
        assert time.monotonic() - stopped < 1.5  # 1 s and the time of the check
    finally:
        os.kill(pid, signal.SIGCONT)
    window.wait_for_link("responsive", 5)


def test_worker_that_does_not_answer_cancel_is_replaced_by_a_click(open_window, fake):
    window = open_window(*fake("stuck"))  # it pulses, and answers nothing
    window.wait_for_link("busy")
    pid = window.state()["worker_pid"]
    time.sleep(2.5)
    assert window.control("worker.start") is None, "a long run is not a reason"
    window.click("status.cancel")
    window.wait("the banner", lambda m: any(c["id"] == "worker.start" for c in m["controls"]), 10)
    assert window.control("worker.start")["label"] == "Replace the worker"
    window.click("worker.start")
    state = window.wait("another worker", lambda m: m["state"]["link"] == "responsive"
                        and m["state"]["worker_pid"] not in (0, pid))["state"]
    assert not state["live"], "the next worker would get the same run"
    assert window.control("worker.start") is None
    assert wait_until(lambda: not is_alive(pid))


def test_worker_is_replaced_from_the_palette(open_window, fake):
    window = open_window(*fake("stops-guard"))
    window.wait_for_result()
    pid = window.state()["worker_pid"]
    window.key("ctrl+shift+p")
    window.click("palette.worker.replace")
    window.wait("another worker", lambda m: m["state"]["worker_pid"] not in (0, pid))
    assert wait_until(lambda: not is_alive(pid))


def test_dropped_lines_are_counted_in_the_status_bar(open_window, fake):
    window = open_window(*fake("short-lines"))
    window.wait("the count", lambda m: any(c["id"] == "status.dropped" for c in m["controls"]))
    window.wait_for_result()


def test_a_killed_window_leaves_no_process(open_window, fake, tmp_path):
    window = open_window(*fake("breed"))
    hidden = tmp_path / "hidden"
    assert wait_until(lambda: hidden.exists() and len(hidden.read_text().split()) == 3)
    pids = [window.state()["worker_pid"], *map(int, hidden.read_text().split())]
    window.process.kill()
    window.process.wait()
    assert wait_until(lambda: not any(map(is_alive, pids))), [p for p in pids if is_alive(p)]
