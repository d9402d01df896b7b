"""What is installed and packed runs anywhere: in a prefix with blanks in its name, as a wheel in a fresh environment,
and nothing in it needs more of a machine than is promised.

Run: packages_test.py BUILD_FOLDER SOURCE_FOLDER
"""

import base64
import csv
import hashlib
import io
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

SOURCE = pathlib.Path(sys.argv.pop())
BUILD = pathlib.Path(sys.argv.pop())
sys.path[:0] = [str(SOURCE / "app/package"), str(SOURCE / "tests/support")]
from archives import unpack  # noqa: E402
from needed_glibc import elf_files, needed_glibc, needed_versions  # noqa: E402

VERSION = re.search(r"project\(expertscope VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text())[1]
PROGRAMS = {"expertscope", "expertscope-askpass", "expertscope-attach-agent", "expertscope-guard",
            "expertscope-worker"}
# What every machine of the promise has, and what every desktop has.
OF_THE_MACHINE = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1",
                  "ld-linux-x86-64.so.2", "libstdc++.so.6", "libgcc_s.so.1"}
OF_THE_DESKTOP = {"libX11.so.6"}
BUILT_WITH = (2, 36)  # Debian 12
LIMIT = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30)}  # Ubuntu 22.04
WHEEL_LIMIT = 60e6  # bytes
SMALL = ["--num_experts", "4", "--tokens", "64", "--n", "64", "--k", "256", "--iterations", "2"]


def run(*command, **options):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=100, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command}: {done.returncode}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}")
    return done.stdout


