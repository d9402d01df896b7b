"""Runs on another machine, through the window: a real sshd, its questions, and what happens when it is lost."""
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from machines import (NEEDS_SSHD, SUPPORT, answer, ask_for, connected, elsewhere, processes_of, question,  # noqa: F401
                      run_anew, runs_program, use_the_worker_of_this_build, value, wait_for_value)
from ssh_server import HOST
from unbuilt_cuda_worker import GPU, Tree
from window_driver import PATIENCE, Window

pytestmark = NEEDS_SSHD

PASSPHRASE = "open sesame"


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
    wait_for_value(window, "attach.here", f"Programs are started on {HOST}, where runs happen")
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
