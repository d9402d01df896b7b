"""Python stacks that are read as memory, against the interpreter's own account of them.
Run: python_frames_test.py PROBE [--here: in this interpreter only]"""

import ctypes
import gc
import re
import shutil
import subprocess
import sys
import threading
import traceback
import unittest

RELEASED = ctypes.CDLL(sys.argv[1])  # a call through CDLL releases the GIL, through PyDLL it keeps it
HELD = ctypes.PyDLL(sys.argv[1])
ROOM = 4096
MOST = 24


def read(library=RELEASED, function="stack_here", room=ROOM, most=MOST):
    text = ctypes.create_string_buffer(room)
    length = getattr(library, function)(text, room, most)
    return None if length < 0 else text.raw[:length].decode().splitlines()


def told(most=MOST):
    """The same lines as the interpreter gives them."""
    frames = reversed(traceback.extract_stack()[:-1])
    return [f"{one.filename}:{one.lineno} {one.name}" for one in frames][:most]


def both():
    return read(), told()  # one line: both are called from it


@unittest.skipIf(read() is None, "the frames of this interpreter are not known")
class Stacks(unittest.TestCase):
    def same(self, pair):
        got, expected = pair
        self.assertIsNotNone(got)
        self.assertEqual(got[0].rsplit(" ", 1)[1], "read")  # the helper itself
        self.assertEqual(got[1:], expected[:len(got) - 1])
        self.assertGreater(len(got), 2)

    def test_functions_with_and_without_the_gil(self):
        self.same(both())
        self.same((read(HELD), told()))

    def test_code_that_is_no_plain_function(self):
        def generator():
            yield both()

        async def coroutine():
            return both()

        class Body:
            pair = both()

            def __getattr__(self, _):
                return both()

            def __lt__(self, _):
                self.seen = both()
                return True

        def run(task):
            try:
                task.send(None)
            except StopIteration as end:
                return end.value

        self.same(next(generator()))
        self.same(run(coroutine()))
        self.same(Body.pair)
        self.same(Body().missing)
        self.same([both() for _ in range(2)][1])
        self.same((lambda: both())())
        space = {"both": both}
        exec(compile("def f():\n\n    return both()\npair = f()", "<made>", "exec"), space)
        self.same(space["pair"])
        first, second = Body(), Body()
        sorted([first, second])  # C code calls back
        self.same(second.seen)
        self.same(next(map(lambda _: both(), [0])))

    def test_a_call_of_several_lines(self):
        pair = [
            None,
            both(),
        ][
            1]
        self.same(pair)

    def test_names_outside_of_ascii(self):
        for name in ("größe", "каталог", "行", "\U0001d4d0"):
            space = {"both": both}
            exec(compile(f"def {name}():\n  return both()\npair = {name}()", f"/tmp/{name} x/m.py", "exec"), space)
            self.same(space["pair"])

    def test_a_long_path_is_cut_and_its_callers_are_kept(self):
        space = {"both": both}
        exec(compile("def f():\n  return both()\npair = f()", "/" + "x" * 2000 + "/model.py", "exec"), space)
        got, expected = space["pair"]
        at = next(i for i, line in enumerate(got) if "model.py" in line)
        self.assertEqual(len(got[at]), 512 + len(":2 f"))
        self.assertTrue(expected[at - 1].endswith(got[at]))
        self.assertEqual(got[at + 2:], expected[at + 1:len(got) - 1])

    def test_depth_and_room(self):
        def deep(left):
            return deep(left - 1) if left else (read(), read(most=5), read(room=200), read(room=1))
        all_of_it, five, short, none = deep(60)
        self.assertEqual(len(all_of_it), MOST)
        self.assertEqual(five, all_of_it[:5])
        self.assertTrue(0 < len(short) < 5 and short == all_of_it[:len(short)], short)  # whole lines
        self.assertEqual(none, [])

    def test_threads(self):
        # Of a thread that Python has never seen there is nothing to read, which is known.
        self.assertEqual(read(function="stack_of_a_stranger"), [])
        results, stop = [], threading.Event()
        # Threads take turns more often than by default: more is disturbed in less time.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-4)

        def disturb():
            while not stop.is_set():
                gc.collect()
                list(map(str, range(50)))

        def work(number):
            def inner():
                return both()
            for _ in range(300):
                results.append(inner() if number % 2 else both())
        others = [threading.Thread(target=disturb) for _ in range(2)]
        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for one in others + threads:
            one.start()
        for one in threads:
            one.join()
        stop.set()
        for one in others:
            one.join()
        self.assertEqual(len(results), 1200)
        for pair in results:
            self.same(pair)

    def test_while_a_tracer_watches(self):
        lines = []
        sys.settrace(lambda *_: lines.append(0) or (lambda *_: lines.append(1)))
        try:
            pair = both()
        finally:
            sys.settrace(None)
        self.assertTrue(lines)
        self.same(pair)

    def test_nothing_is_counted_or_made(self):
        code = both.__code__
        names = [code, code.co_filename, code.co_name]
        before = [sys.getrefcount(one) for one in names]
        for _ in range(100):
            both()
        self.assertEqual([sys.getrefcount(one) for one in names], before)


class Interpreters(unittest.TestCase):
    def test_each_version_that_is_installed(self):
        named = [path for path in map(shutil.which, (f"python3.{minor}" for minor in range(9, 14))) if path]
        # A name on the path may stand for one that is not installed.
        found = [path for path in named if not subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode]
        self.assertTrue(found or sys.version_info >= (3, 14))
        for path in found:
            end = subprocess.run([path, __file__, sys.argv[1], "--here"], capture_output=True, text=True, check=False)
            with self.subTest(path):
                self.assertEqual(end.returncode, 0, end.stderr)
                self.assertRegex(end.stderr, r"Ran \d+ tests")
            print("tried with", re.search("python3[.0-9]*", path).group(), file=sys.stderr)


if __name__ == "__main__":
    here = "--here" in sys.argv
    unittest.main(argv=[sys.argv[0]], defaultTest="Stacks" if here else None)
