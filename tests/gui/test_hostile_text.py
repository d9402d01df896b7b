"""1 MB of text, control characters, direction marks and escape sequences in every text input:
the window survives, draws every page of it, and refuses with a short message what it does not accept."""
import json
import os
import re
import shutil
import sqlite3
import subprocess

import pytest

HOSTILE = "\x1b[2J\x1b]0;t\x07\x01\u009b31m\u202eabc\u2066\u200b%s%n##x###y" + "x" * 1_000_000
PAGES = {"performance": ["ctrl+1"], "numerics": ["ctrl+2"], "recipes": ["ctrl+shift+2"], "graphs": ["ctrl+3"],
         "compare": ["ctrl+4"]}
PARTS = {"numerics": "numerics.part", "recipes": "recipes.over", "graphs": "graphs.view", "performance": "performance.part"}


def text_columns(path):
    with sqlite3.connect(path) as database:
        return database.execute("SELECT s.name, c.name FROM sqlite_schema s, pragma_table_info(s.name) c"
                                " WHERE s.type = 'table' AND c.type = 'TEXT'").fetchall()


def make_hostile(path, columns, text):
    database = sqlite3.connect(path)
    for table, column in columns:
        database.execute(f'UPDATE OR IGNORE "{table}" SET "{column}" = ? WHERE "{column}" IN'
                         f' (SELECT DISTINCT "{column}" FROM "{table}" LIMIT 3)', (text,))
    database.commit()
    database.close()


def hostile_recording(program, good, path):
    """Replaces every text of the recording. Keywords and documents are refused by the reader by name."""
    columns = text_columns(good)
    assert len(columns) > 40
    while True:
        shutil.copy(good, path)
        make_hostile(path, columns, HOSTILE[:100])
        # A run that does not exist: the file is read and checked, and nothing is exported.
        done = subprocess.run([program, "export", "--run", "999", "--chrome", str(path) + ".json", str(path)],
                              capture_output=True, timeout=60)
        assert done.returncode >= 0, "the command line died"
        error = done.stderr.decode()
        assert len(error) < 3000 and "\x1b" not in error, error[:300]
        refused = re.search(r"table (\w+), row \d+: (\w+)", error)
        if not refused:
            break
        assert refused.groups() in columns, error
        columns.remove(refused.groups())
    make_hostile(path, columns, HOSTILE)
    return columns


def draw_everything(window):
    """Every page and every part of it, with the pointer over whatever shows a tooltip."""
    for page, keys in PAGES.items():
        window.key(*keys)
        window.settle()
        parts = [c["id"] for c in window.map()["controls"]
                 if re.fullmatch(PARTS.get(page, "none") + r"\.\d+", c["id"])]
        for part in parts or [None]:
            if part is not None:
                window.click(part)
                window.settle()
            finding = window.control("doctor.finding.0")
            if finding is not None and finding["visible"]:
                window.click("doctor.finding.0")
                window.settle()
            seen = [c for c in window.map()["controls"] if c["visible"] and "rect" in c][::4][:12]
            for control in seen:
                left, top, right, bottom = control["rect"]
                window.xdotool("mousemove", int((left + right) / 2), int((top + bottom) / 2))
    assert window.process.poll() is None
    window.key("ctrl+1")
    window.wait("the first page", lambda m: m["state"]["page"] == "performance")


@pytest.fixture
def makers():
    names = [os.environ.get(name) for name in ("DOCTOR_RECORDING_MAKER", "MEASURED_RECORDING_MAKER")]
    if not all(names):
        pytest.skip("the makers of recordings are not built")
    return names


@pytest.fixture
def fake_worker(tmp_path):
    fake = os.environ.get("FAKE_WORKER")
    if not fake:
        pytest.skip("FAKE_WORKER does not name the built program")

    def of(mode):
        path = tmp_path / mode
        path.write_text(f'#!/bin/sh\nexec "{fake}" {mode}\n')
        path.chmod(0o700)
        return ["--worker", str(path)]

    return of


@pytest.mark.parametrize("which", ["doctor", "measured"])
def test_every_word_of_a_recording(open_window, program, makers, tmp_path, which):
    good = tmp_path / "good.session"
    subprocess.run([makers[which == "measured"], good], check=True, timeout=60)
    path = tmp_path / "hostile.session"
    assert len(hostile_recording(program, good, path)) > 20
    window = open_window(str(path), "--no-worker")
    window.wait("the recording", lambda m: m["state"]["from_file"])
    draw_everything(window)


