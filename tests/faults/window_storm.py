"""One window that survives hundreds of faulty workers under random clicks and keys: it answers within two
seconds, reports what happened to each worker, keeps every finished run, and leaks nothing of a worker."""
import contextlib
import os
import pathlib
import signal
import sys
import tempfile
import time

import storm

for folder in ("gui", "support"):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / folder))
import window_driver  # noqa: E402
from recordings import query  # noqa: E402

WORD_SECONDS = 2  # until a fault is reported, and until the window has drawn
ANSWER_SECONDS = 20  # of a well-behaved worker
MOST_RESIDENT_GROWTH_MB = 300  # 64 live runs are kept, and some have texts of megabytes

# What would end the storm instead of the window, or take the window away from the workers.
NOT_CLICKED = ("top.record", "top.open", "top.save", "top.recent", "recent.", "tours.", "worker.",
               "file.", "doctor.", "library", "palette", "tour", "rail.browse", "batch", "compare.",
               "run.live")
KEYS = ("Tab", "Return", "Escape", "Left", "Right", "Up", "Down", "Prior", "Next", "Home", "End",
        "space", "ctrl+1", "ctrl+2", "ctrl+3", "ctrl+4", "ctrl+shift+2", "ctrl+z", "ctrl+y", "F1",
        "ctrl+equal", "ctrl+minus", "q", "a", "7", "minus", "period", "BackSpace", "Delete")


# Views within a page, and the buttons in them that order a result of another kind: what they add to.
VIEWS = ("numerics.part.", "recipes.over.", "numerics.operand.", "graphs.view.")
ORDERS = {"recipes.compare_now": "comparisons", "steps.step_now": "comparisons"}


