"""Attaching in the window: a record of an attached program, read and shown without a GPU; and, in a build with the
preloaded library, a program that runs with a driver that computes nothing."""
import os
import subprocess

import pytest


def made_record(tmp_path, *contents):
    maker = os.environ.get("ATTACH_RECORD_MAKER")
    if not maker:
        pytest.skip("ATTACH_RECORD_MAKER does not name the built program")
    folder = tmp_path / "record"
    folder.mkdir()
    subprocess.run([maker, folder, *contents], check=True, timeout=60)
    return folder


@pytest.fixture
def record(tmp_path):
    return made_record(tmp_path)


def value(current, name):
    return next((c["value"] for c in current["controls"] if c["id"] == name), "")


def shown(window, name, text, seconds=30):
    return window.wait(f"{name} with '{text}'", lambda m: text in value(m, name), seconds)


def there(window, name):
    window.wait(name, lambda m: any(c["id"] == name for c in m["controls"]))
    window.settle()


def open_dialog(open_window, **sizes):
    window = open_window("--no-worker", **sizes)
    window.key("ctrl+3")
    there(window, "graphs.view.3")
    window.click("graphs.view.3")
    there(window, "doctor.attach")
    window.click("doctor.attach")
    there(window, "attach.command")
    return window


def read(window, folder):
    window.fill("attach.record", folder)
    window.click("attach.read")


def test_a_record_becomes_visits_on_the_graphs_page(open_window, record):
    window = open_dialog(open_window)
    read(window, record)
    shown(window, "attach.process.0", "graphs=1;launches=3;per_second=-;findings=1")
    shown(window, "attach.process.1", "graphs=1;launches=1;per_second=-;findings=0")
    assert value(window.map(), "attach.findings").startswith("train.py (process 1234): ")
    window.click("attach.close")
    # The one with findings comes first, however many processes there are.
    shown(window, "doctor.finding.0", "freed-memory")
    shown(window, "graphs.source", "train.py (process 1234)")
    window.click("graphs.view.1")
    shown(window, "graphs.topology", "nodes=2")
    window.click("graphs.view.2")
    there(window, "graphs.memory")


def test_findings_of_other_programs_lead_to_the_gallery_instead_of_a_proof(open_window, record):
    window = open_dialog(open_window)
    read(window, record)
    shown(window, "attach.process.0", "findings=1")
    window.click("attach.close")
    there(window, "doctor.finding.0")
    window.click("doctor.finding.0")
    there(window, "doctor.case_of_rule")
    assert not window.control("doctor.prove_this")
    assert window.control("doctor.case_of_rule")["label"] == "See the gallery case of this rule"
    window.click("doctor.case_of_rule")
    shown(window, "graphs.source", "recorded on ")
    # There, the same experiments can be made again.
    there(window, "doctor.finding.0")
    window.click("doctor.finding.0") if not window.control("doctor.prove_this") else None
    there(window, "doctor.prove_this")


def test_output_without_its_middle_is_said_to_be_so(open_window, record):
    note = b"\n[expertscope: the middle of what the program printed is left out here]\n"
    (record / "output.txt").write_bytes(b"x" * (8 << 20) + note + b"the last line\n")
    window = open_dialog(open_window)
    read(window, record)
    shown(window, "attach.output", "the last line")
    assert value(window.map(), "attach.output_cut").endswith(f"its beginning and its end are in {record}/output.txt")


def test_reading_a_record_again_replaces_its_visits(open_window, record):
    window = open_dialog(open_window)
    for _ in range(2):
        read(window, record) if not value(window.map(), "attach.record") else window.click("attach.read")
        shown(window, "attach.state", "Record: ")
        window.settle()
    window.click("attach.close")
    there(window, "graphs.source")
    window.click("graphs.source")
    there(window, "graphs.source.1")
    assert not window.control("graphs.source.2")


