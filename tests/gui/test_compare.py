"""The Compare page with real mouse and keys: pairs, swap, second recording, sweep, A against B."""
import csv
import io
import pathlib
import re
import subprocess

import numpy as np
import picture

SAMPLE = pathlib.Path(__file__).parents[2] / "assets" / "sessions" / "h200_layer.session"
SMALL = ["--num_experts", "4", "--tokens", "256", "--n", "256", "--k", "256"]


def value(window, name):
    control = window.control(name)
    return "" if control is None else control["value"]


def shown(name):
    return lambda m: any(c["id"] == name for c in m["controls"])


def compare(window):
    window.key("ctrl+4")
    window.wait("the page", lambda m: m["state"]["page"] == "compare")


def record(program, path, *options):
    subprocess.run([program, "run", "--worker-backend", "cpu", *SMALL, "--record", str(path), *options],
                   check=True, capture_output=True, timeout=100)


def open_pair(open_window, program, tmp_path):
    """A recording of two runs that differ by recipe."""
    path = tmp_path / "pair.session"
    with open(tmp_path / "log.jsonl", "w") as file:
        for scaling in ("fp8-block", "bf16"):
            file.write('{"shape":{"num_experts":4,"rows":256,"n":256,"k":256},'
                       '"recipe":{"scaling":"%s"},"launch":{"iterations":30}}\n' % scaling)
    subprocess.run([program, "run", "--worker-backend", "cpu", "--requests", str(tmp_path / "log.jsonl"),
                    "--record", str(path)], check=True, capture_output=True, timeout=100)
    window = open_window(str(path), "--no-worker")
    window.wait("two runs", lambda m: m["state"]["runs"] == 2)
    compare(window)
    window.wait("the comparison", shown("compare.verdict"))
    window.settle()
    return window


def test_what_is_compared_on_screen_is_on_the_shared_page(open_window, program, tmp_path):
    window = open_pair(open_window, program, tmp_path)

    def share(name):
        window.click("top.share")
        window.wait("the dialog", shown("file.path"))
        window.click("file.path")
        window.key("ctrl+a")
        window.xdotool("type", "--delay", 15, str(tmp_path / name))
        window.wait("the path", lambda m: any(
            c["id"] == "file.path" and c["value"] == str(tmp_path / name) for c in m["controls"]))
        window.settle()
        window.click("file.accept")
        window.wait("word of the page", lambda m: any(
            c["id"].startswith("notice.") and c["value"] == f"Exported: {tmp_path / name}" for c in m["controls"]))
        window.settle()
        return (tmp_path / name).read_text(encoding="utf-8")

    verdict = re.match("B is [a-z]+", value(window, "compare.verdict"))
    page = share("compared.html")
    assert 'A against B, 2 runs</h2>' in page
    section = page[page.rindex("A against B, 2 runs</h2>"):]
    assert verdict is None or verdict.group() in section
    assert "recipe.scaling" in section and "fp8-block" in section and "bf16" in section
    # Another page of the window compares nothing.
    window.key("ctrl+1")
    window.wait("the runs' page", lambda m: m["state"]["page"] == "performance")
    window.settle()
    assert "A against B" not in share("runs.html")


def test_kept_weights_say_from_how_many_micro_batches_on(open_window, program, tmp_path):
    path = tmp_path / "layers.session"
    with open(tmp_path / "log.jsonl", "w") as file:
        for scaling, micro_batches in (("bf16", 1), ("fp8-block", 3), ("fp8-block", 1)):
            file.write('{"step":"expert-layer","shape":{"num_experts":4,"rows":256,"n":256,"k":128},'
                       '"recipe":{"scaling":"%s"},"products": {"weight_reuse":%d,"passes":"forward-backward"},'
                       '"launch":{"iterations":30}}\n' % (scaling, micro_batches))
    subprocess.run([program, "run", "--worker-backend", "cpu", "--requests", str(tmp_path / "log.jsonl"),
                    "--record", str(path)], check=True, capture_output=True, timeout=100)
    window = open_window(str(path), "--no-worker")
    window.wait("three runs", lambda m: m["state"]["runs"] == 3)
    compare(window)
    window.wait("the comparison", shown("compare.verdict"))
    # The run on screen and its neighbour of the same work.
    assert value(window, "compare.a").startswith("1.") and value(window, "compare.b").startswith("2.")
    window.choose("compare.b", "3.")
    window.choose("compare.a", "2.")
    window.wait("the last two", lambda m: value(window, "compare.a").startswith("2.")
                and value(window, "compare.b").startswith("3."))
    window.settle()
    # Both quantize.
    assert window.control("compare.kept_weights") is None
    window.choose("compare.a", "1.")
    # Its weights are quantized in every step: what that takes is not known.
    window.wait("the other pair", lambda m: value(window, "compare.a").startswith("1."))
    window.settle()
    assert window.control("compare.kept_weights") is None
    window.choose("compare.b", "2.")
    window.wait("the sentence", shown("compare.kept_weights"))
    sentence = value(window, "compare.kept_weights")
    assert re.match(r"FP8 block is (faster than BF16 from \d+ micro-batch(es)? per update on|not faster than BF16 with "
                    r"any number of micro-batches up to 1024)", sentence), sentence
    for count in ("(n 10)", "(n 20)", "(n 30)"):
        assert count in sentence, sentence


