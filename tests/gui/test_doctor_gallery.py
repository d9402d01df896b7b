"""The doctor's gallery: its cases, the questions that lead to them, and recorded visits to them, without a GPU."""
import os
import pathlib
import subprocess

import pytest

from graphs_page import fields, opened, shared_workspace, show, wait_fields  # noqa: F401

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "assets"


@pytest.fixture
def gallery(tmp_path, monkeypatch):
    """The program's assets with another recording of the gallery, which lacks the named cases; with None there is
    no recording."""
    assets = tmp_path / "assets"

    def make(without):
        (assets / "sessions").mkdir(parents=True)
        for folder in ASSETS.iterdir():
            if folder.name != "sessions":
                (assets / folder.name).symlink_to(folder)
        if without is not None:
            maker = os.environ.get("DOCTOR_RECORDING_MAKER")
            if not maker:
                pytest.skip("DOCTOR_RECORDING_MAKER does not name the built program")
            path = assets / "sessions" / "gallery.session"
            subprocess.run([maker, path, "gallery", *without], check=True, timeout=60)
        monkeypatch.setenv("EXPERTSCOPE_ASSETS", str(assets))

    return make


def shows_recorded(window, title):
    window.wait(f"the recorded visit: {title}", lambda m: any(
        c["id"] == "graphs.source" and c["value"] == f"recorded on NVIDIA H200: {title}" for c in m["controls"]))
    window.wait("its cure", lambda m: any(c["id"] == "doctor.code" for c in m["controls"]))
    assert window.control("doctor.conclusion")["value"].startswith("Proved: ")
    assert window.control("doctor.finding.0")["value"].startswith("proved ")


def test_gallery_explains_its_cases_without_a_gpu(open_window):
    window = open_window("--no-worker")
    show(window, 3)
    window.click("doctor.subject.1")
    window.choose("doctor.case", "Two grouped matmuls share one workspace")
    window.wait("the case", lambda m: any(c["id"] == "doctor.case_text" for c in m["controls"]))
    assert window.control("doctor.case_text")["value"] == "shared-workspace"
    assert not window.control("doctor.examine")["enabled"]


def test_questions_lead_from_a_symptom_to_a_case(open_window):
    window = open_window("--no-worker", width=1280, height=720)
    show(window, 3)
    window.click("doctor.subject.1")

    def asks(symptom, case):
        def led_to(controls):
            return [c for c in controls if c["id"].startswith("doctor.question.") and c["value"] == case]
        current = window.wait(f"the questions of {symptom}", lambda m: led_to(m["controls"]) and any(
            c["id"] == "doctor.symptom_shown" and c["value"] == symptom for c in m["controls"]))
        return led_to(current["controls"])[0]

    assert not window.control("doctor.show_recorded")["enabled"], "no case is chosen"
    asks("hangs", "lazy-load-in-capture")
    for number, (symptom, case) in enumerate(
            [("hangs", "flag-not-reset"), ("wrong", "shared-workspace"), ("refused", "missing-join"),
             ("slow", "lazy-load-in-capture")]):
        window.click(f"doctor.symptom.{number}")
        question = asks(symptom, case)
        assert question["label"].endswith("?")
        window.click(question["id"])
        window.wait("the case", lambda m: any(
            c["id"] == "doctor.case_text" and c["value"] == case for c in m["controls"]))
        # Back to the questions.
        window.choose("doctor.case", "By what you see")
    asks("slow", "lazy-load-in-capture")


