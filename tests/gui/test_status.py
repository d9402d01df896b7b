"""The status bar: the device between runs, as a worker reports it, or why there is none; and that it keeps still."""
import os
import pathlib
import subprocess
import time

import pytest

FAKE = os.environ.get("FAKE_WORKER")
ICONIFY = os.environ.get("ICONIFY")
READING = "345 MHz · 120 W · "


@pytest.fixture
def device_window(open_window, tmp_path):
    """A window with a worker that has a device at rest; each run makes it a degree warmer."""
    if not FAKE:
        pytest.skip("FAKE_WORKER does not name the built fake_worker")
    worker = tmp_path / "worker"
    worker.write_text(f'#!/bin/sh\nexec "{FAKE}" device\n')
    worker.chmod(0o755)
    return open_window("--worker", str(worker))


def device(current):
    return next((c["value"] for c in current["controls"] if c["id"] == "status.device"), "")


def degrees(current):
    return int(device(current).split("·")[-1].split("°")[0])


def test_readings_between_runs(device_window):
    window = device_window
    window.wait_for_result()
    # It may still be the reading from before the first run: then the next one is two degrees above.
    before = degrees(window.wait("a reading", lambda m: READING in device(m)))
    window.key("F5")
    window.wait("a warmer device", lambda m: READING in device(m) and degrees(m) > before)


def test_unchanged_text_is_not_redrawn(device_window):
    window = device_window
    window.wait("a reading", lambda m: READING in device(m))
    window.settle()
    frame = window.map()["frame"]
    time.sleep(2)  # forty pulses, whose power fluctuates by a watt
    assert window.map()["frame"] == frame


def test_a_minimized_window_requests_no_readings(device_window):
    if not ICONIFY:
        pytest.skip("ICONIFY does not name the built iconify: X11's headers are missing")
    window = device_window
    window.wait("a reading", lambda m: READING in device(m))

    def put(where):
        subprocess.run([ICONIFY, "Expertscope", where], env=window.environment, check=True,
                       timeout=20)

    put("away")
    window.wait("no reading", lambda m: device(m) == "")
    put("back")
    window.wait("a reading again", lambda m: READING in device(m))


def test_without_a_gpu_the_bar_says_why(open_window):
    window = open_window("--worker-backend", "cpu")
    current = window.wait("why there is no GPU", lambda m: "no GPU: " in device(m))
    assert "started for the CPU only" in device(current)
    bar = next(c for c in current["controls"] if c["id"] == "status.device")
    assert bar["rect"][2] <= current["window"][0]


def rects(current):
    """Places of the fields, but of text that ends where it ends: only where it begins."""
    return {c["id"]: c["rect"][:2] for c in current["controls"]
            if c["id"] in ("status.worker", "status.machine", "status.progress", "status.cancel")}


def test_the_fields_keep_their_places_while_busy(open_window):
    window = open_window()
    window.wait_for_result()
    idle = rects(window.map())
    window.type_number("engine.iterations", "100")
    places, words = [], set()
    current = window.wait("a busy worker", lambda m: "status.cancel" in rects(m))
    while "status.cancel" in rects(current):
        places.append(rects(current))
        words.add(next(c["value"] for c in current["controls"] if c["id"] == "status.progress"))
        time.sleep(0.01)
        current = window.map()
    assert len(words) > 3, words
    assert all(one == places[0] for one in places), places
    assert {name: places[0][name] for name in idle} == idle


def test_notices_cover_nothing_and_errors_stay(open_window, tmp_path):
    window = open_window()
    window.wait_for_result()
    window.click("run.live")
    window.settle()

    def page(current):
        return {c["id"]: c["rect"] for c in current["controls"]
                if not c["id"].startswith(("status.", "notice."))}
    before = page(window.map())
    broken = tmp_path / "broken.session"
    broken.write_bytes(b"no recording")
    window.open_file(broken)
    current = window.wait("the notice", lambda m: any(
        c["id"] == "notice.0" and "Not opened" in c["value"] for c in m["controls"]))
    window.settle()
    assert page(window.map()) == before
    says = window.control("status.says")
    assert "Not opened" in says["value"] and not window.control("notice.0")["visible"]
    assert window.control("status.notices")["label"] == "1 !"
    window.key("Escape")
    window.settle()
    assert window.control("notice.0"), "an error stays"
    window.click("status.notices")
    window.wait("the list", lambda m: any(c["id"] == "notice.0.close" for c in m["controls"]))
    window.settle()
    assert window.control("notice.0")["visible"]
    window.click("notice.0.close")
    window.wait("no notice", lambda m: all(c["id"] != "notice.0" for c in m["controls"]))
    assert current["frame"] > 0


