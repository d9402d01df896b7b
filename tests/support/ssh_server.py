"""Another machine for tests: a real sshd on the loopback device, with its own keys, port and home folder.

It shares the file system with this machine, so a test can look at what arrived there.
"""

import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
HOST = "elsewhere"


def why_not():
    """Why no server can be started here; empty if one can."""
    if SSHD is None:
        return "there is no sshd (package openssh-server)"
    if shutil.which("ssh") is None:
        return "there is no ssh (package openssh-client)"
    return ""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class SshServer:
    """`home` is that machine's home folder. Programs find it as HOST with the environment of client().
    `programs`: shell scripts by name, first on the PATH there."""

    def __init__(self, home="home", passphrase="", accepts_password=False, knows_host=True, programs=None):
        self._folder = tempfile.TemporaryDirectory(prefix="sshd-")
        self.root = pathlib.Path(self._folder.name)
        self.home = self.root / home
        self.home.mkdir()
        (self.root / "there").mkdir()
        for name, script in (programs or {}).items():
            (self.root / "there" / name).write_text("#!/bin/sh\n" + script)
            (self.root / "there" / name).chmod(0o755)
        self.port = free_port()
        self._key("host_key", "")
        self._key("id", passphrase)
        shutil.copy(self.root / "id.pub", self.root / "authorized_keys")
        (self.root / "sshd_config").write_text(f"""
Port {self.port}
ListenAddress 127.0.0.1
HostKey {self.root}/host_key
AuthorizedKeysFile {self.root}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication {"yes" if accepts_password else "no"}
KbdInteractiveAuthentication no
PubkeyAuthentication {"no" if accepts_password else "yes"}
SetEnv "HOME={self.home}" "XDG_CACHE_HOME=" "PATH={self.root}/there:/usr/local/bin:/usr/bin:/bin"
""")
        known = self.root / "known_hosts"
        if knows_host:
            key = (self.root / "host_key.pub").read_text()
            known.write_text(f"{HOST} {key}")
        self.reached_at(self.port)
        # A client has no option for its configuration in the environment, so a wrapper stands on PATH.
        (self.root / "bin").mkdir()
        wrapper = self.root / "bin" / "ssh"
        wrapper.write_text(f'#!/bin/sh\nexec {shutil.which("ssh")} -F "{self.root}/ssh_config" "$@"\n')
        wrapper.chmod(0o755)
        self._server = None

    def reached_at(self, port):
        """Clients connect to this port from now on, such as a slow link's."""
        (self.root / "ssh_config").write_text(f"""
Host {HOST}
  HostName 127.0.0.1
  HostKeyAlias {HOST}
  Port {port}
  IdentityFile {self.root}/id
  IdentitiesOnly yes
  IdentityAgent none
  UserKnownHostsFile {self.root}/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking ask
  NumberOfPasswordPrompts 2
""")

    def _key(self, name, passphrase):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-f", self.root / name], check=True)

    def __enter__(self):
        return self.start()

    def start(self):
        """Also again, after cut()."""
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)  # sshd insists on it
        with open(self.root / "log", "w") as log:
            self._server = subprocess.Popen([SSHD, "-D", "-e", "-f", self.root / "sshd_config"], stderr=log,
                                            start_new_session=True)
        limit = time.monotonic() + 10
        while time.monotonic() < limit:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.02)
        raise RuntimeError("sshd did not start: " + self.log())

    def __exit__(self, *_):
        self.cut()
        self._folder.cleanup()

    def cut(self):
        """Ends the server and every connection to it."""
        if self._server is None:
            return
        for child in self._descendants(self._server.pid):
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self._server.kill()
        self._server.wait()
        self._server = None

    @staticmethod
    def _descendants(pid):
        listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
        children = {}
        for line in listed.splitlines():
            child, parent = map(int, line.split())
            children.setdefault(parent, []).append(child)
        found, waiting = [], [pid]
        while waiting:
            for child in children.get(waiting.pop(), []):
                found.append(child)
                waiting.append(child)
        return found

    def log(self):
        return (self.root / "log").read_text()

    def client(self):
        """The environment in which ssh knows this machine."""
        return {"PATH": f"{self.root}/bin:{os.environ['PATH']}", "SSH_AUTH_SOCK": ""}

    @property
    def cache(self):
        return self.home / ".cache" / "expertscope"

    def bundles(self):
        """Folders of workers that were sent."""
        return sorted(one for one in self.cache.iterdir() if (one / "MANIFEST").exists())

    def leftovers(self):
        """What an interrupted or refused transfer left."""
        return [one for one in self.cache.iterdir() if one.name.startswith(".")] if self.cache.exists() else []