def test_no_conclusion_about_another_subject_stands_beside_a_case(open_window, shared_workspace):
    window = opened(open_window(shared_workspace, "--no-worker"))
    window.wait("its finding", lambda m: any(c["id"] == "doctor.finding.0" for c in m["controls"]))

    def only_the_case(case):
        window.wait(f"{case} alone", lambda m: any(
            c["id"] == "doctor.case_text" and c["value"] == case for c in m["controls"]) and not any(
            c["id"] in ("doctor.finding.0", "doctor.proof.0", "doctor.stall") for c in m["controls"]) and not any(
            c["id"] == "doctor.export" and c["enabled"] for c in m["controls"]))
        assert "Proved" not in window.control("doctor.conclusion")["value"]
        assert window.control("doctor.experiments_made")["value"].startswith("n=0")
        assert not window.control("doctor.export")["enabled"]

    window.click("doctor.subject.1")
    window.wait("the questions", lambda m: any(c["id"] == "doctor.symptom_shown" for c in m["controls"]))
    assert "Proved" not in window.control("doctor.conclusion")["value"]
    window.choose("doctor.case", "A counter that no replay resets")
    only_the_case("flag-not-reset")
    # A visit to this case is about it, one to its twin would not be.
    window.click("doctor.see_recorded")
    shows_recorded(window, "A counter that no replay resets")
    window.click("doctor.healthy")
    only_the_case("flag-not-reset")
    # The report that is chosen by name brings its subject with it.
    window.choose("graphs.source", "visit 1")
    window.wait("the visit", lambda m: any(
        c["id"] == "doctor.conclusion" and c["value"].startswith("Proved: 3 grouped") for c in m["controls"]))
    assert window.control("doctor.case") is None, "its subject is no case of the gallery"
    window.choose("graphs.source", "recorded on")
    shows_recorded(window, "A counter that no replay resets")
    assert window.control("doctor.case")["value"] == "A counter that no replay resets"


def test_recorded_visits_of_the_gallery_are_seen_without_a_gpu(open_window, gallery):
    gallery([])
    window = open_window("--no-worker")
    show(window, 1)
    window.click("graphs.recorded")
    shows_recorded(window, "Two grouped matmuls share one workspace")
    # Another case: its visit follows.
    window.choose("doctor.case", "A counter that no replay resets")
    shows_recorded(window, "A counter that no replay resets")
    assert window.control("doctor.finding.0")["value"] == "proved unreset-counter"
    assert fields(window.control("doctor.experiments_made"))["n"] == "2"
    assert window.control("doctor.proof.1")["value"].startswith("after: ")
    show(window, 1)
    wait_fields(window, "graphs.topology", lambda f: f["nodes"] == "24" and f["named"] == "2")
    show(window, 2)
    wait_fields(window, "graphs.memory", lambda f: f["rows"] == "4" and f["named"] == "1")
    # A healthy twin has none.
    show(window, 3)
    window.click("doctor.healthy")
    window.wait("no recorded visit to it", lambda m: any(
        c["id"] == "doctor.show_recorded" and not c["enabled"] for c in m["controls"]))


def test_a_case_that_the_recording_has_a_visit_to_is_opened(open_window):
    window = open_window(str(ASSETS / "sessions" / "gallery.session"), "--no-worker")
    window.wait("the first visit", lambda m: any(c["id"] == "graphs.source" for c in m["controls"]))

    def source_and_header(words):
        window.wait(words, lambda m: any(c["id"] == "graphs.source" and c["value"].endswith(words)
                                         for c in m["controls"]))
        window.settle()
        assert window.control("headline.subject")["value"].endswith(words)

    window.choose("doctor.case", "A scale passed by value")
    source_and_header(": A scale passed by value")
    assert window.control("graphs.source")["value"].startswith("visit ")
    assert "not examined" not in window.control("doctor.conclusion")["value"]
    # Nothing was recorded of its twin: then no other visit is named.
    window.click("doctor.healthy")
    window.wait("the twin", lambda m: any(c["id"] == "graphs.source" and c["value"].startswith("not examined: ")
                                          for c in m["controls"]))
    window.settle()
    assert "not examined: A scale passed by value" in window.control("headline.subject")["value"]


@pytest.mark.parametrize("without, why", [
    (None, "there are no recorded visits to the gallery at"), (["shared-workspace"], "holds no visit to shared-workspace")])
def test_a_missing_visit_is_said_to_be_missing(open_window, gallery, without, why):
    gallery(without)
    window = open_window("--no-worker")
    show(window, 3)
    window.click("doctor.see_recorded")
    window.wait("the reason", lambda m: any(
        c["value"].startswith("Not opened: ") and why in c["value"] for c in m["controls"]))
    # The gallery's own words are there all the same.
    assert window.control("doctor.case_text")["value"] == "shared-workspace"
