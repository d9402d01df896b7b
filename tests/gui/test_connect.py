"""Runs on another machine, through the window: a real sshd, its questions, and what happens when it is lost."""
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

import pytest

from ssh_server import HOST, SshServer, why_not
from unbuilt_cuda_worker import GPU, Tree
from window_driver import PATIENCE, Window

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is an sshd")

PASSPHRASE = "open sesame"
SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"


@pytest.fixture
def elsewhere(monkeypatch, tmp_path):
    """A function that starts the other machine, which the user's ssh configuration names."""
    servers = []
    # The packed worker is the same for all tests.
    monkeypatch.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")))
    home = tmp_path / "me"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "config").write_text(f"Host {HOST} another\nHost *.lan\n")
    monkeypatch.setenv("HOME", str(home))

    def start(**how):
        server = SshServer(**how).start()
        servers.append(server)
        for name, value in server.client().items():
            monkeypatch.setenv(name, value)
        return server

    yield start
    for server in servers:
        server.__exit__()


def value(current, name):
    return next((c["value"] for c in current["controls"] if c["id"] == name), "")


def wait_for_value(window, name, begin, seconds=60):
    return window.wait(f"{name} with {begin}", lambda m: value(m, name).startswith(begin), seconds)


def ask_for(window, host=HOST):
    """Where to run, then this machine, by clicking."""
    window.click("top.machine")
    window.wait("the machines", lambda m: any(c["id"] == f"machine.host.{host}" for c in m["controls"]))
    window.settle()
    window.click(f"machine.host.{host}")
    window.click("machine.connect")


def connected(window):
    """Runs happen there: the dialog has closed, and the worker answers."""
    window.wait("a worker there", lambda m: value(m, "status.machine").startswith(HOST)
                and m["state"]["link"] == "responsive" and not value(m, "machine"), 60)


def question(window, begin):
    wait_for_value(window, "machine.question", begin)
    window.settle()


def use_the_worker_of_this_build(window, begin):
    """One without CUDA offers to build one that has it, where there may be a GPU: No."""
    window.wait("the connecting", lambda m: value(m, "machine").startswith("connecting=true") or not value(m, "machine"))
    asked = value(window.wait("a question or the worker", lambda m: value(m, "machine.question")
                              or not value(m, "machine.step.worker").startswith("waits"), 60), "machine.question")
    if asked:
        assert asked.startswith(begin) and "the worker of this build has no CUDA" in asked, asked
        window.settle()
        window.click("machine.no")


def answer(window, text):
    window.click("machine.answer")
    window.xdotool("type", "--delay", 20, "--", text)
    window.settle()
    window.press("Return")


def run_anew(window):
    before = window.state()["run_generation"]
    window.click("recipe.pow2")
    window.wait("another run", lambda m: m["state"]["run_generation"] > before and not m["state"]["stale"])


def processes_of(program):
    """Folders in /proc."""
    def is_it(exe):
        try:
            return os.readlink(exe) == str(program)
        except OSError:
            return False
    return [exe.parent for exe in pathlib.Path("/proc").glob("[0-9]*/exe") if is_it(exe)]


def runs_program(path):
    return bool(processes_of(path))


def test_runs_happen_there_and_here_again(open_window, elsewhere):
    server = elsewhere()
    window = open_window()
    shown = window.wait_for_result()["state"]
    assert window.control("top.machine")["label"] == "This machine"
    ask_for(window)
    connected(window)
    assert HOST in window.control("top.machine")["label"]
    assert window.state()["run_generation"] == shown["run_generation"], "the last results stay"
    window.key("ctrl+3")
    window.wait("the page", lambda m: any(c["id"] == "graphs.view.3" for c in m["controls"]))
    window.settle()
    window.click("graphs.view.3")
    window.wait("the button", lambda m: any(c["id"] == "doctor.attach" for c in m["controls"]))
    window.settle()
    window.click("doctor.attach")
    wait_for_value(window, "attach.here", "Programs are started and watched on this machine, not on " + HOST)
    window.press("Escape")
    worker = server.bundles()[0] / "bin/expertscope-worker"
    assert runs_program(worker)
    run_anew(window)
    window.click("top.machine")
    window.wait("the dialog", lambda m: value(m, "machine"))
    window.settle()
    assert value(window.map(), f"machine.host.{HOST}") == "selected=true;used=true"
    window.click("machine.use_this")
    window.wait("a worker here", lambda m: m["state"]["link"] == "responsive"
                and not value(m, "status.machine").startswith(HOST))
    window.press("Escape")
    window.wait("no dialog", lambda m: not value(m, "machine"))
    run_anew(window)
    end = time.monotonic() + 10
    while runs_program(worker) and time.monotonic() < end:
        time.sleep(0.1)
    assert not runs_program(worker), "the worker there has ended"


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