def clean_environment(home):
    """One that does not help a program to find anything of the build."""
    return {"HOME": str(home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}


def setUpModule():
    global folder, prefix
    kept = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(kept.cleanup)
    folder = pathlib.Path(kept.name)
    prefix = folder / "a prefix with blanks"
    run("cmake", "--install", BUILD, "--prefix", prefix)


def readelf(option, path):
    return run("readelf", "--wide", option, path, env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"})


def worker_runs(test, program):
    """The program finds its worker, its assets and its libraries."""
    environment = clean_environment(folder / "home")
    listed = json.loads(run(program, "list", "backends", "--json", env=environment))
    test.assertIn("cpu", json.dumps(listed).lower())
    out = json.loads(run(program, "run", "--worker-backend", "cpu", *SMALL, "--json", env=environment))
    test.assertEqual(len(out["result"]["iterations"]), 2)
    presets = run(program, "list", "presets", "--json", env=environment)
    test.assertIn("Laptop small", presets)


class Prefix(unittest.TestCase):
    def test_it_runs(self):
        self.assertEqual({path.name for path in (prefix / "bin").iterdir()}, PROGRAMS)
        worker_runs(self, prefix / "bin/expertscope")

    def test_it_runs_after_it_was_moved(self):
        moved = folder / "elsewhere"
        prefix.rename(moved)
        self.addCleanup(moved.rename, prefix)
        self.assertIn(VERSION, run(moved / "bin/expertscope-worker", "--version", env=clean_environment(folder)))

    def test_assets(self):
        for name in ("shapes", "tours", "facts", "sessions", "bench"):
            files = [path for path in (SOURCE / "assets" / name).rglob("*") if "__pycache__" not in path.parts]
            for path in files:
                self.assertTrue((prefix / "share/expertscope" / path.relative_to(SOURCE / "assets")).exists(), path)
        self.assertFalse((prefix / "share/expertscope/pictures").exists())
        fonts = {path.stem for path in (prefix / "share/expertscope/fonts").iterdir()}
        self.assertLessEqual({"Inter-Regular", "Inter-SemiBold", "JetBrainsMono-Regular", "OFL"}, fonts)

    def test_every_library_is_here_or_of_the_machine(self):
        present = {path.name for path in (prefix / "lib/expertscope").iterdir()}
        for path in elf_files(prefix):
            # Only GLFW may need a desktop: the command line runs where there is none.
            desktop = OF_THE_DESKTOP if path.name == "libglfw.so.3" else set()
            for name in re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", path)):
                self.assertIn(name, (present - {"libglfw.so.3"}) | OF_THE_MACHINE | desktop, f"{path.name} needs {name}")
        for name in present:
            self.assertNotRegex(name, r"^lib(c|m|stdc\+\+|gcc_s|GL|OpenGL|EGL|X.*|xcb.*|wayland.*|cuda)\.so")

    def test_a_window_whose_libraries_cannot_be_loaded(self):
        glfw = prefix / "lib/expertscope/libglfw.so.3"
        self.addCleanup(glfw.write_bytes, glfw.read_bytes())
        glfw.write_bytes(b"not a library")
        environment = clean_environment(folder / "home")
        done = subprocess.run([prefix / "bin/expertscope", "open"], capture_output=True, text=True, timeout=60,
                              env=environment)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "no window: libglfw.so.3 cannot be loaded .*; install OpenGL and X11 .*; "
                                      "expertscope run works without one")
        self.assertIn("Laptop small", run(prefix / "bin/expertscope", "list", "presets", env=environment))

    def test_every_library_comes_with_its_licence(self):
        licences = "\n".join(path.name for path in (prefix / "share/doc/expertscope/licenses").iterdir())
        for name in ("openblas", "glfw", "protobuf", "imgui", "nlohmann", "cli11", "gomp", "sqlite"):
            self.assertIn(name, licences)

    def test_libraries_are_found_relative_to_the_program(self):
        for path in elf_files(prefix):
            for entry in re.findall(r"\((?:RPATH|RUNPATH)\).*\[(.*)\]", readelf("--dynamic", path)):
                for place in entry.split(":"):
                    self.assertTrue(place.startswith("$ORIGIN"), f"{path.name}: {place}")
        for name in PROGRAMS:
            self.assertIn("[$ORIGIN/../lib/expertscope]", readelf("--dynamic", prefix / "bin" / name), name)
        # Not only written there: used.
        loaded = run("ldd", prefix / "bin/expertscope-worker", env=clean_environment(folder))
        self.assertIn(f"{prefix}/bin/../lib/expertscope/libopenblas", loaded)

    def test_no_newer_glibc_than_is_promised(self):
        here = platform.libc_ver()[1]
        if tuple(map(int, here.split("."))) > BUILT_WITH:
            self.skipTest(f"what is built with glibc {here} needs a newer one than is promised of Debian 12's packages")
        for path in elf_files(prefix):
            self.assertLessEqual(max(needed_versions(path), default=(0,)), LIMIT["GLIBC"], path.name)
            for version in re.findall(r"Name: GLIBCXX_([0-9.]+)", readelf("--version-info", path)):
                self.assertLessEqual(tuple(map(int, version.split("."))), LIMIT["GLIBCXX"], path.name)

    def test_a_bundle_is_made_of_it_without_the_window(self):
        environment = clean_environment(folder / "home")
        bundle = run(prefix / "bin/expertscope", "bundle", "--out", folder / "worker.bundle", env=environment).strip()
        from_build = run(BUILD / "bin/expertscope", "bundle", "--out", folder / "build.bundle").strip()
        with tarfile.open(bundle) as archive, tarfile.open(from_build) as other:
            names = set(archive.getnames())
            self.assertEqual(names, set(other.getnames()))
            unpack(archive, folder / "bundle")
        self.assertIn("./lib/expertscope/libopenblas.so.0", names)
        self.assertIn("./bin/expertscope-attach-agent", names)
        with_cuda = "CUDA" in run(prefix / "bin/expertscope-worker", "--version", env=environment)
        self.assertEqual("./lib/expertscope/libexpertscope-attach.so" in names, with_cuda)
        self.assertFalse([name for name in names if re.search("glfw|sqlite|libpng|stb", name)])
        self.assertIn(VERSION, run(folder / "bundle/bin/expertscope-worker", "--version", env=environment))


class Packages(unittest.TestCase):
    def cpack(self, kind):
        out = folder / kind
        run("cpack", "-G", kind, "--config", BUILD / "CPackConfig.cmake", "-B", out)
        packages = [path for path in out.iterdir() if path.is_file()]
        self.assertEqual(len(packages), 1, packages)
        return packages[0]

    def test_tar_gz(self):
        package = self.cpack("TGZ")
        installed = {str(path.relative_to(prefix)) for path in prefix.rglob("*") if path.is_file()}
        with tarfile.open(package) as archive:
            files = {name.partition("/")[2] for name in archive.getnames() if archive.getmember(name).isfile()}
            unpack(archive, folder)
        self.assertEqual(files, installed)
        unpacked = folder / package.name.removesuffix(".tar.gz")
        self.assertIn(VERSION, run(unpacked / "bin/expertscope-worker", "--version", env=clean_environment(folder)))

    @unittest.skipUnless(pathlib.Path("/usr/bin/dpkg-deb").exists(), "there is no dpkg-deb here")
    def test_deb(self):
        package = self.cpack("DEB")
        depends = run("dpkg-deb", "--field", package, "Depends")
        major, minor = needed_glibc(prefix)
        self.assertIn(f"libc6 (>= {major}.{minor})", depends)
        for name in ("libstdc++6", "libgl1", "libx11-6"):
            self.assertIn(name, depends)
        self.assertIn("openssh-client", run("dpkg-deb", "--field", package, "Recommends"))
        listed = run("dpkg-deb", "--contents", package)
        for name in PROGRAMS:
            self.assertIn(f" ./usr/bin/{name}\n", listed)
        self.assertIn(" ./usr/lib/expertscope/libopenblas.so.0\n", listed)


class FromPip(unittest.TestCase):
    def test_it_is_made_and_installed_into_a_fresh_environment(self):
        run(sys.executable, "-IB", SOURCE / "app/package/make_wheel.py", "--tree", prefix, "--version", VERSION,
            "--license", SOURCE / "LICENSE", "--out", folder)
        wheel, = folder.glob("*.whl")
        major, minor = needed_glibc(prefix)
        self.assertEqual(wheel.name, f"expertscope-{VERSION}-py3-none-manylinux_{major}_{minor}_x86_64.whl")
        self.assertLessEqual(wheel.stat().st_size, WHEEL_LIMIT)
        self.check_record(wheel)
        environment = folder / "an environment"
        run(sys.executable, "-I", "-m", "venv", environment)
        run(environment / "bin/python", "-I", "-m", "pip", "install", "--no-index", "--no-deps",
            "--disable-pip-version-check", wheel)
        worker_runs(self, environment / "bin/expertscope")
        run(environment / "bin/python", "-I", "-m", "pip", "uninstall", "--yes", "expertscope")
        self.assertFalse((environment / "bin/expertscope").exists())
        self.assertFalse((environment / "lib/expertscope/libopenblas.so.0").exists())

    def check_record(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            record = next(name for name in archive.namelist() if name.endswith("/RECORD"))
            rows = {name: (digest, size) for name, digest, size in csv.reader(io.StringIO(archive.read(record).decode()))}
            self.assertEqual(set(rows), set(archive.namelist()))
            self.assertEqual(rows.pop(record), ("", ""))
            for name, (digest, size) in rows.items():
                content = archive.read(name)
                hashed = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={hashed}", str(len(content))), name)


if __name__ == "__main__":
    os.umask(0o022)
    unittest.main()