class LivingWindow:
    def __init__(self, options, folder, storm_of_it):
        self.options, self.storm = options, storm_of_it
        self.plan = storm.Plan(folder)
        os.environ.update(self.plan.environment)
        self.plan.write("none", 1, 0)
        self.window = window_driver.Window(options.program, folder, ["--worker", options.worker])
        self.window.wait_for_link("responsive")
        self.finished = []  # (process, id) of runs that the window took
        self.shown_before = 0  # how often it had shown a run when the newest worker started
        self.recording = None
        self.recorded = 0
        self.displayed = 0
        self.missed = 0  # faults that wait for an order, when the window in that state gives none
        self.nudge = 0
        self.lived_through = []
        self.complaints = []

    # --- checks -------------------------------------------------------------------------------

    def state(self):
        return self.window.state()

    def wait(self, what, condition, seconds):
        """The state once the condition is true; None when time is up."""
        try:
            return self.window.wait(what, lambda m: condition(m["state"]),
                                    seconds * self.options.patience)["state"]
        except window_driver.WaitedTooLong:
            if self.window.process.poll() is not None:
                raise
            return None

    def draws(self):
        """The pointer moves, and the window must draw a frame."""
        self.nudge += 1
        before, start = self.window.map()["frame"], time.monotonic()
        self.window.xdotool("mousemove", 700 + self.nudge % 7, 4)
        moved = self.wait("frame", lambda _: self.window.map()["frame"] > before, WORD_SECONDS)
        self.storm.most("longest-silence", time.monotonic() - start, "s")
        if moved is None:
            self.complain(f"draws nothing for {WORD_SECONDS} s")

    def complain(self, what):
        self.complaints.append(what)

    # --- workers ------------------------------------------------------------------------------

    def new_worker(self, kind, seed, orders_before):
        state = self.state()
        if state["link"] != "lost":
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if state["worker_pid"] > 0:
                    os.kill(state["worker_pid"], signal.SIGKILL)
            if self.wait("lost worker", lambda s: s["link"] == "lost", WORD_SECONDS) is None:
                self.complain(f"a killed worker is {self.state()['link']}")
                return False
        self.plan.write(kind, seed, orders_before)
        started = self.press_until("worker.start", "worker", lambda s: self.plan.said("started"), 9)
        if started is None:
            self.complain("no new worker can be started")
            return False
        self.shown_before = started["run_generation"]
        return True

    def press_button(self, name):
        """A click that ignores overlapping controls, unlike click() of the driver."""
        for _ in range(3):
            control = self.window.control(name)
            if control is not None and control["visible"]:
                x0, y0, x1, y1 = control["rect"]
                x, y = round((x0 + x1) / 2), round((y0 + y1) / 2)
                self.window.xdotool("mousemove", x + 1, y, "mousemove", x, y)
                time.sleep(0.05)
                self.window.xdotool("mousedown", 1)
                time.sleep(0.05)
                self.window.xdotool("mouseup", 1)
                return
            self.window.key("Escape")
            time.sleep(0.1)

    def press_until(self, name, what, condition, seconds):
        """As press_button(), again if it had no effect: what is open in front (help, a menu) takes
        the click. The keys that the monkey pressed last may have opened it behind its Escape, when
        a slow window saw both in one frame. The state with the effect; None when time is up."""
        for attempt in range(3):
            self.press_button(name)
            state = self.wait(what, condition, seconds / 3)
            if state is not None:
                return state
            self.storm.most("presses-without-effect", attempt + 1, "presses")
            self.window.key("Escape", "Escape")
        return None

    def order(self, word):
        """Runs until the worker's tally has another line of `word`; that line, or None. One order
        at a time: a second one would be another of the worker's orders."""
        before = len(self.plan.said(word))
        for attempt in range(5):
            given = self.state()["requested_id"]
            self.window.key("ctrl+r")
            end = time.monotonic() + self.options.patience
            while time.monotonic() < end:
                said = self.plan.said(word)
                if len(said) > before:
                    return said[-1]
                state = self.state()
                if state["requested_id"] != given:
                    given = state["requested_id"]
                    end = time.monotonic() + ANSWER_SECONDS * self.options.patience
                if state["link"] == "lost":
                    break
                time.sleep(0.005)
            # Resets what the monkey left in front or changed in the request.
            state = self.state()
            if state["link"] == "lost":
                said = self.plan.said(word)
                return said[-1] if len(said) > before else None
            if state["from_file"]:
                self.press_button("top.live")
            self.window.key("Escape", "Escape")
            if state["request_error"] or attempt > 1:
                self.window.key(*["ctrl+z"] * 12)
        return None

    def finished_run(self):
        line = self.order("answered")
        if line is None:
            return False
        pid, number = map(int, line)
        if self.is_displayed(pid, number):
            self.finished.append((pid, number))
            return True
        state = self.state()
        if state["link"] == "lost" and self.plan.said("fault"):
            # Live mode orders, too: it was the fault's own order, answered behind a breach.
            return False
        self.complain(f"run {number} of worker {pid} was answered and is not shown, but run "
                      f"{state['shown_run_id']} (worker {state['worker_pid']}, {state['link']}, "
                      f"{state['runs']} runs)")
        return True

    def is_displayed(self, pid, number):
        """The run that this worker answered to this order, as soon as it can be."""
        def shows_it(s):
            # Or one behind it: the window may take two between two frames.
            return (s["shown_run_id"] >= number and s["worker_pid"] == pid
                    and s["run_generation"] > self.shown_before)

        # A lost worker answers nothing more: what it answered before is shown within the next frames.
        self.wait("run", lambda s: shows_it(s) or s["link"] == "lost", ANSWER_SECONDS)
        return self.wait("run", shows_it, WORD_SECONDS) is not None

    def expect_display(self):
        """A hostile result is let in, displayed, and looked at on every page."""
        if self.wait("answer", lambda s: self.plan.said("shown"), ANSWER_SECONDS) is None:
            return self.complain("the worker does not answer with its hostile result")
        pid, number = map(int, self.plan.said("shown")[0])
        if not self.is_displayed(pid, number):
            state = self.state()
            return self.complain(f"the hostile result of order {number} is not displayed, but run "
                                 f"{state['shown_run_id']}: {state['link']} ({state['link_reason']})")
        self.displayed += 1
        self.storm.most("hostile-results-displayed", self.displayed, "runs")

    def look_everywhere(self, chance):
        """Every page and view; comparisons are ordered, also over steps, whose answers are hostile too."""
        for page in ("ctrl+1", "ctrl+2", "ctrl+3", "ctrl+4"):
            self.window.key("Escape", page)
            self.draws()
            views = [c["id"] for c in self.visible() if c["id"].startswith(VIEWS)]
            for view in views or [None]:
                if view is not None:
                    self.press_button(view)
                    self.draws()
                for order, count in ORDERS.items():
                    if self.window.control(order) is None:
                        continue
                    self.give_order(order, count)
                    self.storm.most(f"hostile-{count}-displayed", self.state()[count], count)
                self.touch_plots(chance)

    def give_order(self, button, count):
        """Orders a comparison, and waits for its answer: the state's `count` grows."""
        before = self.state()

        def answered(s):
            return s[count] > before[count] or s["link"] == "lost"

        def began(s):
            # An order clears the error of the one before it.
            return s["comparing"] or answered(s) or s["comparison_error"] != before["comparison_error"]

        def ended(s):
            return answered(s) or s["comparison_error"]

        state = self.press_until(button, "comparison", began, 3)
        if state is None:
            self.complain(f"{button} orders no comparison: {self.state()}")
        elif self.wait(count, ended, ANSWER_SECONDS) is None:
            self.complain(f"the comparison that {button} ordered is not answered: {self.state()}")

    def visible(self):
        return [c for c in self.window.map()["controls"] if c["visible"] and c["enabled"]]

    def touch_plots(self, chance):
        """The pointer over everything that reads out values, and a click on some of it."""
        for control in [c for c in self.visible() if c["kind"] == "plot"][:8]:
            x0, y0, x1, y1 = control["rect"]
            x, y = x0 + (x1 - x0) * chance.random(), y0 + (y1 - y0) * chance.random()
            self.window.xdotool("mousemove", round(x), round(y))
            if chance.random() < 0.5:
                self.window.xdotool("click", chance.choice([1, 1, 3, 4, 5]))
        self.draws()

    def expect(self, kind):
        if kind.expect in ("lost", "stalled"):
            seen = self.wait(kind.expect, lambda s: s["link"] == kind.expect and s["link_reason"],
                             WORD_SECONDS)
            if seen is None:
                state = self.state()
                self.complain(f"the worker is {state['link']} ({state['link_reason']}), "
                              f"not {kind.expect}")
        elif kind.expect == "shown":
            self.expect_display()
        elif kind.expect == "lives":
            if kind.name != "answers-reversed" and not self.finished_run():
                self.complain(f"no order is answered any more: {self.state()}")
        else:
            # Whatever the bytes mean: the window draws, and gives a reason if the worker is lost.
            self.wait("end", lambda s: s["link"] in ("lost", "stalled"), 0.3)
            state = self.state()
            if state["link"] in ("lost", "stalled") and not state["link_reason"]:
                self.complain(f"{state['link']} without a reason")

    def fault(self, index, kind, chance):
        self.lived_through.append(kind.name)
        orders_before = chance.randrange(3) if kind.moment == "order" else 0
        if not self.new_worker(kind.name, chance.getrandbits(62), orders_before):
            return
        if kind.moment == "order":
            for _ in range(orders_before):
                if not self.plan.said("fault"):
                    self.finished_run()
            if not self.plan.said("fault") and self.order("fault") is None:
                self.missed += 1
                return
        elif kind.moment == "signal":
            if kind.expect != "lost":
                self.wait("greeting", lambda s: s["link"] == "responsive", ANSWER_SECONDS)
            time.sleep(chance.random() * 0.05)
            for (pid, *_) in self.plan.said("started"):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGSTOP if kind.name == "signal-cont" else kind.number)
                    if kind.name == "signal-cont":
                        time.sleep(chance.random())
                        os.kill(int(pid), signal.SIGCONT)
        self.storm.injected(kind.name)
        self.expect(kind)
        self.draws()
        if kind.expect == "shown":
            self.look_everywhere(chance)
        self.monkey(chance)
        self.draws()
        if self.state()["link"] == "lost":
            self.check_nothing_left()

    def check_nothing_left(self):
        end = time.monotonic() + WORD_SECONDS * self.options.patience
        while self.plan.processes() and time.monotonic() < end:
            time.sleep(0.02)
        for pid in self.plan.processes():
            self.complain(f"process {pid} of a lost worker lives on")
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    # --- random input -------------------------------------------------------------------------

    def monkey(self, chance):
        for _ in range(chance.randrange(6)):
            what = chance.random()
            if what < 0.5:
                controls = [c for c in self.window.map()["controls"] if c["visible"] and
                            c["enabled"] and not c["id"].startswith(NOT_CLICKED)]
                if not controls:
                    continue
                x0, y0, x1, y1 = chance.choice(controls)["rect"]
                x, y = x0 + (x1 - x0) * chance.random(), y0 + (y1 - y0) * chance.random()
                self.window.xdotool("mousemove", round(x), round(y), "click",
                                    chance.choice([1, 1, 1, 3, 4, 5]))
            elif what < 0.75:
                self.window.key(*[chance.choice(KEYS) for _ in range(chance.randrange(1, 4))])
            elif what < 0.9:
                # Over the panels only: the bars have buttons that the storm needs.
                self.window.xdotool("mousemove", chance.randrange(400, 1400),
                                    chance.randrange(200, 850), "mousedown", 1, "mousemove",
                                    chance.randrange(400, 1400), chance.randrange(200, 850),
                                    "mouseup", 1)
            else:
                self.window.xdotool("type", "--delay", 1, chance.choice(
                    ["12345", "0-1", "1e99", "x" * 200, "0", "../..", "%s%n"]))
        self.window.key("Escape", "Escape")

    # --- recording ----------------------------------------------------------------------------

    def record(self):
        state = self.press_until("top.record", "recording", lambda s: s["recording"], 10)
        assert state, "the window does not record"
        self.recording = self.window.folder / state["recording_path"]
        self.finished = []

    def stop_recording(self, index):
        """What was shown while it recorded is in the file, once each."""
        if self.recording is None:
            return
        path, self.recording = self.recording, None
        if not self.state()["recording"]:
            self.complain(f"the recording ended by itself: {self.notices()}")
        else:
            if self.press_until("top.record", "end of the recording",
                                lambda s: not s["recording"], 30) is None:
                return self.complain(f"the recording does not end: {self.notices()}")
        # A recording to which no run came is not left behind.
        if not self.finished and not path.exists():
            return
        kept = [tuple(row) for row in query(path, "SELECT device_name, order_id FROM runs")]
        for pid, number in self.finished:
            count = kept.count((f"faulty {pid}", number))
            if count != 1:
                self.complain(f"finished run {number} of worker {pid} is {count} times in the "
                              f"recording, fault {index}")
        self.recorded += len(self.finished)
        self.storm.most("finished-runs-recorded", self.recorded, "runs")

    def notices(self):
        return [c["label"] for c in self.window.map()["controls"] if c["id"].startswith("notice.")]

    # --- resources ----------------------------------------------------------------------------

    def keeps(self):
        pid = self.window.process.pid
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        resident = next(int(line.split()[1]) for line in status.splitlines()
                        if line.startswith("VmRSS"))
        return {"descriptors": storm.entries(f"/proc/{pid}/fd"),
                "threads": storm.entries(f"/proc/{pid}/task"), "resident": resident / 1024}

    def rest(self):
        """Waits until there is no worker and nothing in progress."""
        state = self.state()
        if state["link"] != "lost" and state["worker_pid"] > 0:
            with contextlib.suppress(ProcessLookupError):
                os.kill(state["worker_pid"], signal.SIGKILL)
            self.wait("lost worker", lambda s: s["link"] == "lost", WORD_SECONDS)
        end, last = time.monotonic() + 5, None
        while time.monotonic() < end:
            now = self.keeps()
            if last is not None and now["threads"] == last["threads"]:
                return now
            last = now
            time.sleep(0.5)
        return now