def test_by_keyboard_and_remembered(open_window, elsewhere, tmp_path):
    elsewhere()
    window = open_window()
    window.wait_for_result()
    window.key("ctrl+shift+p")
    window.wait("the palette", lambda m: value(m, "palette"))
    window.settle()
    window.xdotool("type", "--delay", 30, "another machine")
    wait_for_value(window, "palette", "typed=another machine")
    window.press("Return")
    window.wait("the machines", lambda m: value(m, f"machine.host.{HOST}"))
    window.settle()
    # The configuration is in alphabetical order.
    window.press("Down")
    window.wait("the first", lambda m: value(m, "machine.host.another") == "selected=true;used=false")
    window.press("Down")
    window.wait("the second", lambda m: value(m, f"machine.host.{HOST}") == "selected=true;used=false")
    window.press("Return")
    connected(window)
    window.close_politely()
    settings = (window.folder / "config" / "expertscope" / "settings.json").read_text()
    assert f'"host": "{HOST}"' in settings


def test_what_is_no_machine_name_is_refused_where_it_is_typed(open_window, elsewhere):
    elsewhere()
    window = open_window()
    window.click("top.machine")
    window.wait("the dialog", lambda m: value(m, "machine"))
    window.settle()
    window.click("machine.name")
    window.xdotool("type", "--delay", 20, "--", "-oProxyCommand=touch")
    wait_for_value(window, "machine.refusal", "'-oProxyCommand=touch' is not a machine name")
    assert not window.control("machine.connect")["enabled"]
    window.press("Return")
    assert value(window.map(), "machine").startswith("connecting=false")


def test_a_wrong_passphrase_then_the_right_one(open_window, elsewhere):
    elsewhere(passphrase=PASSPHRASE)
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    question(window, "Enter passphrase")
    answer(window, "wrong")
    window.wait("the next question", lambda m: value(m, "machine.question").startswith("Enter passphrase")
                and value(m, "machine.answer") == "")
    window.settle()
    # With the dialog closed, the top bar and a banner say that there is a question.
    window.press("Escape")
    wait_for_value(window, "banner.machine", f"{HOST} asks: Enter passphrase")
    assert window.control("top.machine")["label"] == f"{HOST} asks"
    window.click("machine.open")
    question(window, "Enter passphrase")
    window.click("machine.answer")
    window.xdotool("type", "--delay", 20, "--", PASSPHRASE)
    window.settle()
    assert "sesame" not in window.map_path.read_text()
    window.press("Return")
    connected(window)
    window.close_politely()
    written = [one.read_bytes() for one in window.folder.rglob("*") if one.is_file()]
    assert written and not any(b"sesame" in one for one in written)


def test_an_unknown_host_key_no_then_yes(open_window, elsewhere):
    elsewhere(knows_host=False)
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    question(window, "The authenticity of host")
    assert "fingerprint" in value(window.map(), "machine.question")
    window.click("machine.no")
    wait_for_value(window, "machine.error", f"ssh cannot reach {HOST}: Host key verification failed")
    assert value(window.map(), "machine.step.reach").startswith("failed")
    window.click("machine.connect")
    question(window, "The authenticity of host")
    window.click("machine.yes")
    connected(window)


def test_cancel_while_it_asks(open_window, elsewhere):
    elsewhere(passphrase=PASSPHRASE)
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    question(window, "Enter passphrase")
    window.click("machine.cancel")
    window.wait("the end", lambda m: value(m, "machine") == "connecting=false;asks=false")
    assert value(window.map(), "machine.step.reach") == "failed: Cancelled"
    assert window.control("machine.connect")["enabled"]
    window.press("Escape")
    assert window.control("top.machine")["label"] == "This machine"
    run_anew(window)


def memory_holds(pid, bytes_):
    """Whether a process has these bytes anywhere in memory that it can write."""
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in maps:
            span, rights = line.split()[:2]
            if "rw" not in rights:
                continue
            begin, end = (int(one, 16) for one in span.split("-"))
            try:
                memory.seek(begin)
                if bytes_ in memory.read(end - begin):
                    return True
            except OSError:
                pass
    return False


