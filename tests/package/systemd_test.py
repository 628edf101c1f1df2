"""The installed units under a systemd of their own, booted in a fresh Debian with namespaces: start, sandbox, reload, crash,
refusal, upgrade, going back, removal."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

import package
from system import STATE, System, later_version, preconditions

# Boots the system below $1 in the cgroup $2, as init of namespaces of its own, with no network but the loopback.
BOOT = r"""
set -e
echo $$ > "$2/cgroup.procs"
exec unshare --mount --pid --fork --kill-child --cgroup --uts --ipc --net sh -ec '
  mount --make-rprivate /
  mount --bind "$0" "$0"
  cd "$0"
  mount -t proc proc proc
  mount -t sysfs sysfs sys
  mount -t cgroup2 none sys/fs/cgroup
  mount -t tmpfs -o mode=755 none run
  mount -t tmpfs -o mode=755 none dev
  for name in null zero full random urandom tty; do touch dev/$name; mount --bind /dev/$name dev/$name; done
  mkdir dev/pts dev/shm
  mount -t devpts -o newinstance,ptmxmode=0666 none dev/pts
  ln -s pts/ptmx dev/ptmx
  mount -t tmpfs none dev/shm
  pivot_root . mnt
  umount -l mnt
  exec env -i container=other PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --system --unit=multi-user.target \
    --log-target=null --show-status=no
' "$1"
"""

ASK = """
import json, sys, urllib.request
body = sys.argv[2].encode() if len(sys.argv) > 2 else None
print(urllib.request.urlopen("http://127.0.0.1:8000" + sys.argv[1], body, timeout=60).read().decode())
"""


def cgroup2():
    """Where the hierarchy of control groups is mounted, and a group of this test's own can be made."""
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        for line in file:
            before, after = line.split(" - ")
            if after.split()[0] == "cgroup2":
                path = os.path.join(before.split()[4], f"plinth-package-test-{os.getpid()}")
                try:
                    os.mkdir(path)
                    return path
                except OSError:
                    continue
    return package.skip("no control groups of version 2 in which this test may make one of its own")