def test_empty_state_offers_a_second_run(open_window):
    window = open_window()
    window.wait_for_result()
    window.click("tab.3")
    window.wait("what to do", shown("compare.run_now"))
    assert window.control("compare.again")["enabled"] is False
    assert "Two runs are needed" in window.control("compare.again")["reason"]
    window.click("compare.run_now")
    window.wait("the pair", shown("compare.verdict"))
    window.settle()
    assert value(window, "compare.a").startswith("1.")
    assert value(window, "compare.b").startswith("2.")
    # The same settings: nothing in the table, and a text that says so.
    assert window.control("compare.settings") is None


def test_without_a_worker_the_shipped_recording_is_offered(open_window):
    window = open_window("--no-worker")
    compare(window)
    window.click("compare.sample")
    window.wait("the shipped recording", lambda m: m["state"]["from_file"]
                and m["state"]["session_path"].endswith(".session"))


def test_pair_of_a_recording(open_window, program, tmp_path):
    window = open_pair(open_window, program, tmp_path)
    assert value(window, "compare.verdict") in ("faster", "slower", "ambiguous")
    assert value(window, "compare.reason")
    assert int(value(window, "compare.settings")) >= 1
    assert int(value(window, "compare.times")) > 3
    assert value(window, "compare.experts") == "experts=4;metric=time;timed=1"
    before = value(window, "compare.a"), value(window, "compare.b")
    difference = value(window, "compare.difference")
    window.click("compare.swap")
    window.wait("A and B swapped", lambda m: (value(window, "compare.a"), value(window, "compare.b"))
                == before[::-1] and value(window, "compare.difference") != difference)
    window.click("compare.metric.1")
    window.wait("SNR", lambda m: "metric=snr" in value(window, "compare.experts"))
    # Both the same: nothing differs, and nothing may be called faster.
    window.choose("compare.a", value(window, "compare.b")[:2])
    window.wait("one run against itself", lambda m: value(window, "compare.verdict") == "ambiguous"
                and window.control("compare.settings") is None)


def test_different_work_says_so(open_window, program, tmp_path):
    path = tmp_path / "work.session"
    with open(tmp_path / "log.jsonl", "w") as file:
        for tokens in (64, 1024):
            file.write('{"shape":{"num_experts":4,"rows":%d,"n":256,"k":256},"launch":{"iterations":30}}\n' % tokens)
    subprocess.run([program, "run", "--worker-backend", "cpu", "--requests", str(tmp_path / "log.jsonl"),
                    "--record", str(path)], check=True, capture_output=True, timeout=100)
    window = open_window(str(path), "--no-worker")
    window.wait("two runs", lambda m: m["state"]["runs"] == 2)
    compare(window)
    window.wait("no verdict", lambda m: value(window, "compare.verdict") == "different work")
    assert value(window, "compare.difference").startswith("n/a")
    assert "Rows 64 and 1024" in value(window, "compare.reason")


