"""Runs what a unit starts under the unit's restrictions, without systemd, in a system below a folder.

Usage, as root in a mount namespace of its own: unshare --mount python3 sandbox.py UNIT ROOT

Of the unit it applies ExecStart, User, Group, UMask, LimitNOFILE, LimitCORE, ProtectSystem=strict with StateDirectory and
ReadOnlyPaths, PrivateTmp, PrivateDevices, CapabilityBoundingSet, NoNewPrivileges, MemoryDenyWriteExecute,
RestrictAddressFamilies, RestrictNamespaces and SystemCallFilter (by libseccomp, with systemd's own sets of calls). Other
restrictions are not imitated. What the service finds in its environment is what begins with PLINTH_ or NOTIFY_ here.
"""
import ctypes
import errno
import grp
import os
import pwd
import resource
import socket
import subprocess
import sys

PR_SET_NO_NEW_PRIVS, PR_CAPBSET_DROP, PR_SET_MDWE = 38, 24, 65
ALLOW, ERRNO = 0x7FFF0000, 0x00050000
EQUAL = 4
REFUSED = ERRNO | errno.EPERM
libc = ctypes.CDLL(None, use_errno=True)


class Compare(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_uint), ("op", ctypes.c_int), ("a", ctypes.c_uint64), ("b", ctypes.c_uint64)]


def read_unit(path):
    """Values of each directive, in order."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            if "=" in line and not line.startswith("#"):
                name, value = line.strip().split("=", 1)
                found.setdefault(name, []).append(value)
    return found


def calls_of(name):
    """The names of calls of a set such as @system-service, as systemd has them."""
    if not name.startswith("@"):
        return {name}
    text = subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager", name], check=True, capture_output=True,
                          text=True).stdout
    out = set()
    for line in text.splitlines()[1:]:
        word = line.strip()
        if word and not word.startswith("#"):
            out |= calls_of(word)
    return out


def prctl(*words):
    if libc.prctl(*[ctypes.c_ulong(w) for w in words], *[ctypes.c_ulong(0)] * (5 - len(words))) != 0:
        raise OSError(ctypes.get_errno(), f"prctl {words}")


class Filter:
    def __init__(self):
        self.lib = ctypes.CDLL("libseccomp.so.2", use_errno=True)
        self.lib.seccomp_init.restype = ctypes.c_void_p
        self.context = ctypes.c_void_p(self.lib.seccomp_init(REFUSED))

    def add(self, call, *compares, action=ALLOW):
        number = self.lib.seccomp_syscall_resolve_name(call.encode())
        if number < 0:
            return  # another architecture's
        array = (Compare * max(1, len(compares)))(*compares)
        if self.lib.seccomp_rule_add_array(self.context, ctypes.c_uint32(action), number, len(compares), array) != 0:
            raise OSError(f"seccomp refuses a rule for {call}")

    def load(self):
        if self.lib.seccomp_load(self.context) != 0:
            raise OSError("seccomp refuses the filter")


def make_filter(unit):
    allowed = set()
    for value in unit["SystemCallFilter"]:
        for word in value.lstrip("~").split():
            allowed = allowed - calls_of(word) if value.startswith("~") else allowed | calls_of(word)
    out = Filter()
    if unit.get("RestrictNamespaces") == ["yes"]:
        allowed -= {"unshare", "setns", "clone3"}
        out.add("clone3", action=ERRNO | errno.ENOSYS)
    families = [getattr(socket, f) for f in unit["RestrictAddressFamilies"][-1].split()]
    for call in sorted(allowed - {"socket"}):
        out.add(call)
    for family in families:
        out.add("socket", Compare(0, EQUAL, int(family), 0))
    return out


def mount(*words):
    subprocess.run(["mount", *words], check=True)


def make_tree(unit, root):
    mount("--make-rprivate", "/")
    mount("--bind", root, root)
    for name in [f"var/lib/{d}" for value in unit["StateDirectory"] for d in value.split()]:
        path = os.path.join(root, name)
        mount("--bind", path, path)
    mount("-t", "tmpfs", "-o", "mode=1777", "none", os.path.join(root, "tmp"))
    mount("--rbind", "/proc", os.path.join(root, "proc"))
    mount("--rbind", "/sys", os.path.join(root, "sys"))
    dev = os.path.join(root, "dev")
    mount("-t", "tmpfs", "-o", "mode=0755", "none", dev)
    for name in ("null", "zero", "full", "random", "urandom"):
        path = os.path.join(dev, name)
        with open(path, "w", encoding="utf-8"):
            pass
        mount("--bind", f"/dev/{name}", path)
    for path in [p.lstrip("-/") for value in unit.get("ReadOnlyPaths", []) for p in value.split()]:
        path = os.path.join(root, path)
        if os.path.exists(path):
            mount("--bind", path, path)
            mount("-o", "remount,bind,ro", path)
    mount("-o", "remount,bind,ro", root)


def main():
    unit, root = read_unit(sys.argv[1]), sys.argv[2]
    assert unit["ProtectSystem"] == ["strict"] and unit["CapabilityBoundingSet"] == [""]
    filter_ = make_filter(unit)
    make_tree(unit, root)
    os.chroot(root)
    os.chdir("/")
    user, group = pwd.getpwnam(unit["User"][0]), grp.getgrnam(unit["Group"][0])
    files = int(unit["LimitNOFILE"][0])
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    resource.setrlimit(resource.RLIMIT_CORE, (int(unit["LimitCORE"][0]),) * 2)
    os.umask(int(unit["UMask"][0], 8))
    with open("/proc/sys/kernel/cap_last_cap", encoding="utf-8") as file:
        for capability in range(int(file.read()) + 1):
            prctl(PR_CAPBSET_DROP, capability)
    os.setgroups([])
    os.setresgid(group.gr_gid, group.gr_gid, group.gr_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    if unit.get("MemoryDenyWriteExecute") == ["yes"]:
        try:
            prctl(PR_SET_MDWE, 1)
        except OSError as error:  # before Linux 6.3
            print(f"sandbox: without MemoryDenyWriteExecute: {error}", file=sys.stderr)
    environment = {k: v for k, v in os.environ.items() if k.startswith(("PLINTH_", "NOTIFY_"))}
    environment.update(HOME=user.pw_dir, USER=user.pw_name, PATH="/usr/bin:/bin", LANG="C.UTF-8")
    words = unit["ExecStart"][0].split()
    filter_.load()
    os.execve(words[0], words, environment)


if __name__ == "__main__":
    main()