def test_a_half_typed_answer_goes_with_its_question(open_window, elsewhere):
    elsewhere(passphrase=PASSPHRASE)
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    question(window, "Enter passphrase")
    window.click("machine.answer")
    window.xdotool("type", "--delay", 20, "--", "halfsecretzq")
    window.settle()
    assert memory_holds(window.process.pid, b"halfsecretzq")
    window.click("machine.cancel")
    window.wait("the end", lambda m: value(m, "machine") == "connecting=false;asks=false")
    window.settle()
    assert not memory_holds(window.process.pid, b"halfsecretzq")


def test_a_lost_machine_is_said_and_connected_again(open_window, elsewhere):
    server = elsewhere()
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    connected(window)
    run_anew(window)
    shown = window.state()["run_generation"]
    server.cut()
    lost = time.monotonic()
    wait_for_value(window, "banner.machine", f"Connection to {HOST} lost: ", 5)
    assert time.monotonic() - lost < 2 * PATIENCE
    assert window.state()["run_generation"] == shown, "the last results stay"
    assert window.control("worker.start") is None
    window.click("machine.again")
    window.wait("why not", lambda m: "Not connected again: ssh cannot reach" in value(m, "banner.machine"))
    server.start()
    window.click("machine.again")
    connected(window)
    run_anew(window)


