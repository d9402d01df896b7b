"""Window tests: each gets a separate window, with its own display, settings and folder."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from window_driver import Window


@pytest.fixture
def program():
    path = os.environ.get("EXPERTSCOPE_PROGRAM")
    if not path:
        pytest.skip("EXPERTSCOPE_PROGRAM does not name the built expertscope")
    return path


@pytest.fixture
def open_window(program, tmp_path):
    windows = []

    def start(*arguments, **sizes):
        # The tests' timings and expected choices hold for the CPU worker; a machine with a device would use that
        # otherwise.
        if not any(argument.startswith(("--worker", "--no-worker")) for argument in arguments):
            arguments = ("--worker-backend", "cpu", *arguments)
        folder = tmp_path / f"window{len(windows)}"
        folder.mkdir()
        windows.append(Window(program, folder, arguments, **sizes))
        return windows[-1]

    yield start
    for window in windows:
        window.close()
