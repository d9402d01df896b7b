"""The Compare page with real mouse and keys: pairs, swap, second recording, A against B."""
import csv
import io
import re
import subprocess

from compare_page import SAMPLE, compare, saved_csv, shown, value

SMALL = ["--num_experts", "4", "--tokens", "256", "--n", "256", "--k", "256"]


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
    window.fill("file.path", tmp_path / "other.session")
    window.click("file.accept")
    window.wait("the second recording", lambda m: m["state"]["second_runs"] == 1)
    window.wait("the pair", lambda m: value(window, "compare.b").startswith("other: 1."))
    assert value(window, "compare.a").startswith("first: 1.")


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