@pytest.fixture
def cable(elsewhere):
    """A function that starts the other machine behind a proxy, whose process is the cable."""
    proxies = []

    def start():
        server = elsewhere()
        proxy = subprocess.Popen([sys.executable, SUPPORT / "slow_link.py", str(server.port), "1", "1000"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        proxies.append(proxy)
        server.reached_at(int(proxy.stdout.readline()))
        return proxy

    yield start
    for proxy in proxies:
        proxy.kill()
        proxy.wait()


def test_a_pulled_cable_is_shown_and_may_be_put_back(open_window, cable):
    proxy = cable()
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    connected(window)
    run_anew(window)
    shown = window.state()["run_generation"]
    # Nothing is closed and nothing refused: packets are lost.
    proxy.send_signal(signal.SIGSTOP)
    pulled = time.monotonic()
    wait_for_value(window, "banner.machine", f"{HOST} does not answer: no pulse for", 5)
    assert time.monotonic() - pulled < 2 * PATIENCE
    assert window.control("top.machine")["label"] == f"{HOST} silent"
    assert window.state()["run_generation"] == shown, "the last results stay"
    proxy.send_signal(signal.SIGCONT)
    window.wait("answers again", lambda m: m["state"]["link"] == "responsive" and not value(m, "banner.machine"))
    run_anew(window)
    # For good: ssh gives up, and the window says so without being asked.
    proxy.send_signal(signal.SIGSTOP)
    wait_for_value(window, "banner.machine", f"Connection to {HOST} lost: ", 30)
    proxy.send_signal(signal.SIGCONT)
    window.click("machine.again")
    connected(window)
    run_anew(window)


@pytest.mark.parametrize("yes", [True, False], ids=["yes", "no"])
def test_a_worker_with_cuda_is_built_if_the_user_agrees(elsewhere, program, tmp_path, yes):
    fake = os.environ.get("FAKE_WORKER")
    if not fake:
        pytest.skip("FAKE_WORKER does not name the built program")
    tree = Tree(tmp_path / "tree", program, fake, SUPPORT.parents[1] / "assets")
    server = elsewhere(programs=GPU)
    (tmp_path / "window").mkdir()
    with Window(tree.program, tmp_path / "window") as window:
        window.wait_for_link("responsive")
        ask_for(window)
        question(window, f"{HOST} has a GPU, and the worker of this build has no CUDA. Build one that has?")
        asked = value(window.map(), "machine.question")
        assert "115 MB" in asked and "Without it, runs use the CPU there" in asked
        window.click("machine.yes" if yes else "machine.no")
        connected(window)
    assert tree.calls() == ["--plan"] + yes * [str(tree.root / "build/cuda-worker")]
    assert any(map(tree.was_sent, server.bundles())) == yes


def test_a_machine_that_never_answers_holds_up_nothing(open_window, elsewhere, monkeypatch, tmp_path):
    elsewhere().cut()
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        program = tmp_path / "bin" / "ssh"
        program.parent.mkdir()
        ssh = next(one for one in ("/usr/bin/ssh", "/usr/local/bin/ssh") if os.path.exists(one))
        program.write_text(f'#!/bin/sh\nexec {ssh} -F /dev/null -o Port={silent.getsockname()[1]} "$@"\n')
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
        window = open_window("--remote", "127.0.0.1")
        wait_for_value(window, "machine.step.reach", "doing")
        assert value(window.map(), "machine") == "connecting=true;asks=false"
        assert window.state()["worker_pid"] == 0
        window.click("machine.use_this")
        window.wait_for_link("responsive")
        window.press("Escape")
        window.wait_for_result()


def test_the_machine_of_the_command_line_is_connected_in_the_window(open_window, elsewhere):
    elsewhere()
    window = open_window("--remote", HOST)
    connected(window)
    window.wait_for_result()


def test_one_of_several_gpus_is_chosen(open_window, elsewhere):
    # The worker of this machine's CPU build uses none, but it gets the choice.
    gpus = "".join(f"echo '{i}, NVIDIA H200, 143771 MiB, 580.95.05'\n" for i in range(2))
    server = elsewhere(programs={"nvidia-smi": gpus})
    window = open_window()
    window.wait_for_result()
    ask_for(window)
    use_the_worker_of_this_build(window, f"{HOST} has a GPU")
    window.wait("the GPUs", lambda m: value(m, "machine.gpu") == "All GPUs"
                and value(m, "machine").startswith("connecting=false"), 60)
    assert value(window.map(), "machine.step.look").startswith("done: 2 x NVIDIA H200")
    window.choose("machine.gpu", "1: NVIDIA H200")
    window.click("machine.connect")
    use_the_worker_of_this_build(window, f"{HOST} has a GPU")
    connected(window)
    worker = server.bundles()[0] / "bin/expertscope-worker"

    def chosen():
        return [b"CUDA_VISIBLE_DEVICES=1" in (one / "environ").read_bytes().split(b"\0") for one in processes_of(worker)]
    end = time.monotonic() + 10
    while chosen() != [True] and time.monotonic() < end:
        time.sleep(0.1)  # the worker before it is ending
    assert chosen() == [True]


# What it was started with, for the test; then the worker, behind its own options.
LAUNCHER = """printf '%s\\n' "$@" > "$HOME/launched"
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
"""


def test_a_launcher_starts_the_worker_and_is_remembered(open_window, elsewhere):
    server = elsewhere(programs={"launch": LAUNCHER})
    window = open_window()
    window.wait_for_result()
    window.click("top.machine")
    window.wait("the machines", lambda m: any(c["id"] == f"machine.host.{HOST}" for c in m["controls"]))
    window.settle()
    window.click(f"machine.host.{HOST}")
    window.click("machine.launcher")
    window.xdotool("type", "--delay", 20, "--", 'launch --gres=gpu:1 --comment="two')
    wait_for_value(window, "machine.launcher_refusal", "Launcher: the quote in front of 'two' is not closed")
    assert not window.control("machine.connect")["enabled"]
    window.press("Return")
    window.settle()
    assert value(window.map(), "machine").startswith("connecting=false"), "half a line starts nothing"
    window.click("machine.launcher")
    window.press("End")
    window.xdotool("type", "--delay", 20, "--", """ words" '--name=$(id)'""")
    wait_for_value(window, "machine.launcher_words",
                   '["launch", "--gres=gpu:1", "--comment=two words", "--name=$(id)"]')
    window.settle()
    window.click("machine.connect")
    # Whether there is a GPU where the launcher starts the worker is not known.
    use_the_worker_of_this_build(window, f"{HOST} may start the worker where there is a GPU")
    connected(window)
    run_anew(window)
    words = (server.home / "launched").read_text().splitlines()
    assert words[:3] == ["--gres=gpu:1", "--comment=two words", "--name=$(id)"]
    assert any(word.endswith("bin/expertscope-worker") for word in words)
    # Chosen again later, it is there.
    window.click("top.machine")
    window.wait("the dialog", lambda m: value(m, "machine"))
    window.settle()
    window.click("machine.this")
    window.wait("no launcher here", lambda m: not value(m, "machine.launcher_words"))
    window.settle()
    window.click(f"machine.host.{HOST}")
    wait_for_value(window, "machine.launcher", "launch --gres=gpu:1 '--comment=two words' '--name=$(id)'")
    window.press("Escape")
    window.close_politely()
    settings = json.loads((window.folder / "config" / "expertscope" / "settings.json").read_text())
    assert settings["machines"][0]["launcher"] == ["launch", "--gres=gpu:1", "--comment=two words", "--name=$(id)"]


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
