"""The window outlives its worker and says so in time."""
import os
import signal
import time


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
        assert time.monotonic() - stopped < 1.5  # 1 s and the time of looking
    finally:
        os.kill(pid, signal.SIGCONT)
    window.wait_for_link("responsive", 5)