def test_settings_that_no_run_had_give_no_verdict(open_window, program, tmp_path):
    path = tmp_path / "same.session"
    with open(tmp_path / "log.jsonl", "w") as file:
        for workspace in ("shared", "per-layout"):
            file.write('{"shape":{"num_experts":4,"rows":256,"n":256,"k":256},"workspace":"%s",'
                       '"launch":{"iterations":30}}\n' % workspace)
    subprocess.run([program, "run", "--worker-backend", "cpu", "--requests", str(tmp_path / "log.jsonl"),
                    "--record", str(path)], check=True, capture_output=True, timeout=100)
    window = open_window(str(path), "--no-worker")
    window.wait("two runs", lambda m: m["state"]["runs"] == 2)
    compare(window)
    window.wait("no verdict", lambda m: value(window, "compare.verdict") == "same step")
    assert window.control("compare.verdict")["label"] == "A and B ran the"
    assert value(window, "compare.difference").startswith("n/a")
    assert "A requested shared, B per-layout, both ran per-matmul (" in value(window, "compare.reason")


def test_other_tensors_have_no_difference_of_snr(open_window, program, tmp_path):
    path = tmp_path / "tensors.session"
    with open(tmp_path / "log.jsonl", "w") as file:
        for distribution in ("normal", "heavy-tailed"):
            file.write('{"shape":{"num_experts":4,"rows":256,"n":256,"k":256},"launch":{"iterations":5},'
                       '"activations":{"synthetic":{"distribution":"%s"}}}\n' % distribution)
    subprocess.run([program, "run", "--worker-backend", "cpu", "--requests", str(tmp_path / "log.jsonl"),
                    "--record", str(path)], check=True, capture_output=True, timeout=100)
    window = open_window(str(path), "--no-worker", width=1280)
    window.wait("two runs", lambda m: m["state"]["runs"] == 2)
    compare(window)
    window.wait("the comparison", shown("compare.verdict"))
    window.settle()
    window.click("compare.metric.1")
    window.wait("why there are no bars", shown("compare.show_time"))
    window.settle()
    window.click("compare.show_time")
    window.wait("times", lambda m: "metric=time" in value(window, "compare.experts"))


def test_both_and_presented_cards_name_the_sides(open_window, program, tmp_path):
    window = open_pair(open_window, program, tmp_path)
    assert value(window, "compare.legend") == "A: FP8 block; B: BF16"
    window.key("F11")
    for card in ("Settings", "Both", "Per expert", "Times"):
        window.wait(card, lambda m: f"Compare · {card}" in value(window, "present.line"))
        window.settle()
        sentence = value(window, "present.sentence")
        assert re.match(r"A: FP8 block\. B: BF16\. B is (faster|slower|ambiguous)\. .", sentence), (card, sentence)
        window.key("Right")


def test_a_refused_measurement_stays_in_the_recording_and_says_why(open_window):
    """A run of an H200, to be measured again by a worker without a device."""
    window = open_window(str(SAMPLE), width=1280)
    window.wait("the recording", lambda m: m["state"]["from_file"])
    compare(window)
    window.wait("the button", lambda m: (window.control("compare.again") or {"enabled": False})["enabled"])
    window.settle()
    pair = value(window, "compare.a"), value(window, "compare.b")
    window.click("compare.again")
    window.wait("the refusal", shown("compare.error"))
    window.settle()
    assert window.state()["from_file"], "nothing was measured that would be seen elsewhere"
    assert (value(window, "compare.a"), value(window, "compare.b")) == pair
    assert "A cannot be measured: " in value(window, "compare.error")
    # Another pair was not refused.
    window.choose("compare.b", "3.")
    window.wait("no refusal", lambda m: not shown("compare.error")(m))


def test_one_row_of_a_table_is_explained_where_two_meet(open_window, program, tmp_path):
    window = open_pair(open_window, program, tmp_path)
    table = "compare.times"
    upper, lower = (window.control(f"{table}.row.{row}") for row in (0, 1))
    x = round(upper["rect"][0]) + 20
    explained = set()
    for y in range(round(upper["rect"][1]), round(lower["rect"][3])):
        window.xdotool("mousemove", x, y)
        window.seen("the pointer")  # window.wait() checks that no control is there twice
        now = window.wait("a tooltip", shown(f"{table}.explained"))
        explained.add(next(c["label"] for c in now["controls"] if c["id"] == f"{table}.explained"))
    assert explained == {upper["label"], lower["label"]}


