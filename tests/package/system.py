"""A fresh Debian below a folder, made with mmdebstrap from this machine's own sources of packages."""
import ctypes
import glob
import os
import re
import subprocess
import sys

import package
from package import SOURCE

HERE = os.path.dirname(os.path.abspath(__file__))
UNITS = os.path.join(SOURCE, "packaging")
STATE, SETTINGS = "/var/lib/plinth", "/etc/plinth/plinth.toml"


def preconditions():
    package.need("cpack", "dpkg-deb", "dpkg-shlibdeps", "strip", "mmdebstrap", "unshare", "chroot", "systemd-analyze")
    if os.geteuid() != 0:
        package.skip("needs to be root: a system is made in a folder and entered")
    if subprocess.run(["unshare", "--mount", "true"], check=False, capture_output=True).returncode != 0:
        package.skip("this system lets nobody make a mount namespace (unshare --mount)")
    try:
        ctypes.CDLL("libseccomp.so.2")
    except OSError:
        package.skip("libseccomp.so.2 is not here")


def own_sources():
    """The release of this system, and the files that say where its packages come from."""
    with open("/etc/os-release", encoding="utf-8") as file:
        release = dict(line.rstrip().split("=", 1) for line in file if "=" in line)
    codename = release.get("VERSION_CODENAME", "")
    files = []
    for path in ["/etc/apt/sources.list", *sorted(glob.glob("/etc/apt/sources.list.d/*"))]:
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if re.search(rf"^(deb |Suites:).*\b{codename}\b", text, re.M) and "debian" in text:
                files.append(path)
    if release.get("ID") != "debian" or not files:
        package.skip("this system is no Debian whose sources of packages could be used")
    return codename, files


def later_version(version):
    """A higher one of the same length."""
    for at in range(len(version) - 1, -1, -1):
        if version[at] in "012345678":
            return version[:at] + str(int(version[at]) + 1) + version[at + 1:]
    raise AssertionError(version)


class System:
    """A Debian below a folder."""

    def __init__(self, root, *packages):
        self.root = root
        codename, files = own_sources()
        words = ["mmdebstrap", "--quiet", "--variant=minbase", "--skip=cleanup/apt"]
        words += [f"--include={name}" for name in packages]
        done = subprocess.run([*words, codename, root, *files], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode != 0:
            if re.search("Failed to fetch|Could not resolve|Could not connect|Unable to connect", done.stdout):
                package.skip("no mirror of Debian can be reached")
            raise AssertionError(done.stdout)
        for name in ("resolv.conf", "hosts"):
            if os.path.exists(f"/etc/{name}"):
                with open(f"/etc/{name}", "rb") as file, open(self.path(f"/etc/{name}"), "wb") as copy:
                    copy.write(file.read())

    def path(self, inside):
        return self.root + inside

    def exists(self, inside):
        return os.path.lexists(self.path(inside))

    def read(self, inside):
        with open(self.path(inside), encoding="utf-8") as file:
            return file.read()

    def run(self, *words, check=True):
        """In the system, as root; gives the exit code and what it said."""
        enter = 'mount --rbind /proc "$0/proc" && mount --rbind /dev "$0/dev" && exec chroot "$0" "$@"'
        done = subprocess.run(["unshare", "--mount", "sh", "-c", enter, self.root, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root",
                                   "DEBIAN_FRONTEND": "noninteractive",
                                   **{k: v for k, v in os.environ.items() if k.lower().endswith("_proxy")}})
        if check and done.returncode != 0:
            raise AssertionError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
        return done.returncode, done.stdout

    def install(self, deb, *options):
        name = "/" + os.path.basename(deb)
        with open(deb, "rb") as file, open(self.path(name), "wb") as copy:
            copy.write(file.read())
        return self.run("apt-get", "-qq", "-y", "--no-install-recommends", *options, "install", name)[1]

    def start(self, unit, network=True, **environment):
        words = ["unshare", "--mount", *([] if network else ["--net"]), sys.executable, "-B",
                 os.path.join(HERE, "sandbox.py"), os.path.join(UNITS, unit), self.root]
        env = {k: v for k, v in os.environ.items() if not k.startswith("PLINTH_")}
        return subprocess.Popen(words, env={**env, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True)

    def prove(self):
        """What plinth-accept.service does; gives the exit code and what it said."""
        process = self.start("plinth-accept.service", network=False)
        text = process.communicate(timeout=300)[0]
        return process.returncode, text