BANNERS = ("banner.", "worker.", "recorder.", "library.", "tour.", "tour_keeper")


def layout(current):
    """Where everything is but the banners and the text of the status bar, which ends where it ends."""
    return {c["id"]: c["rect"] for c in current["controls"]
            if c["visible"] and not c["id"].startswith((*BANNERS, "status.", "notice."))}


def covers_nothing(window, banner):
    """-> the layout with the banner."""
    window.settle()
    current = window.map()
    after = layout(current)
    strip = next(c["rect"] for c in current["controls"] if c["id"] == banner)
    covered = [name for name, rect in after.items()
               if rect[0] < strip[2] and strip[0] < rect[2] and rect[1] < strip[3] and strip[1] < rect[3]]
    assert not covered
    return after


def same_places(after, before):
    kept = before.keys() & after.keys()
    assert len(kept) >= 0.9 * len(before), before.keys() - after.keys()
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}


def opens_gently(after, before, banner_height=60):
    """The strip has taken its room from below: nothing moved sideways, and nothing by more than its height."""
    kept = before.keys() & after.keys()
    assert len(kept) >= 0.8 * len(before), before.keys() - after.keys()
    for name in kept:
        (x0, y0, x1, _), (u0, v0, u1, _) = before[name], after[name]
        assert (x0, x1) == (u0, u1) and 0 <= y0 - v0 <= banner_height, (name, before[name], after[name])


def at_rest(open_window):
    """A window with a result, in which nothing runs by itself; -> with its layout."""
    window = open_window(width=1280, height=800)
    window.wait_for_result()
    window.click("run.live")
    window.settle()
    return window, layout(window.map())


def test_banners_cover_nothing_and_move_what_is_read_once(open_window):
    window, closed = at_rest(open_window)
    window.key("ctrl+t")
    window.wait("the draft of a tour", lambda m: any(c["id"] == "tour_keeper.words" for c in m["controls"]))
    before = covers_nothing(window, "tour_keeper")
    opens_gently(before, closed)
    window.kill_worker()
    window.wait("the lost worker", lambda m: any(c["id"] == "worker.start" for c in m["controls"]))
    same_places(covers_nothing(window, "banner.worker"), before)
    # The draft waits behind what is more urgent.
    assert not window.control("tour_keeper")["visible"]
    window.click("banner.next")
    window.wait("the draft in front", lambda m: any(c["id"] == "tour_keeper.words" for c in m["controls"]))
    window.click("tour_keeper.drop")
    window.wait("the lost worker alone", lambda m: any(c["id"] == "worker.start" for c in m["controls"]))
    assert window.control("banner.next") is None
    window.click("worker.start")
    window.wait_for_link("responsive")
    window.wait("no banner", lambda m: not any(c["id"].startswith(BANNERS) for c in m["controls"]))
    window.settle()
    same_places(layout(window.map()), before)
    # Without a message its room is given back: soon, or with the page at once.
    time.sleep(3.5)
    window.settle()
    same_places(layout(window.map()), closed)
    window.key("ctrl+2")
    window.wait("another page", lambda m: m["state"]["page"] == "numerics")
    window.key("ctrl+1")
    window.wait("this page", lambda m: m["state"]["page"] == "performance")
    window.settle()
    same_places(layout(window.map()), closed)


