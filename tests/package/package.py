"""Builds the package for a test, and one of a later version from it."""
import os
import re
import shutil
import subprocess
import sys

SOURCE = os.environ["PLINTH_SOURCE_DIR"]
BUILD = os.environ["PLINTH_BUILD_DIR"]
SKIP = 77


def skip(reason):
    print("skipped:", reason)
    sys.exit(SKIP)


def need(*programs):
    missing = [p for p in programs if shutil.which(p) is None]
    if missing:
        skip("not here: " + ", ".join(missing))


def run(*words, **options):
    """Runs it, and shows what it said where it fails."""
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


def build(folder):
    """Builds the package as `make package` does, in `folder`; gives its path."""
    run("cmake", "--build", BUILD, "--target", "plinth_manual")
    # Compressed quickly: nobody downloads it.
    config = os.path.join(BUILD, "CPackConfig.cmake")
    run("cpack", "--config", config, "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=gzip", "-B", folder)
    found = [name for name in os.listdir(folder) if name.endswith(".deb")]
    assert len(found) == 1, found
    return os.path.join(folder, found[0])


def version_of(deb):
    return run("dpkg-deb", "-f", deb, "Version").strip()


def later(deb, version, folder):
    """The same package as `version`: the control file and the version inside the programs say so, and the build that
    evidence knows is thereby another one. As long as the text has the same length, no build is needed for that."""
    before = version_of(deb)
    assert len(before) == len(version)
    tree = os.path.join(folder, "later")
    run("dpkg-deb", "-R", deb, tree)
    for name in ("plinth", "plinth-serve"):
        path = os.path.join(tree, "usr/bin", name)
        with open(path, "rb") as file:
            text = file.read()
        # A text of its own: nothing that can be read stands before it.
        changed = re.sub(rb"(?<![ -~])" + re.escape(before.encode()) + rb"(?=\0)", version.encode(), text)
        assert changed != text, f"{name} does not hold its version"
        with open(path, "wb") as file:
            file.write(changed)
    control = os.path.join(tree, "DEBIAN/control")
    with open(control, encoding="utf-8") as file:
        text = file.read()
    with open(control, "w", encoding="utf-8") as file:
        file.write(text.replace(f"Version: {before}\n", f"Version: {version}\n"))
    path = os.path.join(folder, f"plinth_{version}.deb")
    run("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "-b", tree, path)
    shutil.rmtree(tree)
    return path