class Booted:
    """A system that runs under its own init."""

    def __init__(self, system, group):
        self.group = group
        self.parent = subprocess.Popen(["sh", "-c", BOOT, "sh", system.root, group], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.init = None
        end = time.monotonic() + 60
        while time.monotonic() < end and self.parent.poll() is None:
            with open(f"/proc/{self.parent.pid}/task/{self.parent.pid}/children", encoding="utf-8") as file:
                children = file.read().split()
            if children:
                self.init = children[0]
                if self.run("systemctl", "is-system-running", check=False)[1].strip() in ("running", "degraded"):
                    return
            time.sleep(0.2)
        self.parent.kill()
        said = self.parent.stderr.read()
        self.end()
        raise AssertionError("the system did not boot: " + said)

    def enter(self, words, *namespaces):
        return subprocess.run(["nsenter", "--target", self.init, *namespaces, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root",
                                   "DEBIAN_FRONTEND": "noninteractive"})

    def run(self, *words, check=True):
        done = self.enter(words, "--mount", "--pid", "--cgroup", "--uts", "--ipc", "--net", "--root", "--wd=/")
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
        return done.returncode, done.stdout

    def ask(self, path, body=None):
        """An answer of the service, in this system's own network."""
        words = [sys.executable, "-c", ASK, path] + ([] if body is None else [json.dumps(body)])
        done = self.enter(words, "--net")
        if done.returncode != 0:
            raise AssertionError(done.stdout)
        return json.loads(done.stdout)

    def show(self, *properties):
        words = [word for name in properties for word in ("-p", name)]
        lines = self.run("systemctl", "show", "plinth", *words)[1].splitlines()
        found = dict(line.split("=", 1) for line in lines)
        return [found[name] for name in properties]

    def active(self):
        return self.run("systemctl", "is-active", "plinth", check=False)[1].strip()

    def journal(self, unit):
        return self.run("journalctl", "-u", unit, "-o", "cat", "--no-pager")[1]

    def end(self):
        with open(os.path.join(self.group, "cgroup.kill"), "w", encoding="utf-8") as file:
            file.write("1")
        self.parent.wait(60)
        self.parent.stderr.close()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            with open(os.path.join(self.group, "cgroup.events"), encoding="utf-8") as file:
                if "populated 0" in file.read():
                    return
            time.sleep(0.1)


def drop_group(group):
    for at, _, _ in os.walk(group, topdown=False):
        os.rmdir(at)


class Units(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.deb = package.build(os.path.join(self.folder.name, "package"))
        self.version = package.version_of(self.deb)
        self.next_version = later_version(self.version)
        next_deb = package.later(self.deb, self.next_version, self.folder.name)
        system = System(os.path.join(self.folder.name, "root"), "systemd", "systemd-sysv", "dbus")
        # What the package needs comes now; the booted system has no network.
        system.install(self.deb)
        system.run("apt-get", "-qq", "-y", "purge", "plinth")
        for name, deb in (("now.deb", self.deb), ("next.deb", next_deb)):
            os.link(deb, system.path("/" + name))
        group = cgroup2()
        self.addCleanup(drop_group, group)
        self.booted = Booted(system, group)
        self.addCleanup(self.booted.end)

    def install(self, name):
        return self.booted.run("dpkg", "--install", "/" + name)[1]

    def serves(self, version):
        self.assertEqual(self.booted.active(), "active", self.booted.journal("plinth")[-2000:])
        self.assertEqual(self.booted.ask("/v2")["version"], version)
        self.assertEqual(self.booted.ask("/v2/health/ready"), {"ready": True, "reasons": []})
        answer = self.booted.ask("/v1/forecast", {"series": {"y": [3, 4, 6, 5, 7, 9, 8]}, "horizon": 3})
        self.assertEqual(answer["evidence"], "proven")

    def refuses_writing(self):
        """What serves requests writes its state alone."""
        pid = self.booted.show("MainPID")[0]
        for name, code in (("evidence/x", 1), (".config/plinth/x", 1), ("state/x", 0)):
            done = self.booted.run("nsenter", "--target", pid, "--mount", "setpriv", "--reuid=plinth", "--regid=plinth",
                                   "--clear-groups", "touch", f"{STATE}/{name}", check=False)
            self.assertEqual(done[0], code, name + done[1])

    def test_units(self):
        booted = self.booted
        self.install("now.deb")  # proves the model and starts the service
        self.serves(self.version)
        self.assertEqual(booted.show("StatusText", "NRestarts"), ["serving", "0"])
        self.assertIn("model plinth-ts-0: proven", booted.journal("plinth-accept"))
        self.refuses_writing()

        booted.run("systemctl", "reload", "plinth")
        self.assertIn('"event":"reload","done":true', booted.journal("plinth"))
        booted.run("systemctl", "kill", "--signal=KILL", "plinth")
        end = time.monotonic() + 60
        while booted.show("NRestarts", "SubState") != ["1", "running"] and time.monotonic() < end:
            time.sleep(0.5)
        self.serves(self.version)

        # No evidence, no serving; nobody tries again and again.
        booted.run("systemctl", "mask", "plinth-accept")
        booted.run("systemctl", "stop", "plinth")
        booted.run("mv", f"{STATE}/evidence", f"{STATE}/earlier")
        self.assertNotEqual(booted.run("systemctl", "start", "plinth", check=False)[0], 0)
        time.sleep(7)  # longer than RestartSec
        self.assertEqual(booted.show("ExecMainStatus", "NRestarts", "ActiveState"), ["4", "0", "failed"])
        # Evidence that root made is not trusted, and not in the way either.
        booted.run("plinth", "accept", "--evidence", f"{STATE}/evidence")
        self.assertNotEqual(booted.run("systemctl", "start", "plinth", check=False)[0], 0)
        self.assertIn("by no key that is trusted here", booted.journal("plinth"))
        booted.run("systemctl", "unmask", "plinth-accept")
        booted.run("systemctl", "start", "plinth")
        self.serves(self.version)

        self.install("next.deb")
        self.serves(self.next_version)
        self.assertIn(f"version was {self.version}, is {self.next_version}; accepting it now", booted.journal("plinth-accept"))
        accepted = booted.journal("plinth-accept").count("accepting it now")
        self.install("now.deb")
        self.serves(self.version)
        self.assertEqual(booted.journal("plinth-accept").count("accepting it now"), accepted)

        booted.run("dpkg", "--remove", "plinth")
        self.assertEqual(booted.active(), "inactive")
        booted.run("dpkg", "--purge", "plinth")
        self.assertIn("0 unit files", booted.run("systemctl", "list-unit-files", "plinth*", check=False)[1])


if __name__ == "__main__":
    preconditions()
    package.need("nsenter")
    unittest.main()