def test_every_text_of_a_worker(open_window, fake_worker):
    window = open_window(*fake_worker("hostile-text"))
    window.wait("a run", lambda m: m["state"]["shown_run_id"] > 0)
    window.wait_for_link("responsive")
    draw_everything(window)
    assert "\x1b" not in json.dumps(window.map(), ensure_ascii=False)


@pytest.mark.parametrize("mode,field", [("hostile-refusal", "link_reason"), ("hostile-failure", "last_error")])
def test_messages_of_a_worker_that_refuses(open_window, fake_worker, mode, field):
    window = open_window(*fake_worker(mode))
    words = window.wait("the sentence", lambda m: "\u2026" in m["state"][field])["state"][field]
    assert 8000 < len(words) < 9000 and "\x1b" not in words and "\\u001b[2J" in words
    window.settle()
    # However long the message, the rail's controls can be reached.
    assert window.control("shape.preset")["visible"] and window.control("run.now")["visible"]
    draw_everything(window)


def tour(path, **changes):
    step = {"name": "step", "caption": "caption", "page": "performance", **changes}
    path.write_text(json.dumps({"title": HOSTILE, "steps": [step]}))
    return path


def test_captions_of_a_tour(open_window, tmp_path):
    window = open_window(str(tour(tmp_path / "tour.json", caption=HOSTILE, title=HOSTILE)), "--no-worker")
    window.wait("the tour", lambda m: any(c["id"] == "tour.state" for c in m["controls"]))
    window.settle()
    draw_everything(window)


@pytest.mark.parametrize("name,text,why", [
    ("deep.json", '{"steps":[{"name":"a","caption":"b","page":"performance","request":' + "[" * 40_000 + "]" * 40_000
     + "}]}", "deeper than 64 levels"),
    ("deep.jsonl", '{"caption":"x","a":' + "[" * 40_000 + "]" * 40_000 + "}\n", "deeper than 64 levels"),
    ("library.jsonl", json.dumps({"cublaslt_library": HOSTILE}) + "\n", "the limit is 4095"),
    ("field.jsonl", json.dumps({HOSTILE: 1}) + "\n", "the limit is 256"),
])
def test_tours_and_logs_that_are_refused(open_window, program, tmp_path, name, text, why):
    path = tmp_path / name
    path.write_text(text)
    window = open_window(str(path), "--no-worker")
    notices = window.wait("the refusal", lambda m: any(
        c["id"].startswith("notice.") and why in c["value"] + c["label"] for c in m["controls"]))
    assert notices["frame"] > 0
    window.settle()
    assert window.process.poll() is None
    asked = ["--requests"] if name.endswith("l") else ["--request"]
    done = subprocess.run([program, "run", *asked, str(path)], capture_output=True, timeout=60)
    assert done.returncode > 0 and len(done.stderr) < 3000
    assert b"\x1b" not in done.stderr


def test_names_of_a_tour_stay_in_its_folder(program, tmp_path):
    path = tour(tmp_path / "tour.json", name="../outside")
    folder = tmp_path / "pictures"
    environment = dict(os.environ, LIBGL_ALWAYS_SOFTWARE="1", XDG_CONFIG_HOME=str(tmp_path / "config"))
    made = subprocess.run(["xvfb-run", "-a", program, "open", str(path), "--tour", str(folder)], env=environment,
                          capture_output=True, timeout=120)
    assert made.returncode == 0, made.stderr
    assert (folder / "outside.png").is_file() and not (tmp_path / "outside.png").exists()


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.dot", "a.session"])
def test_a_fifo_blocks_nothing(open_window, tmp_path, name):
    path = tmp_path / name
    os.mkfifo(path)
    window = open_window("--no-worker")
    window.key("ctrl+o")
    window.wait("the file dialog", lambda m: any(c["id"] == "file.path" for c in m["controls"]))
    window.fill("file.path", path)
    window.click("file.accept")
    window.wait("the refusal", lambda m: any("not a regular file" in c["value"] + c["label"] for c in m["controls"]))
    window.close_politely()
