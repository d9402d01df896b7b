"""Attaching in the window to programs of another machine, where runs happen: a real sshd. The program copies a record
that was made by hand, as the preloaded library would write it."""
import os
import subprocess

import pytest

from machines import NEEDS_SSHD, SUPPORT, ask_for, connected, elsewhere, value  # noqa: F401
from ssh_server import HOST
from unbuilt_cuda_worker import Tree
from window_driver import Window

pytestmark = NEEDS_SSHD


def shown(window, name, text, seconds=30):
    return window.wait(f"{name} with '{text}'", lambda m: text in value(m, name), seconds)


@pytest.fixture
def attaching(program, elsewhere, monkeypatch, tmp_path):  # noqa: F811
    """A function that gives a window whose runs happen elsewhere, with the dialog open, and that machine."""
    needed = [os.environ.get(name) for name in ("FAKE_WORKER", "MARKER_LIBRARY", "ATTACH_RECORD_MAKER")]
    if None in needed:
        pytest.skip("the environment does not name the worker, the library and the maker of records")
    worker, library, maker = needed
    windows = []

    def start(with_library=True):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        (tmp_path / "made").mkdir()
        subprocess.run([maker, tmp_path / "made"], check=True, timeout=60)
        tree = Tree(tmp_path / "tree", program, worker, SUPPORT.parents[1] / "assets", library if with_library else None)
        server = elsewhere()
        (tmp_path / "window").mkdir()
        window = Window(tree.program, tmp_path / "window")
        windows.append(window)
        window.wait_for_link("responsive")
        ask_for(window)
        connected(window)
        window.key("ctrl+3")
        for button in ("graphs.view.3", "doctor.attach"):
            window.wait(button, lambda m, name=button: any(c["id"] == name for c in m["controls"]))
            window.settle()
            window.click(button)
        shown(window, "attach.here", f"Programs are started on {HOST}, where runs happen")
        window.settle()
        return window, server

    yield start
    for window in windows:
        window.close()


def program_text(folder, after):
    return f"""sh -c 'cp {folder}/made/*.spool "$EXPERTSCOPE_ATTACH_FOLDER"; echo ready in $PWD; {after}'"""


def test_a_program_there_is_watched_until_it_is_ended(attaching, tmp_path):
    window, server = attaching()
    there = server.home / "there"
    there.mkdir()
    window.fill("attach.command", program_text(tmp_path, "exec sleep 60"))
    window.fill("attach.working_folder", there)
    window.click("attach.start")
    state = value(shown(window, "attach.state", f" on {HOST})"), "attach.state")
    assert state.startswith("Running: sh -c")
    shown(window, "attach.process.0", "graphs=1;launches=3")
    shown(window, "attach.process.1", "graphs=1;launches=1")
    shown(window, "attach.output", f"ready in {there}")
    shown(window, "attach.findings", "train.py (process 1234)")
    record, = (tmp_path / "cache/expertscope/attach").iterdir()
    assert sorted(one.suffix for one in record.iterdir()) == [".spool", ".spool", ".txt"]
    window.click("attach.end")
    shown(window, "attach.state", "was killed by signal 15 (Terminated)")
    assert list((server.cache / "attach").iterdir()) == [], "all of the record is here"
    window.click("attach.close")
    shown(window, "doctor.finding.0", "freed-memory")


def test_a_lost_connection_is_said_and_what_arrived_stays(attaching, tmp_path):
    window, server = attaching()
    window.fill("attach.command", program_text(tmp_path, "sleep 60"))
    window.click("attach.start")
    shown(window, "attach.findings", "train.py (process 1234)")
    server.cut()
    state = value(shown(window, "attach.state", f"the connection to {HOST} was lost"), "attach.state")
    assert "it goes on there, and its whole record is there in" in state
    shown(window, "attach.process.0", "findings=1")


def test_a_worker_without_the_library_is_said_to_be_so(attaching):
    window, _ = attaching(with_library=False)
    assert not value(window.map(), "attach.missing"), "what this machine lacks does not matter"
    window.fill("attach.command", "true")
    window.click("attach.start")
    shown(window, "attach.state", f"on {HOST}: the worker that was sent there was built without CUDA")
