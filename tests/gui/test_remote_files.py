"""Files of this machine and of another one where runs happen, through the window."""
import json
import pathlib
import shutil

import pytest

from machines import (NEEDS_SSHD, SUPPORT, ask_for, connected, elsewhere, value, wait_for_value)  # noqa: F401
from ssh_server import HOST

pytestmark = NEEDS_SSHD


def test_a_tensor_of_this_machine_is_sent_there_and_keeps_its_name(open_window, elsewhere):
    np = pytest.importorskip("numpy")
    server = elsewhere()
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    connected(window)
    before = window.state()["run_generation"]
    path = window.folder / "x.npy"
    np.save(path, np.random.default_rng(1).normal(size=(1024, 512)).astype(np.float32))
    window.open_file(path)
    window.wait("the file is there", lambda _: (server.cache / "files").exists()
                and list((server.cache / "files").glob("*/x.npy")))
    window.wait("a run with it", lambda m: m["state"]["run_generation"] > before and not m["state"]["stale"]
                and not m["state"]["request_error"], 60)
    window.settle()
    # Its name here, wherever it is shown; its place there nowhere.
    assert not [c for c in window.map()["controls"] if str(server.cache) in c["value"] + c["label"]]
    # What is asked about a file that is not here either is answered, and the window stays.
    window.open_file(window.folder / "nothing.npy")
    window.settle()
    assert window.state()["link"] == "responsive"


def listed(current):
    return [c["id"][len("file."):] for c in current["controls"] if c["kind"] == "option" and c["id"].startswith("file.")]


def wait_listed(window, folder, *names):
    window.wait(f"{names} of {folder}", lambda m: value(m, "file.folder") == str(folder) and listed(m) == list(names))
    window.settle()


# A name of "##two\nlines\x1b[31m.npy", as the map has it.
HOSTILE = "##two\nlines\\u001b[31m.npy"


def test_a_file_of_the_other_machine_is_chosen_there(open_window, elsewhere):
    np = pytest.importorskip("numpy")
    server = elsewhere()
    captures = server.home / "captures"
    (captures / "old").mkdir(parents=True)
    (captures / ".hidden").mkdir()
    for name in ("x.npy", "##two\nlines\x1b[31m.npy", "notes.txt"):
        np.save(open(captures / name, "wb"), np.random.default_rng(1).normal(size=(320, 192)).astype(np.float32))
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+o")
    window.wait("the dialog", lambda m: any(c["id"] == "file.path" for c in m["controls"]))
    assert window.control("browsed.1") is None, "there is one machine"
    window.press("Escape")
    ask_for(window)
    connected(window)
    before = window.state()["run_generation"]
    window.key("ctrl+o")
    window.wait("the machines", lambda m: any(c["id"] == "browsed.1" for c in m["controls"]))
    here = value(window.map(), "file.folder")
    window.settle()
    window.click("browsed.1")
    wait_listed(window, server.home, "captures")
    window.xdotool("type", "--delay", 20, "capt")
    window.wait("the folder", lambda m: value(m, "file.selected") == "captures")
    window.press("Return")
    wait_listed(window, captures, "old", HOSTILE, "x.npy")
    # A folder that is gone when it is entered.
    (captures / "old").rmdir()
    window.click("file.old")
    wait_for_value(window, "file.error", f"{captures}/old cannot be listed: No such file or directory")
    window.settle()
    window.click("file.up")
    wait_listed(window, captures, HOSTILE, "x.npy")
    # Each machine keeps its folder.
    window.click("browsed.0")
    window.wait("this machine", lambda m: value(m, "file.folder") == here)
    window.settle()
    window.click("browsed.1")
    wait_listed(window, captures, HOSTILE, "x.npy")
    window.click("file.x.npy")
    window.wait("its name", lambda m: value(m, "file.path") == "x.npy")
    window.settle()
    window.click("file.accept")
    window.wait("a run with it", lambda m: m["state"]["run_generation"] > before and not m["state"]["stale"]
                and value(m, "shape.rows") == "320" and not m["state"]["request_error"], 60)
    assert not (server.cache / "files").exists(), "it was read in place"
    # A path that is typed as scp writes it leads there too.
    window.key("ctrl+o")
    window.wait("the dialog", lambda m: any(c["id"] == "file.path" for c in m["controls"]))
    window.settle()
    window.click("browsed.0")
    window.wait("this machine", lambda m: value(m, "file.folder") == here)
    window.settle()
    window.click("file.path")
    window.xdotool("type", "--delay", 20, f"{HOST}:{server.home}")
    window.press("Return")
    wait_listed(window, server.home, "captures")
    server.cut()
    wait_for_value(window, "banner.machine", f"Connection to {HOST} lost: ", 5)
    window.settle()
    window.click("file.up")
    wait_for_value(window, "file.error", f"{HOST} lists nothing: its worker is lost")
    window.press("Escape")
    window.close_politely()
    settings = json.loads((window.folder / "config" / "expertscope" / "settings.json").read_text())
    assert not [one for one in settings["recent"] if HOST in one], "recent files are of this machine"


def open_there(window, path):
    """Typed as scp writes it."""
    window.key("ctrl+o")
    window.wait("the dialog", lambda m: any(c["id"] == "file.path" for c in m["controls"]))
    window.settle()
    window.xdotool("type", "--delay", 20, f"{HOST}:{path}")
    window.wait("its name", lambda m: value(m, "file.path").endswith(path.name))
    window.press("Return")


def test_what_the_window_reads_is_copied_from_the_other_machine(open_window, elsewhere):
    server = elsewhere()
    recording = server.home / "a step.session"
    shutil.copy(SUPPORT.parents[1] / "assets/sessions/workspace_bug.session", recording)
    (server.home / "step.json").write_text(json.dumps({"shape": {"rows": 768, "n": 64, "k": 64, "num_experts": 4}}))
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    connected(window)
    open_there(window, recording)
    shown = window.wait("the recording", lambda m: m["state"]["from_file"])["state"]["session_path"]
    assert "/fetched/" in shown and pathlib.Path(shown).read_bytes() == recording.read_bytes()
    window.settle()
    open_there(window, server.home / "step.json")
    window.wait("a run of the request", lambda m: not m["state"]["from_file"] and value(m, "shape.rows") == "768"
                and not m["state"]["stale"], 60)
    window.settle()
    open_there(window, server.home / "nothing.session")
    window.wait("why not", lambda m: any("copying nothing.session failed" in c["value"] and "no such regular file" in c["value"]
                                         for c in m["controls"]))
    window.close_politely()
    settings = json.loads((window.folder / "config" / "expertscope" / "settings.json").read_text())
    assert settings["recent"] == [] and "/fetched" not in settings["folder"], "copies are not what the user opened"