def test_histograms_follow_what_is_chosen(open_window, program, tmp_path):
    window = open_pair(open_window, program, tmp_path)
    assert value(window, "compare.histogram") == "a=100;b=100"  # percent of each side
    window.click("compare.normalise")
    window.wait("counts", lambda m: value(window, "compare.histogram") == "a=30;b=30")
    rows = [c for c in window.map()["controls"] if c["id"].startswith("compare.times.row.")]
    kernel = next(c for c in rows if c["label"] not in ("step",) and not c["label"].startswith("all of"))
    window.click(kernel["id"])
    window.wait("the kernel's times", lambda m: value(window, "compare.overlay") == "times of the kernel")
    window.choose("compare.overlay", "X values")
    window.wait("values", lambda m: value(window, "compare.histogram") == "a=%.4g;b=%.4g" % (65536, 65536))
    window.choose("compare.overlay", "X scales")
    # BF16 has none: only one side remains.
    window.wait("scales", lambda m: value(window, "compare.histogram").endswith(";b=0"))


def test_a_selection_counts_both_sides(open_window, program, tmp_path):
    """A slower BF16 or FP8 side is elsewhere on the axis: half the axis separates them."""
    window = open_pair(open_window, program, tmp_path)
    assert value(window, "compare.selected").startswith("Drag over")
    window.click("compare.normalise")
    x0, y0, x1, y1 = window.control("compare.histogram")["rect"]
    y = round(0.5 * (y0 + y1))

    def select(start, end):
        first, last = (round(x0 + 46 + share * (x1 - x0 - 60)) for share in (start, end))
        window.xdotool("mousemove", first, y)
        window.settle()
        window.xdotool("mousedown", 1)
        window.seen("the press")
        for x in (first + 6, (first + last) // 2, last):
            window.xdotool("mousemove", x, y)
            window.seen("the move")
        window.xdotool("mouseup", 1)
        window.seen("the release")
        window.wait("counts", lambda m: "A " in value(window, "compare.selected"))
        window.settle()
        words = value(window, "compare.selected").split()
        return [int(words[words.index(side) + 1]) for side in ("A", "B")]

    left, right = select(0.0, 0.5), select(0.5, 1.0)
    assert [a + b for a, b in zip(left, right)] == [30, 30]
    assert select(0.0, 1.0) == [30, 30]


def test_a_second_recording_can_be_compared(open_window, program, tmp_path):
    window = open_window()
    window.wait_for_result()
    record(program, window.folder / "second.session", "--iterations", "8")
    compare(window)
    window.click("compare.open")
    window.wait("the dialog", shown("file.second.session"))
    window.settle()
    window.click("file.second.session")
    window.wait("the name", lambda m: any(c["id"] == "file.path" and c["value"] == "second.session"
                                          for c in m["controls"]))
    window.settle()
    window.click("file.accept")
    window.wait("the second recording", lambda m: m["state"]["second_runs"] == 1)
    window.wait("the pair", shown("compare.verdict"))
    assert value(window, "compare.b").startswith("second: 1.")
    assert not window.state()["from_file"]


def test_what_the_pages_buttons_do_without_a_choice_is_found_by_name(open_window):
    window = open_window(str(SAMPLE), "--no-worker")
    window.wait("the recording", lambda m: m["state"]["from_file"])

    def first_found(words):
        window.key("ctrl+shift+p")
        window.wait("the palette", shown("palette.filter"))
        window.xdotool("type", "--delay", 30, words)
        window.wait("the words", lambda m: value(window, "palette").startswith(f"typed={words};"))
        window.settle()
        return next(c for c in window.map()["controls"]
                    if c["id"].startswith("palette.") and "row=0;" in c["value"])["id"]

    assert first_found("prove the findings") == "palette.doctor.prove"
    assert "enabled=false" in value(window, "palette.doctor.prove"), "there is no worker"
    window.press("Escape")
    assert first_found("second recording") == "palette.compare.open"
    window.press("Return")
    window.wait("the dialog", shown("file.path"))
    window.press("Escape")
    window.wait("no dialog", lambda m: not shown("file.path")(m))
    assert first_found("back to my runs") == "palette.run.back_to_live"
    window.press("Return")
    window.wait("this window's runs", lambda m: not m["state"]["from_file"])


def test_a_second_recording_stands_beside_the_recorded_run_on_screen(open_window, program, tmp_path):
    """Not beside a run that the worker has made meanwhile, which nobody asked for."""
    for name, recipe in (("first", "fp8-block"), ("other", "bf16")):
        record(program, tmp_path / f"{name}.session", "--recipe", recipe, "--iterations", "8")
    window = open_window()
    window.wait_for_result()
    window.open_file(tmp_path / "first.session")
    window.wait("the recorded run beside the live one",
                lambda m: m["state"]["from_file"] and m["state"]["runs"] == 2)
    compare(window)
    window.click("compare.open")
    window.wait("the dialog", shown("file.path"))
    window.settle()
    window.click("file.path")
    window.xdotool("type", "--delay", 15, str(tmp_path / "other.session"))
    window.settle()
    window.click("file.accept")
    window.wait("the second recording", lambda m: m["state"]["second_runs"] == 1)
    window.wait("the pair", lambda m: value(window, "compare.b").startswith("other: 1."))
    assert value(window, "compare.a").startswith("first: 1.")


def test_sweep_becomes_a_frontier_and_a_point_becomes_a(open_window):
    window = open_window()
    window.wait_for_result()
    shown_run = window.state()["shown_run_id"]
    compare(window)
    window.click("compare.part.1")
    window.wait("what to do", shown("frontier.start_now"))
    # The rail's default of 10 could decide nothing among 9 points.
    assert value(window, "frontier.plan").startswith("9 runs of 20 iterations")
    window.click("frontier.pow2")
    window.wait("fewer runs", lambda m: value(window, "frontier.plan").startswith("6 runs"))
    window.click("frontier.start")
    window.wait("the end of the sweep", lambda m: m["state"]["batch_id"] > 0
                and not m["state"]["batch_running"] and shown("frontier.scatter")(m), 120)
    window.settle()
    assert value(window, "frontier.scatter").startswith("points=6;")
    assert value(window, "frontier.table") == "6"
    # The run on screen does not change with it.
    assert window.state()["shown_run_id"] == shown_run
    point = next(c for c in window.map()["controls"] if c["id"].startswith("frontier.point.")
                 and c["value"] in ("yes", "undecided"))
    window.click(point["id"])
    window.wait("the menu", shown("frontier.make_a"))
    window.settle()
    window.click("frontier.make_a")
    window.wait("the menu to close", lambda m: not shown("frontier.make_a")(m))
    window.settle()
    window.click("compare.part.0")
    # Named as everywhere else, not as on the command line.
    parts = point["label"].split(", ")
    assert parts[0] in ("BF16", "FP8 tensor", "FP8 block", "FP8 delayed", "MXFP8", "NVFP4"), point["label"]
    window.wait("the point as A", lambda m: all(part in value(window, "compare.a") for part in parts))
    # A measurement that is no sweep is not called by the names of the sweep before it.
    window.type_number("compare.iterations", "400")
    window.settle()
    window.click("compare.again")
    window.click("compare.part.1")
    current = window.wait("its progress", shown("frontier.progress"))
    doing = next(c["value"] for c in current["controls"] if c["id"] == "frontier.progress")
    assert re.fullmatch(r"\d+ of \d+: [AB](, about \d+ s left)?", doing), doing


def test_beside_a_recording_the_sweep_that_was_started_is_shown(open_window):
    window = open_window(str(SAMPLE.with_name("h200_layer.session")))
    window.wait("the recording", lambda m: m["state"]["session_path"] != "")
    compare(window)
    window.click("compare.part.1")
    window.wait("its sweep", lambda m: "NVIDIA H200" in window.control("headline.subject")["value"])
    assert "Sweep of 5 points, E16 R16384" in value(window, "headline.subject")
    assert value(window, "headline.subject").endswith("h200_layer.session")
    window.click("frontier.table.row.2")
    window.wait("the selected row", lambda m: value(window, "frontier.table.row.2") == "true")
    window.click("top.live")
    # A recording's sweep is not this window's.
    window.wait("none of its own", lambda m: value(window, "headline.subject").startswith("Sweeps:"))
    window.wait_for_result()
    window.click("frontier.start")
    window.wait("the first points", shown("frontier.point.0"), 60)
    assert "NVIDIA" not in value(window, "headline.subject")
    assert ".session" not in value(window, "headline.subject")
    ended = window.wait("the end", lambda m: not m["state"]["batch_running"] and shown("frontier.table.row.2")(m), 120)
    selected = [c["id"] for c in ended["controls"] if c["id"].startswith("frontier.table.row.") and c["value"] == "true"]
    assert not selected, "what was selected belongs to the other sweep"


def test_sweep_is_cancelled_and_keeps_what_is_done(open_window):
    window = open_window()
    window.wait_for_result()
    compare(window)
    window.click("compare.part.1")
    window.click("frontier.start")
    window.wait("the first point", shown("frontier.point.0"), 60)
    if window.control("frontier.cancel"):
        window.click("frontier.cancel")
    ended = window.wait("the end", lambda m: not m["state"]["batch_running"])
    assert shown("frontier.point.0")(ended)


def test_a_against_b_again_takes_their_places(open_window):
    window = open_window()
    window.wait_for_result()
    compare(window)
    window.click("compare.run_now")
    window.wait("the pair", shown("compare.verdict"))
    window.type_number("compare.iterations", "5")
    window.wait("the number", lambda m: window.control("compare.iterations")
                and value(window, "compare.iterations") == "5")
    before = 0
    # Equal settings get a verdict in at most 1 of 100 measurements, never twice in a row.
    for _ in range(2):
        window.click("compare.again")
        ended = window.wait("the blocks", lambda m: m["state"]["batch_id"] > before
                            and not m["state"]["batch_running"] and shown("compare.control")(m), 120)
        window.settle()
        before = ended["state"]["batch_id"]
        if value(window, "compare.verdict") == "ambiguous":
            break
    assert "8 blocks" in value(window, "compare.a") and "8 blocks" in value(window, "compare.b")
    # The headline says what the page is about, not what another page shows.
    assert "8 blocks" in value(window, "headline.subject") and not window.control("headline.step")
    assert "not of this page" in value(window, "rail.whose")
    # One line stands for all blocks, but for the one that other pages show.
    window.click("top.run")
    folded = window.wait("the list", lambda m: any(c["kind"] == "fold" and "A/B" in c["label"] for c in m["controls"]))
    rows = [c for c in folded["controls"] if c["kind"] in ("fold", "option") and c["id"].startswith("top.run.")]
    fold = next(c["id"] for c in rows if c["kind"] == "fold")
    window.click(fold)
    window.wait("its blocks", lambda m: any(c["id"] == fold and c["value"] == "open" for c in m["controls"]))
    window.wait("a block in the list", lambda m: any(c["kind"] == "option" and ". A: " in c["label"] for c in m["controls"]))
    window.key("Escape")
    # Identical settings: whatever the clock shows, no difference may be claimed.
    assert value(window, "compare.verdict") == "ambiguous", value(window, "compare.reason")


def saved_csv(window, card):
    """The rows that the card's menu saves, by their headers."""
    stem = card.removesuffix("_card").replace(".", "-")
    window.click(f"{card}.menu")
    window.wait("the menu", shown(f"{card}.menu.save_csv"))
    window.settle()
    window.click(f"{card}.menu.save_csv")

    def notices(controls):
        return [c["value"] for c in controls if c["value"].startswith("Table saved") and stem in c["value"]]
    saved = notices(window.wait("the table", lambda m: notices(m["controls"]))["controls"])[-1]
    window.settle()
    window.dismiss_notices()
    path = pathlib.Path(saved.removeprefix("Table saved: "))
    return list(csv.DictReader(io.StringIO(path.read_text())))



def list_values(window, field, text):
    """Types over whatever the field of a sweep's numbers holds."""
    window.click(field)
    window.key("ctrl+a")
    window.press("BackSpace")
    window.xdotool("type", "--delay", 20, text)
    window.wait(f"{field} to hold it", lambda m: value(window, field) == text)
    window.settle()


def test_numbers_that_list_values_are_swept_and_saved(open_window):
    window = open_window()
    window.wait_for_result()
    compare(window)
    window.click("compare.part.1")
    window.wait("what to do", shown("frontier.start_now"))
    window.click("frontier.recipe")
    window.click("frontier.pow2")
    window.wait("the rail's request only", lambda m: value(window, "frontier.plan").startswith("1 runs"))
    # A linear step has no tokens to route.
    assert not window.control("frontier.top_k")["enabled"]
    list_values(window, "frontier.rows", "256, many")
    wrong = window.control("frontier.rows")["reason"]
    assert wrong == "Rows lists 'many'; every value must be an integer, between 0 and 16777216"
    assert value(window, "frontier.plan") == wrong
    assert not window.control("frontier.start")["enabled"] and window.control("frontier.start_now") is None
    list_values(window, "frontier.rows", "256, 512")
    assert window.control("frontier.rows")["reason"] == ""
    list_values(window, "frontier.n", ",".join(str(16 * i) for i in range(1, 32)))
    assert value(window, "frontier.plan").startswith("62 combinations are more than the 60 runs")
    assert not window.control("frontier.start")["enabled"]
    # What the request's own checks refuse is counted, and says why.
    list_values(window, "frontier.n", "100,64")
    plan = value(window, "frontier.plan").split("\n")
    assert plan[0].startswith("2 runs of 18 iterations, 2 refused: shape.n is 100; it must be a multiple of 16")
    assert "Rows 256, N 100: shape.n is 100; it must be a multiple of 16" in plan[1]
    list_values(window, "frontier.seed", "1,7")
    window.click("frontier.start")
    window.wait("the end of the sweep", lambda m: m["state"]["batch_id"] > 0
                and not m["state"]["batch_running"] and shown("frontier.scatter")(m), 120)
    window.settle()
    assert value(window, "frontier.scatter").startswith("points=4;")
    def points():
        # The name beside a point has a control of its own.
        return [c for c in window.map()["controls"]
                if c["id"].startswith("frontier.point.") and not c["id"].endswith(".name")]

    names = [point["label"] for point in points()]
    assert sorted(name.split(", ", 2)[2] for name in names) == [
        f"Rows {rows}, N 64, Seed {seed}" for rows in (256, 512) for seed in (1, 7)]
    # Every work has a colour of its own, the one of its points: their times are no choice.
    works = sorted((c for c in window.map()["controls"] if c["id"].startswith("frontier.work.")),
                   key=lambda c: c["id"])
    assert [c["label"] for c in works] == [f"Rows {rows}, Seed {seed}" for rows in (256, 512) for seed in (1, 7)]
    pixels = picture.read_png(window.picture().read_bytes()).astype(int)
    colors = [tuple(pixels[int(c["rect"][1] + c["rect"][3]) // 2, int(c["rect"][0]) + 4]) for c in works]
    assert len(set(colors)) == 4, colors
    for point in points():
        work = next(i for i, c in enumerate(works) if all(part in point["label"] for part in c["label"].split(", ")))
        assert point["value"] == "yes"  # the only one of its work
        left, top, right, bottom = point["rect"]
        middle = pixels[int(top + bottom) // 2, int(left + right) // 2]
        assert abs(middle - np.array(colors[work])).max() < 12, (point["label"], middle, colors[work])
    rows = saved_csv(window, "frontier.table_card")
    assert [(row["shape.rows"], row["seed"]) for row in rows if row["median_ns"]] == [
        ("256", "1"), ("256", "7"), ("512", "1"), ("512", "7")]
    refused = [row for row in rows if not row["median_ns"]]
    assert len(refused) == 4 and all(row["shape.n"] == "100" and "multiple of 16" in row["unmeasured"]
                                     for row in refused), refused

def test_every_card_saves_its_own_table(open_window, program, tmp_path):
    window = open_pair(open_window, program, tmp_path)
    assert {row["what"] for row in saved_csv(window, "compare.times_card")} == {"step", "stage", "kernel"}
    experts = saved_csv(window, "compare.experts_card")
    assert [row["expert"] for row in experts] == ["0", "1", "2", "3"]
    assert all(float(row["snr_a_db"]) > 0 and int(row["tokens_a"]) > 0 for row in experts)
    assert "setting" in saved_csv(window, "compare.settings_card")[0]


def test_csv_of_everything(open_window, program, tmp_path):
    window = open_pair(open_window, program, tmp_path)
    window.click("compare.times_card.menu")
    window.wait("the menu", shown("compare.times_card.menu.whole_csv"))
    window.settle()
    window.click("compare.times_card.menu.whole_csv")
    text = subprocess.run(["xclip", "-selection", "clipboard", "-o"], env=window.environment,
                          capture_output=True, text=True, timeout=10).stdout if has_xclip() else None
    if text is None:
        return
    whats = [row["what"] for row in csv.DictReader(io.StringIO(text))]
    assert whats.count("step") == 1 and whats.count("expert") == 4


def has_xclip():
    return subprocess.run(["which", "xclip"], capture_output=True).returncode == 0