def test_programs_are_remembered_and_fill_the_fields(open_window, tmp_path):
    programs = [{"command": "python train.py", "folder": "/data"}, {"command": "a.out", "folder": ""}]
    window = open_dialog(open_window, remembered={"programs": programs})
    window.click("attach.earlier")
    there(window, "attach.earlier.1")
    window.click("attach.earlier.1")
    shown(window, "attach.command", "python train.py")
    assert value(window.map(), "attach.working_folder") == "/data"
    window.click("attach.earlier")
    there(window, "attach.earlier.2")
    window.click("attach.earlier.2")
    shown(window, "attach.command", "a.out")
    assert value(window.map(), "attach.working_folder") == ""


def test_what_cannot_be_started_or_read_is_refused_with_a_sentence(open_window, tmp_path):
    window = open_dialog(open_window)
    window.fill("attach.command", "python 'train.py")
    shown(window, "attach.refusal", "Command: the quote in front of 'train.py' is not closed")
    assert not window.control("attach.start")["enabled"]
    if window.control("attach.missing"):
        assert "only builds with CUDA have it" in window.control("attach.start")["reason"]
    assert window.control("attach.stop")["reason"] == "No program is watched"
    assert window.control("attach.end")["reason"] == "No attached program runs"
    read(window, tmp_path)
    shown(window, "attach.state", "holds no record of an attached program")


def test_a_deadline_that_is_none_is_refused_with_its_limits(open_window):
    window = open_dialog(open_window)
    window.fill("attach.command", "true")
    window.fill("attach.hang_after", "0")  # the usual one
    shown(window, "attach.hang_after", "0")
    assert window.control("attach.refusal") is None
    window.fill("attach.hang_after", ".05")  # behind what is there
    shown(window, "attach.refusal", "'0.05' is no deadline of a hang: give 0.1 to 86400 seconds, or 0 for 20 times the longest")
    assert not window.control("attach.start")["enabled"]
    assert window.control("attach.start")["reason"] == value(window.map(), "attach.refusal")
    window.press("BackSpace")
    window.press("BackSpace")
    window.fill("attach.hang_after", "5")
    window.wait("no refusal", lambda m: not any(c["id"] == "attach.refusal" for c in m["controls"]))


@pytest.fixture
def subjects(monkeypatch, tmp_path):
    """The folder of the programs to attach to; records go to the test's own folder."""
    built = os.environ.get("ATTACHED_SUBJECTS")
    if not built:
        pytest.skip("ATTACHED_SUBJECTS does not name the programs to attach to: this build has no library to preload")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return built


def give_program(window, subjects, scenario):
    window.fill("attach.command", f"LD_LIBRARY_PATH={subjects} {subjects}/attached_subject getproc {scenario}")


def end_program(window):
    window.click("attach.end")
    shown(window, "attach.state", "was killed by signal 15 (Terminated)")
    window.click("attach.close")


def test_ranks_are_compared_at_the_end(open_window, subjects, tmp_path):
    script = tmp_path / "ranks.sh"
    script.write_text(f"export LD_LIBRARY_PATH={subjects}\n"
                      f"for r in 0 1 2; do RANK=$r {subjects}/attached_subject getproc healthy & done; wait\n")
    window = open_dialog(open_window)
    window.fill("attach.command", f"sh {script}")
    window.click("attach.start")
    shown(window, "attach.state", "ended with exit code 0")
    shown(window, "attach.findings", "3 ranks captured the same graphs, and launched each equally often")


def test_a_program_is_started_so_that_a_hang_leaves_a_core_dump(open_window, subjects, tmp_path):
    window = open_dialog(open_window)
    window.fill("attach.command", "printenv CUDA_COREDUMP_FILE")
    window.click("attach.core_dump")
    window.click("attach.start")
    shown(window, "attach.state", "ended with exit code 0")
    assert str(tmp_path) in value(window.map(), "attach.output")
    assert value(window.map(), "attach.output").endswith("/%p.core")
    window.click("attach.core_dump")
    window.click("attach.start")
    shown(window, "attach.state", "ended with exit code 1")  # there is no such variable


def test_memory_is_compared_where_the_box_is_checked(open_window, subjects):
    window = open_dialog(open_window)
    give_program(window, subjects, "input-not-refreshed")
    window.click("attach.start")
    shown(window, "attach.state", "ended with exit code 0")
    shown(window, "attach.process.0", "findings=0")
    window.click("attach.compare_memory")
    window.click("attach.start")
    shown(window, "attach.compared.0", "memory compared before and after 6 replays")
    shown(window, "attach.process.0", "findings=1")
    assert "which no graph reads" in value(window.map(), "attach.findings")