def test_a_tour_covers_nothing(open_window):
    recording = pathlib.Path(__file__).resolve().parents[2] / "assets" / "sessions" / "workspace_bug.session"
    window = open_window(str(recording), "--no-worker", width=1280, height=800)
    window.wait("the doctor", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))
    window.settle()
    before = layout(window.map())
    window.click("top.recent")
    current = window.wait("tours", lambda m: any("workspace bug" in c["label"] for c in m["controls"]))
    window.settle()
    window.click(next(c["id"] for c in current["controls"] if "workspace bug" in c["label"]))
    window.wait("its first step", lambda m: any(
        c["id"] == "tour.state" and "step=1;" in c["value"] and "shown=true" in c["value"] for c in m["controls"]))
    window.key("space")
    opens_gently(covers_nothing(window, "tour.caption"), before)
    window.key("Escape")
    window.wait("its end", lambda m: not any(c["id"] == "tour.caption" for c in m["controls"]))


def test_the_question_about_a_library_covers_nothing(open_window, tmp_path):
    request = tmp_path / "request.json"
    request.write_text('{"cublaslt_library": "/opt/other/libcublasLt.so.13"}')
    window, before = at_rest(open_window)
    window.open_file(request)
    window.wait("the question", lambda m: any(c["id"] == "library.allow" for c in m["controls"]))
    opens_gently(covers_nothing(window, "library.question"), before)
    assert "/opt/other/libcublasLt.so.13" in window.control("library.question")["value"]


def test_two_banners_have_room_in_large_text(open_window):
    window = open_window(width=1280, height=800)
    window.wait_for_result()
    for step in range(1, 7):
        window.key("ctrl+equal")
        window.wait("larger text", lambda m: m["text_scale"] > 1 + 0.1 * step - 0.05)
    window.key("ctrl+t")
    window.wait("the draft of a tour", lambda m: any(c["id"] == "tour_keeper.words" for c in m["controls"]))
    window.kill_worker()
    window.wait("the lost worker", lambda m: any(c["id"] == "worker.start" for c in m["controls"]))
    window.settle()
    window.click("banner.next")
    window.wait("the draft in front", lambda m: any(c["id"] == "tour_keeper.words" for c in m["controls"]))
    window.settle()
    current = window.map()
    row = [next(c["rect"] for c in current["controls"] if c["id"] == name) for name in (
        "banner.next", "tour_keeper.words", "tour_keeper.add", "tour_keeper.save", "tour_keeper.drop")]
    assert row[0][0] >= 0 and row[-1][2] <= current["window"][0], row
    assert all(one[2] <= other[0] for one, other in zip(row, row[1:])), row
    window.click("banner.next")
    window.wait("the lost worker in front", lambda m: any(c["id"] == "worker.start" for c in m["controls"]))


def test_a_window_without_a_worker_offers_a_recording_and_no_run(open_window):
    window = open_window("--no-worker")
    says = window.wait("the headline", lambda m: any(c["id"] == "headline.no_run" for c in m["controls"]))
    words = next(c["value"] for c in says["controls"] if c["id"] == "headline.no_run")
    assert "without a worker" in words and "Ctrl+O" in words and "press Run" not in words
    current = window.wait("what to do", lambda m: any(c["id"] == "performance.sample" for c in m["controls"]))
    assert not any(c["id"].endswith((".run_now", ".start_worker")) for c in current["controls"])
    window.settle()
    window.click("performance.sample")
    window.wait("the shipped recording", lambda m: m["state"]["from_file"])


def test_a_window_that_lost_its_worker_offers_another(open_window):
    window = open_window("--worker", "/bin/false")
    window.wait("what to do", lambda m: any(c["id"] == "performance.start_worker" for c in m["controls"]))
    assert window.control("performance.run_now") is None


def test_a_message_cuts_the_machine_only_where_the_line_is_full(open_window):
    window = open_window()
    window.wait_for_result()
    window.settle()

    def edges(name):
        return window.control(name)["rect"]

    x0, _, x1, _ = edges("status.machine")
    window.click("top.record")
    window.wait("where it records", lambda m: any(
        c["id"] == "status.says" and c["value"].startswith("Recording every further run into ") for c in m["controls"]))
    window.settle()
    cut = edges("status.machine")[2] < x1
    assert edges("status.machine")[0] == x0
    # The notices' button begins 34 pixels before the padding of the right edge.
    assert not cut or edges("status.device")[2] > 1440 - 90