def main():
    options = storm.parsed(storm.options(__doc__))
    kinds = [kind for kind in storm.worker_kinds(options.worker)
             if kind.moment != "caller" and kind.name != "owed-flood"]
    all_of_it = storm.Storm("window_storm.py PROGRAM WORKER", options, kinds)
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="window-storm") as folder:
        living = LivingWindow(options, folder, all_of_it)
        window, floor = living.window, None
        try:
            living.record()
            for done, index in enumerate(all_of_it.indices()):
                kind, chance = all_of_it.fault(index)
                living.fault(index, kind, chance)
                if done % 50 == 49:
                    living.stop_recording(index)
                    living.record()
                if done == min(99, options.faults // 3):
                    floor = living.rest()
                for what in living.complaints:
                    all_of_it.fail(index, kind.name, what)
                living.complaints.clear()
            living.stop_recording(index)
            if floor is not None:
                now = living.rest()
                # One more or less is a recorder or a loader at work.
                for what in ("descriptors", "threads"):
                    if now[what] > floor[what] + 2:
                        living.complain(f"{now[what]} {what}, {floor[what]} before")
                all_of_it.most("resident-growth", now["resident"] - floor["resident"], "MB")
                if now["resident"] - floor["resident"] > MOST_RESIDENT_GROWTH_MB:
                    living.complain(f"the window grew by {now['resident'] - floor['resident']:.0f} MB")
            for what in living.complaints:
                all_of_it.fail(index, kind.name, what)
            all_of_it.most("rounds-without-order", living.missed, "rounds")
            if living.missed > options.faults // 10:
                all_of_it.fail(index, kind.name, f"in {living.missed} rounds no order could be given")
            window.key("Escape", "Escape")
            window.quit()
            with contextlib.suppress(Exception):
                window.process.wait(timeout=20 * options.patience)
            if window.process.poll() != 0:
                all_of_it.fail(index, "end", f"the window does not end when it is closed: "
                                             f"{window.process.poll()}")
        except BaseException:
            code = window.process.poll()
            if code is not None:
                log = (window.folder / "window.log").read_text()[-2000:]
                all_of_it.fail(index, kind.name, f"the window ended with {code} after "
                               f"{', '.join(living.lived_through[-4:])} (the whole way there: "
                               f"--faults {index + 1}): {log}")
            else:
                raise
        finally:
            window.close()
    all_of_it.most("duration", time.monotonic() - start, "s")
    raise SystemExit(all_of_it.finish())


if __name__ == "__main__":
    main()