def test_a_hang_shows_the_node_that_runs_where_nodes_are_marked(open_window, subjects):
    window = open_dialog(open_window)
    give_program(window, subjects, "hangs-in-the-middle")
    window.click("attach.markers")
    window.click("attach.start")
    shown(window, "attach.findings", "Its markers show 2 nodes finished, 1 running, 1 not reached", 60)
    end_program(window)
    shown(window, "doctor.stall", "spin")
    there(window, "doctor.board")
    shown(window, "doctor.no_cure", "A hang without a cure: ")
    assert "Attach again: Core dump when it hangs can show" in value(window.map(), "doctor.no_cure")


def test_a_hang_is_reported_at_the_deadline_that_was_typed_and_has_no_cure(open_window, subjects, tmp_path):
    window = open_dialog(open_window)
    give_program(window, subjects, "hangs")
    window.fill("attach.hang_after", "1.5")
    window.click("attach.start")
    shown(window, "attach.findings", "no progress for ", 60)
    end_program(window)
    shown(window, "doctor.stall", "(deadline 1.5 s)")
    shown(window, "doctor.no_cure", "A hang without a cure: ")
    no_cure = value(window.map(), "doctor.no_cure")
    assert "Mark nodes can show which graph hangs, and in which node; Core dump when it hangs can" in no_cure
    # Who reads its record later sees the same.
    kept, = (tmp_path / "expertscope" / "attach").iterdir()
    later = open_dialog(open_window)
    read(later, kept)
    shown(later, "attach.process.0", "graphs=")
    later.click("attach.close")
    shown(later, "doctor.stall", "(deadline 1.5 s)")
    shown(later, "doctor.no_cure", no_cure)


def test_the_memory_map_says_what_compared_replays_changed(open_window, tmp_path):
    folder = made_record(tmp_path, "compared")
    window = open_dialog(open_window)
    read(window, folder)
    shown(window, "attach.compared.2", "memory compared before and after 6 replays; replays are not compared since the "
                                       "device's context was reset")
    window.click("attach.close")
    window.click("graphs.view.2")
    there(window, "graphs.memory")
    window.choose("graphs.source", "1236")
    shown(window, "memory.compared", "before and after replays 1 to 6: 2052 KiB. In 1 of them not all")
    assert value(window.map(), "memory.compared").endswith("Replays are not compared since the device's context was reset.")
    window.wait("the map", lambda m: "rows=3" in value(m, "graphs.memory"))
    window.choose("memory.changes", "changed by replays")
    window.wait("one row", lambda m: "rows=1" in value(m, "graphs.memory"))
    window.choose("memory.changes", "never changed")
    window.wait("another row", lambda m: "rows=1" in value(m, "graphs.memory"))


def test_a_program_is_watched_until_it_is_ended(open_window, subjects):
    window = open_dialog(open_window)
    give_program(window, subjects, "endless")
    window.click("attach.start")
    shown(window, "attach.state", "Running: ")
    shown(window, "attach.process.0", "findings=1")
    shown(window, "attach.output", "ready")
    window.wait("its launches", lambda m: "per_second=-" not in value(m, "attach.process.0"))
    assert "being watched" in window.control("attach.start")["reason"]
    window.click("attach.close")
    # While it runs; what is selected stays, whatever is launched meanwhile.
    window.click("doctor.finding.0")
    there(window, "doctor.node.0")
    window.click("doctor.node.0")
    window.click("graphs.view.1")
    shown(window, "graphs.topology", "selected=")
    chosen = value(window.map(), "graphs.node")
    window.click("graphs.view.3")
    window.click("doctor.attach")
    there(window, "attach.stop")
    window.click("attach.stop")
    shown(window, "attach.state", "Runs on without being watched")
    end_program(window)
    window.click("graphs.view.1")
    window.settle()
    assert value(window.map(), "graphs.node") == chosen
