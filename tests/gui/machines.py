"""Another machine for the window's tests: a real sshd, and what they do to get there."""
import os
import pathlib

import pytest

from ssh_server import HOST, SshServer, why_not

SUPPORT = pathlib.Path(__file__).resolve().parents[1] / "support"
# For pytestmark of every file that uses these.
NEEDS_SSHD = pytest.mark.skipif(bool(why_not()), reason=why_not() or "there is an sshd")


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
