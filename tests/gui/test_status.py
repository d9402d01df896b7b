"""The status bar: the device between runs, as a worker reports it, or why there is none."""
import os
import subprocess
import time

import pytest

FAKE = os.environ.get("FAKE_WORKER")
ICONIFY = os.environ.get("ICONIFY")
READING = "345 MHz · 120 W · "


@pytest.fixture
def device_window(open_window, tmp_path):
    """A window with a worker that has a device at rest; each run makes it a degree warmer."""
    if not FAKE:
        pytest.skip("FAKE_WORKER does not name the built fake_worker")
    worker = tmp_path / "worker"
    worker.write_text(f'#!/bin/sh\nexec "{FAKE}" device\n')
    worker.chmod(0o755)
    return open_window("--worker", str(worker))


def device(current):
    return next((c["value"] for c in current["controls"] if c["id"] == "status.device"), "")


def degrees(current):
    return int(device(current).split("·")[-1].split("°")[0])


def test_readings_between_runs(device_window):
    window = device_window
    window.wait_for_result()
    # It may still be the reading from before the first run: then the next one is two degrees above.
    before = degrees(window.wait("a reading", lambda m: READING in device(m)))
    window.key("F5")
    window.wait("a warmer device", lambda m: READING in device(m) and degrees(m) > before)


def test_unchanged_text_is_not_redrawn(device_window):
    window = device_window
    window.wait("a reading", lambda m: READING in device(m))
    window.settle()
    frame = window.map()["frame"]
    time.sleep(2)  # forty pulses, whose power fluctuates by a watt
    assert window.map()["frame"] == frame


def test_a_minimized_window_requests_no_readings(device_window):
    if not ICONIFY:
        pytest.skip("ICONIFY does not name the built iconify: X11's headers are missing")
    window = device_window
    window.wait("a reading", lambda m: READING in device(m))

    def put(where):
        subprocess.run([ICONIFY, "Expertscope", where], env=window.environment, check=True,
                       timeout=20)

    put("away")
    window.wait("no reading", lambda m: device(m) == "")
    put("back")
    window.wait("a reading again", lambda m: READING in device(m))


def test_without_a_gpu_the_bar_says_why(open_window):
    window = open_window("--worker-backend", "cpu")
    current = window.wait("why there is no GPU", lambda m: "no GPU: " in device(m))
    assert "started for the CPU only" in device(current)
    bar = next(c for c in current["controls"] if c["id"] == "status.device")
    assert bar["rect"][2] <= current["window"][0]
