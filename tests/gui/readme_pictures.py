"""The still pictures of the READMEs: the window as it is now, with the recordings that ship with it.

    EXPERTSCOPE_PROGRAM=build/bin/expertscope python3 tests/gui/readme_pictures.py [NAME ...]
renews assets/pictures/*.png, or those named: look at them before the commit. tour_picture.py renews the animated
one. "connect" shows another machine, which is an sshd of this one."""
import contextlib
import os
import pathlib
import shutil
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from machines import ask_for, connected, run_anew, value  # noqa: E402
from ssh_server import HOST, SshServer  # noqa: E402
from window_driver import Window  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
PICTURES = ROOT / "assets" / "pictures"
BUG = ROOT / "assets" / "sessions" / "workspace_bug.session"
EXAMPLE = ROOT / "assets" / "sessions" / "h200_layer.session"
PAGES = ["performance", "numerics", "graphs", "compare"]
VIEWS = {"topology": 1, "memory": 2, "doctor": 3}  # of the Graphs page
WHOLE, SMALLER = (1440, 900), (1200, 750)


@contextlib.contextmanager
def window(*arguments, size=WHOLE, **more):
    program = pathlib.Path(os.environ["EXPERTSCOPE_PROGRAM"]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        with Window(program, folder, arguments, width=size[0], height=size[1], **more) as one:
            yield one


def shows(name):
    return lambda m: any(c["id"] == name for c in m["controls"])


def keep(one, name):
    shutil.copyfile(one.picture(), PICTURES / f"{name}.png")


def page(name):
    """At first sight: the example is open, and a worker runs."""
    with window("--worker-backend", "cpu", first_start=True) as one:
        one.wait("a run of this machine", lambda m: m["state"]["runs"] > 0)
        one.wait("the line", shows("welcome.close"))
        one.settle()
        one.click("welcome.close")
        one.key(f"ctrl+{PAGES.index(name) + 1}")
        one.wait(name, lambda m: m["state"]["page"] == name)
        if name == "numerics":  # whose view of the layer the example begins with
            one.settle()
            one.click("numerics.part.0")
        keep(one, name)


def graphs_view(name):
    with window(str(BUG), "--no-worker", size=WHOLE if name == "doctor" else SMALLER) as one:
        one.key("ctrl+3")
        one.wait("the views", shows(f"graphs.view.{VIEWS[name]}"))
        one.settle()
        one.click(f"graphs.view.{VIEWS[name]}")
        keep(one, name)


def launch(name):
    """One launch of our own product: the first B of the example's A and B."""
    with window(str(EXAMPLE), "--no-worker") as one:
        def choose(words):
            one.wait(words, lambda m: any(words in c["label"] for c in m["controls"]))
            one.settle()
            one.click(next(c["id"] for c in one.map()["controls"] if words in c["label"]))

        one.wait("the runs", shows("top.run"))
        one.settle()
        one.click("top.run")
        choose("A/B of")
        choose(". B: ")
        one.wait("its launches", shows("performance.launch"))
        one.settle()
        keep(one, name)


def connect(name):
    with tempfile.TemporaryDirectory() as home, SshServer() as server:
        (pathlib.Path(home) / ".ssh").mkdir()
        (pathlib.Path(home) / ".ssh" / "config").write_text(f"Host {HOST} dgx gpu-node-1 gpu-node-2\n")
        cache = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
        os.environ.update(server.client(), HOME=home, XDG_CACHE_HOME=cache)
        with window("--worker-backend", "cpu") as one:
            one.wait_for_result()
            ask_for(one)
            connected(one)
            run_anew(one)
            one.click("top.machine")
            one.wait("the dialog", lambda m: value(m, "machine"))
            keep(one, name)


TAKEN_BY = dict.fromkeys(PAGES, page) | dict.fromkeys(VIEWS, graphs_view) | {
    "launch": launch, "connect": connect}


def main():
    for name in sys.argv[1:] or TAKEN_BY:
        TAKEN_BY[name](name)
        print(f"{name}.png: {(PICTURES / f'{name}.png').stat().st_size} bytes", flush=True)


if __name__ == "__main__":
    sys.exit(main())
