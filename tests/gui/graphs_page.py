"""The Graphs page for its tests: visits to the doctor to open, what is read from the views, and what cards save."""
import csv
import io
import os
import pathlib
import shutil
import subprocess

import pytest

from saved_tables import saved_table


@pytest.fixture
def recording(tmp_path):
    maker = os.environ.get("DOCTOR_RECORDING_MAKER")
    if not maker:
        pytest.skip("DOCTOR_RECORDING_MAKER does not name the built program")

    def make(nodes=None):
        path = tmp_path / f"visits{nodes or ''}.session"
        subprocess.run([maker, path] + ([str(nodes)] if nodes else []), check=True, timeout=60)
        return path

    return make


@pytest.fixture
def shared_workspace(tmp_path):
    """A visit that was made on an H200: three products share a workspace, moving one is enough. A copy: the window
    saves next to what it has opened."""
    shipped = pathlib.Path(__file__).resolve().parents[2] / "assets/sessions/workspace_bug.session"
    return str(shutil.copy(shipped, tmp_path / shipped.name))


def fields(control):
    return dict(part.split("=") for part in control["value"].split(";"))


def opened(window):
    """A recording that has only visits opens the doctor by itself once it is read: not before, not later."""
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    return window


def show(window, view):
    window.key("ctrl+3")
    window.click(f"graphs.view.{view}")


def wait_fields(window, name, condition, seconds=15):
    window.wait(f"{name} as wanted", lambda m: any(
        c["id"] == name and condition(fields(c)) for c in m["controls"]), seconds)
    return fields(window.control(name))


def saved_csv(window, card):
    """The rows that the card's menu saves."""
    return list(csv.reader(io.StringIO(saved_table(window, card))))
