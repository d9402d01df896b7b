"""Drives the real window under Xvfb: finds controls through the control map, acts with real mouse
and keys (xdotool), waits for the state that the window then reports. No sleeps instead of waiting."""
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import threading
import time

START_SECONDS = 30
WAIT_SECONDS = 30
FRAMES_OF_INPUT = 3  # at least; app/gui/shell/window.cpp
# A sanitized build, whose window exits by itself: what is left then is a leak.
SANITIZED = "EXPERTSCOPE_PATIENCE" in os.environ
PATIENCE = int(os.environ.get("EXPERTSCOPE_PATIENCE", 1))


class WaitedTooLong(AssertionError):
    pass


class Display:
    """A separate X server, on a display number that the server chooses."""

    def __init__(self, width, height):
        read_end, write_end = os.pipe()
        self.process = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write_end), "-screen", "0", f"{width}x{height}x24",
             "-nolisten", "tcp"],
            pass_fds=[write_end], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(write_end)
        with os.fdopen(read_end) as pipe:
            number = pipe.readline().strip()
        if not number:
            raise RuntimeError("Xvfb did not start")
        self.name = f":{number}"

    def close(self):
        self.process.terminate()
        self.process.wait(timeout=10)


class Window:
    def __init__(self, program, folder, arguments=(), width=1440, height=900, first_start=False, remembered=None):
        """A first start opens the example: other tests begin with settings, which are the defaults and `remembered`."""
        self.folder = pathlib.Path(folder)
        settings = self.folder / "config" / "expertscope" / "settings.json"
        if not first_start and not settings.exists():
            settings.parent.mkdir(parents=True, exist_ok=True)
            settings.write_text(json.dumps(remembered or {}) + "\n")
        self.map_path = self.folder / "controls.json"
        self.map_path.unlink(missing_ok=True)
        self.pointer, self.pointer_down = None, False
        self.frame_before = 0
        self.input_pending = False
        self.display = Display(max(width, 800), max(height, 600))
        self.environment = dict(
            os.environ, DISPLAY=self.display.name, LIBGL_ALWAYS_SOFTWARE="1",
            XDG_CONFIG_HOME=str(self.folder / "config"))
        self.environment.setdefault("OPENBLAS_NUM_THREADS", "2")
        self.log = open(self.folder / "window.log", "w")
        self.process = subprocess.Popen(
            [program, "open", "--control-map", str(self.map_path), "--size", str(width),
             str(height), *arguments],
            cwd=self.folder, env=self.environment, stdout=self.log, stderr=subprocess.STDOUT)
        try:
            self.wait("the first frame", lambda m: m["frame"] > 0, START_SECONDS)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if SANITIZED and self.process.poll() is None:
            try:
                self.quit()
                self.process.wait(timeout=10 * PATIENCE)
            except (AssertionError, subprocess.SubprocessError):
                print("the window did not end on Ctrl+Q: its leaks are not known")
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.log.close()
        self.display.close()

    def quit(self):
        """Ctrl+Q; results that are in no file are given up."""
        self.key("ctrl+q")
        end = time.monotonic() + 10 * PATIENCE
        while self.process.poll() is None and time.monotonic() < end:
            if self.control("close.discard"):
                self.last_click("close.discard")
                break
            time.sleep(0.02)

    def last_click(self, name):
        """The last click of a window, which draws no frame after it."""
        x0, y0, x1, y1 = self.control(name)["rect"]
        x, y = round((x0 + x1) / 2), round((y0 + y1) / 2)
        self.xdotool("mousemove", x + 1, y, "mousemove", x, y)
        self.seen("the pointer")
        self.xdotool("mousedown", 1, "mouseup", 1)

    def close_politely(self):
        """Like a user: the window saves its settings."""
        self.quit()
        self.process.wait(timeout=20 * PATIENCE)
        self.close()

    # Reading.

    def map(self):
        try:
            return json.loads(self.map_path.read_text())
        except FileNotFoundError:
            return {"frame": 0, "state": {}, "controls": []}

    def state(self):
        return self.map()["state"]

    def control(self, name):
        """The control of this id as it is now; None when the window does not show it."""
        return next((c for c in self.map()["controls"] if c["id"] == name), None)

    def wait(self, what, condition, seconds=WAIT_SECONDS):
        seconds *= PATIENCE
        end = time.monotonic() + seconds
        while True:
            current = self.map()
            if current["frame"] > 0 and condition(current):
                # A test, or a screen reader, would act on the first of two.
                ids = [c["id"] for c in current["controls"]]
                twice = sorted({one for one in ids if ids.count(one) > 1}) if (
                    len(ids) != len(set(ids))) else []
                assert not twice, f"controls share an id: {twice}"
                return current
            if self.process.poll() is not None:
                raise WaitedTooLong(f"the window ended ({self.process.returncode}) before {what}: "
                                    f"{(self.folder / 'window.log').read_text()}")
            if time.monotonic() > end:
                raise WaitedTooLong(f"no {what} within {seconds} s; state: {current['state']}")
            time.sleep(0.02)

    def wait_for_result(self):
        """The run on screen answers exactly what the rail asks for."""
        return self.wait("a result of the newest request",
                         lambda m: m["state"]["shown_run_id"] > 0 and not m["state"]["stale"]
                         and m["state"]["shown_run_id"] == m["state"]["requested_id"])

    def wait_for_link(self, state, seconds=WAIT_SECONDS):
        return self.wait(f"worker that is {state}", lambda m: m["state"]["link"] == state, seconds)

    # Acting.

    def xdotool(self, *arguments):
        # The window draws only a few frames for it, and may have done so before this returns.
        self.frame_before = self.map()["frame"]
        self.input_pending = True
        if "mousemove" in arguments:
            last = len(arguments) - 1 - arguments[::-1].index("mousemove")
            self.pointer = arguments[last + 1:last + 3]
        for action, down in (("mousedown", True), ("mouseup", False)):
            if action in arguments and arguments[arguments.index(action) + 1] == 1:
                self.pointer_down = down
        subprocess.run(["xdotool", *map(str, arguments)], env=self.environment, check=True,
                       timeout=20 * PATIENCE, stdout=subprocess.DEVNULL)

    SECTIONS = {"shape": "input", "activations": "input", "weights": "input", "down_weights": "input",
                "input": "input", "routing": "routing", "step": "step", "gradients": "step",
                "recipe": "recipe", "engine": "engine", "measure": "measure"}

    def show_all(self, *sections):
        """Also the settings that the rail shows only on request: "engine", or all sections."""
        for section in sections or dict.fromkeys(self.SECTIONS.values()):
            more = self.control(f"rail.{section}.more")
            if more and more["value"] == "usual":
                self.click(f"rail.{section}.more")
                self.wait(f"all of {section}", lambda m, name=f"rail.{section}.more": any(
                    c["id"] == name and c["value"] == "all" for c in m["controls"]))

    def reveal(self, name):
        """As a user who looks for a setting that its section does not show."""
        section = self.SECTIONS.get(name.split(".")[0])
        if section and self.control(name) is None:
            self.show_all(section)

    def centre(self, name):
        """Waits for the control, scrolls it into view if it is in the rail, returns its centre."""
        self.reveal(name)
        self.wait(f"control {name}", lambda m: any(c["id"] == name for c in m["controls"]))
        for _ in range(40):
            control = self.control(name)
            if control is None or control["visible"]:
                break
            low, high = control["rect"][1], control["rect"][3]
            frame = self.map()["frame"]
            self.xdotool("mousemove", 60, 300, "click", 4 if low < 100 or high < 300 else 5)
            self.wait("frame after scrolling", lambda m: m["frame"] > frame + 2)
        control = self.control(name)
        assert control is not None and control["visible"], f"{name} cannot be seen: {control}"
        x0, y0, x1, y1 = control["rect"]
        return round((x0 + x1) / 2), round((y0 + y1) / 2)

    def took_pointer(self, current):
        """Whether the newest frame has the pointer and its button where xdotool left them."""
        apart = [abs(seen - wanted) for seen, wanted in zip(current["pointer"], self.pointer or ())]
        return max(apart, default=0) < 1 and current["pointer_down"] == self.pointer_down

    def drew_last_input(self, current):
        return current["frame"] >= self.frame_before + FRAMES_OF_INPUT and self.took_pointer(current)

    def settle(self):
        """Waits until ImGui has nothing left to draw after an action. A busy machine may deliver an event later than
        the frames before it end, and let the window draw none for longer than is waited for another here: those of
        the last input come first. Where it draws none for it, a pointer that was there already, nothing is lost."""
        if self.input_pending:
            with contextlib.suppress(WaitedTooLong):
                self.wait("frames of the last input", self.drew_last_input, 2)
            self.input_pending = False
        # While something is timed, frames come one by one until it ends.
        drawn, end = None, time.monotonic() + 2 * PATIENCE
        while (current := self.map())["frame"] != drawn or (current.get("frames_left") and time.monotonic() < end):
            drawn = current["frame"]
            time.sleep(0.15)

    def seen(self, what):
        """Waits until the window has drawn a frame that includes the last xdotool input. Frames alone are
        no proof: others may have been in progress while a slow X server held the event."""
        before = self.frame_before
        self.wait(f"frame after {what}",
                  lambda current: current["frame"] > before + 1 and self.took_pointer(current))

    def click(self, name):
        """Hover, press and release, each in a separate frame. Also waits for the release:
        moving the pointer at once would release elsewhere."""
        x, y = self.centre(name)
        # By way of a neighbouring point: the pointer may already be there, and then nothing would move.
        self.xdotool("mousemove", x + 1, y, "mousemove", x, y)
        self.seen("the pointer")
        self.xdotool("mousedown", 1)
        self.seen("the press")
        self.xdotool("mouseup", 1)
        self.seen("the release")

    def drag(self, name, pixels):
        x, y = self.centre(name)
        self.xdotool("mousemove", x, y)
        time.sleep(0.06)
        self.xdotool("mousedown", 1)
        self.seen("the press")
        step = 10 if pixels > 0 else -10
        for moved in range(step, pixels + step, step):
            self.xdotool("mousemove", x + moved, y)
            time.sleep(0.03)
        self.seen("the last move")
        self.xdotool("mouseup", 1)
        self.seen("the release")

    def type_number(self, name, text):
        # A click after a pause, so that it is not the second of a double click.
        time.sleep(0.7)
        self.click(name)
        self.wait(f"{name} to take text", lambda m: any(
            c["id"] == name and c["kind"] == "input" for c in m["controls"]))
        self.xdotool("type", "--delay", 30, "--", text)
        self.press("Return")

    def fill(self, name, text):
        """Types into a field, behind what it holds. Keys are taken in over many frames, in a slow window for seconds."""
        self.click(name)
        self.xdotool("type", "--delay", 10, "--", str(text))
        self.wait(f"{name} with '{text}'",
                  lambda m: any(c["id"] == name and str(text) in c["value"] for c in m["controls"]))
        self.settle()

    def press(self, *keys):
        """Held until a frame has seen it: older ImGui versions miss a shorter press."""
        for key in keys:
            self.xdotool("keydown", key)
        self.seen("the key")
        for key in reversed(keys):
            self.xdotool("keyup", key)
        self.seen("its release")

    def key(self, *keys):
        self.xdotool("key", *keys)

    def choose(self, name, label):
        """Opens a combo and clicks the option whose label contains `label`."""
        def options(current):
            return [c for c in current["controls"] if c["id"].startswith(name + ".") and c["kind"] == "option"]
        def found(current):
            return next((c for c in options(current) if label in c["label"]), None)
        # A run that arrives meanwhile moves the options, or closes the list.
        for _ in range(3):
            if not options(self.map()):
                self.click(name)
            current = self.wait(f"options of {name}", options)
            if found(current) is None and self.control(f"{name}.filter"):
                self.xdotool("type", "--delay", 30, "--", label)
                current = self.wait(f"{label} among the options", found)
            assert found(current), f"{name} has no option {label}, but {[c['label'] for c in options(current)]}"
            self.settle()
            option = found(self.map())
            if option and not option["visible"]:
                self.scroll_to(option, options(self.map()))
                option = found(self.map())
            if option:
                return self.click(option["id"])
        raise AssertionError(f"{name} did not stay open: {[c['label'] for c in options(self.map())]}")

    def scroll_to(self, option, options):
        """A long list does not show all of its options at once."""
        shown = next(c for c in options if c["visible"])
        x0, y0, x1, y1 = shown["rect"]
        self.xdotool("mousemove", round((x0 + x1) / 2), round((y0 + y1) / 2))
        self.seen("the pointer")
        above = option["rect"][1] < y0
        self.xdotool("click", "--repeat", 30, "--delay", 10, 4 if above else 5)
        self.settle()

    def open_file(self, path):
        """Through the dialog."""
        self.key("ctrl+o")
        self.wait("the dialog", lambda m: any(c["id"] == "file.path" for c in m["controls"]))
        self.settle()
        self.fill("file.path", path)
        self.click("file.accept")

    @contextlib.contextmanager
    def slowed(self, stopped_ms=60, going_ms=8):
        """Frames as slow as on a machine that does ten other things: the window gets only a share of the time."""
        end = threading.Event()

        def stop_and_go():
            while not end.is_set():
                self.process.send_signal(signal.SIGSTOP)
                time.sleep(stopped_ms / 1e3)
                self.process.send_signal(signal.SIGCONT)
                time.sleep(going_ms / 1e3)

        thread = threading.Thread(target=stop_and_go)
        thread.start()
        try:
            yield
        finally:
            end.set()
            thread.join()

    def picture(self):
        """The window at rest, with the pointer over nothing; -> the file, with its notice closed."""
        self.xdotool("mousemove", 640, 3)
        self.settle()
        before = self.state()["screenshot_path"]
        self.key("F12")
        after = self.wait("a picture", lambda m: m["state"]["screenshot_path"] != before)
        self.wait("its notice", lambda m: any(c["id"] == "notice.0" for c in m["controls"]))
        self.settle()
        self.dismiss_notices()
        return self.folder / after["state"]["screenshot_path"]

    def dismiss_notices(self):
        """Through the list at the end of the status bar. A notice may expire meanwhile, and the list with the last one."""
        self.click_unless_gone("status.notices")
        self.wait("the list", lambda m: any(c["id"] == "notice.0.close" for c in m["controls"])
                  or not any(c["id"] == "status.notices" for c in m["controls"]))
        self.settle()
        while self.control("notice.0.close"):
            self.click_unless_gone("status.dismiss_all" if self.control("status.dismiss_all") else "notice.0.close")
            self.settle()

    def click_unless_gone(self, name):
        """For what disappears by itself: nothing is wrong where it did so before the click."""
        try:
            if self.control(name):
                self.click(name)
        except AssertionError:
            if self.control(name):
                raise

    def kill_worker(self, number=signal.SIGKILL):
        pid = self.state()["worker_pid"]
        assert pid > 0
        os.kill(pid, number)
        return pid
