"""A file that names a cuBLASLt library: the window asks, and does not load it before the answer."""
import json
import os
import subprocess

import pytest

from window_driver import Display

REQUEST = {"shape": {"num_experts": 4, "rows": 64, "n": 64, "k": 256}, "launch": {"iterations": 2}}


@pytest.fixture
def library(monkeypatch, tmp_path):
    """A shared object that leaves a mark when it is loaded."""
    path = os.environ.get("MARKER_LIBRARY")
    if not path:
        pytest.skip("MARKER_LIBRARY does not name the built marker library")
    monkeypatch.setenv("MARKER_FILE", str(tmp_path / "marker"))
    yield path
    # The CPU worker of these tests loads no library, allowed or not; tests/gpu does so with consent.
    assert not (tmp_path / "marker").exists()


@pytest.fixture
def tour(library, tmp_path):
    path = tmp_path / "stranger.json"
    path.write_text(json.dumps({"title": "A stranger's", "steps": [
        {"name": "01", "caption": "a step", "page": "performance",
         "request": {**REQUEST, "cublaslt_library": library}}]}))
    return path


def asked(window, file, library):
    window.wait("a question", lambda m: any(c["id"] == "library.allow" for c in m["controls"]))
    text = window.control("library.question")["value"]
    assert str(file) in text and library in text
    assert not window.state()["shown_run_id"]


def unasked(window):
    window.wait("no question", lambda m: not any(c["id"] == "library.allow" for c in m["controls"]))


def rail_is_clean(window):
    """A refused library is not in the rail either: the next run asks no question."""
    window.key("ctrl+r")
    window.wait_for_result()
    unasked(window)


def open_with_request(open_window, library, tmp_path):
    path = tmp_path / "request.json"
    path.write_text(json.dumps({**REQUEST, "cublaslt_library": library}))
    window = open_window("--request", str(path))
    asked(window, path, library)
    return window


def test_a_request_is_refused_by_mouse(open_window, library, tmp_path):
    window = open_with_request(open_window, library, tmp_path)
    window.click("library.refuse")
    unasked(window)
    window.key("ctrl+z")  # what was refused does not come back with undo either
    asked(window, tmp_path / "request.json", library)
    window.click("library.refuse")
    unasked(window)
    rail_is_clean(window)


def test_a_request_is_refused_by_key(open_window, library, tmp_path):
    window = open_with_request(open_window, library, tmp_path)
    window.key("Escape")
    unasked(window)
    rail_is_clean(window)


def test_a_request_is_allowed_by_key_and_for_this_window_only(open_window, library, tmp_path):
    window = open_with_request(open_window, library, tmp_path)
    window.key("ctrl+shift+l")
    window.wait_for_result()
    window.key("ctrl+r")
    unasked(window)
    window.close_politely()
    open_with_request(open_window, library, tmp_path)


def test_the_question_of_a_tour(open_window, library, tour):
    window = open_window(str(tour))
    asked_tour = lambda: window.wait("a question", lambda m: any(c["id"] == "library.allow" for c in m["controls"]))
    asked_tour()
    assert str(tour) in window.control("library.question")["value"]
    assert "waits for your answer" in window.control("tour.caption")["value"]
    window.click("library.refuse")
    window.wait("a step that says it", lambda m: any(
        c["id"] == "tour.caption" and "was refused" in c["value"] for c in m["controls"]))
    window.click("tour.stop")
    unasked(window)


def test_an_allowed_tour_continues(open_window, library, tour):
    window = open_window(str(tour))
    window.click("library.allow")
    window.wait("the step", lambda m: any(
        c["id"] == "tour.state" and "shown=true;trouble=" in c["value"] and c["value"].endswith("trouble=")
        for c in m["controls"]))
    window.wait_for_result()


def test_an_option_is_an_answer(open_window, library, tour):
    window = open_window("--allow-library", library, str(tour))
    window.wait_for_result()
    unasked(window)


def test_a_recording_measured_again(open_window, program, library, tmp_path):
    session = tmp_path / "stranger.session"
    for iterations in (2, 3):
        request = {**REQUEST, "launch": {"iterations": iterations}, "cublaslt_library": library}
        (tmp_path / "log.jsonl").open("a").write(json.dumps(request) + "\n")
    subprocess.run([program, "run", "--worker-backend", "cpu", "--requests", str(tmp_path / "log.jsonl"),
                    "--allow-library", library, "--record", str(session)], check=True, timeout=100,
                   stdout=subprocess.DEVNULL)
    window = open_window(str(session))
    window.wait("the recording", lambda m: m["state"]["from_file"])
    window.wait_for_link("responsive")
    window.key("ctrl+4")
    unasked(window)  # viewing it asks nothing
    window.click("compare.again")
    window.wait("a question", lambda m: any(c["id"] == "library.allow" for c in m["controls"]))
    text = window.control("library.question")["value"]
    assert str(session) in text and library in text
    window.click("library.refuse")
    unasked(window)
    assert not any(c["id"] == "compare.progress" for c in window.map()["controls"])
    window.click("compare.again")
    window.click("library.allow")
    window.wait("runs", lambda m: m["state"]["shown_run_id"] > 0 and not m["state"]["from_file"])


def test_a_guided_run_cannot_ask(program, library, tour, tmp_path):
    display = Display(800, 600)
    try:
        log = tmp_path / "stranger.jsonl"
        log.write_text(json.dumps({**REQUEST, "cublaslt_library": library}) + "\n")
        for file in (tour, log):
            done = subprocess.run(
                [program, "open", str(file), "--tour", str(tmp_path / "pictures"), "--worker-backend", "cpu"],
                capture_output=True, text=True, timeout=100,
                env=dict(os.environ, DISPLAY=display.name, LIBGL_ALWAYS_SOFTWARE="1",
                         XDG_CONFIG_HOME=str(tmp_path / "config")))
            assert done.returncode == 1
            assert f"{file} names the cuBLASLt library {library}" in done.stderr
            assert f"--allow-library {library}" in done.stderr
    finally:
        display.close()
