"""What is in the Debian package, and that an unpacked one proves its model."""
import gzip
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

import package
from package import SOURCE, run

package.need("cpack", "dpkg-deb", "dpkg-shlibdeps", "strip")

# The lower the better (0 to 10); what remains is named in the unit or cannot be taken from a network service.
MOST_EXPOSURE = {"plinth.service": 15, "plinth-accept.service": 10}  # tenths


class Contents(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.deb = package.build(os.path.join(cls.folder.name, "package"))
        cls.tree = os.path.join(cls.folder.name, "tree")
        run("dpkg-deb", "-x", cls.deb, cls.tree)
        cls.control = os.path.join(cls.folder.name, "control")
        run("dpkg-deb", "-e", cls.deb, cls.control)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.tree, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def field(self, name):
        return run("dpkg-deb", "-f", self.deb, name).strip()

    def test_version_is_that_of_the_programs(self):
        version = self.field("Version")
        for name in ("plinth", "plinth-serve"):
            self.assertEqual(run(self.path(f"usr/bin/{name}"), "--version").strip(), f"plinth {version}")
        self.assertIn(f"plinth_{version}_{self.field('Architecture')}.deb", self.deb)

    def test_depends_on_the_libraries_of_the_programs(self):
        depends = self.field("Depends")
        for library in ("adduser", "libgrpc++", "libssl3", "libsimdjson", "libtbb12"):
            self.assertIn(library, depends)
        self.assertEqual(self.field("Conflicts"), "freedombox")

    def test_ships_the_recipe_and_no_evidence(self):
        names = [os.path.join(at, name) for at, _, files in os.walk(self.tree) for name in files]
        self.assertFalse([n for n in names if n.endswith((".dsse.json", ".pem"))])
        self.assertFalse(os.path.exists(self.path("var")))
        model = "usr/share/plinth/models/plinth-ts-0"
        for name in ("config.json", "model.safetensors", "CARD.md", "accept.toml"):
            self.assertTrue(os.path.isfile(self.path(f"{model}/{name}")), name)
        with open(self.path(f"{model}/model.safetensors"), "rb") as ours, \
                open(os.path.join(SOURCE, "models/plinth-ts-0/model.safetensors"), "rb") as theirs:
            self.assertEqual(ours.read(), theirs.read())

    def test_modes_and_owners(self):
        for line in run("dpkg-deb", "-c", self.deb).splitlines():
            mode, owner, name = line.split()[0], line.split()[1], line.split()[5]
            self.assertEqual(owner, "root/root", line)
            wanted = "drwxr-xr-x" if mode[0] == "d" else "-rwxr-xr-x" if "/usr/bin/" in name else "-rw-r--r--"
            self.assertEqual(mode, wanted, line)
        for name in ("postinst", "prerm", "postrm"):
            path = os.path.join(self.control, name)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o755)
            run("sh", "-n", path)
        with open(os.path.join(self.control, "conffiles"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "/etc/plinth/plinth.toml\n")

    def test_units_say_what_systemd_understands(self):
        if shutil.which("systemd-analyze") is None:
            self.skipTest("systemd-analyze is not here")
        units = [self.path(f"lib/systemd/system/{name}") for name in MOST_EXPOSURE]
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *units], capture_output=True, text=True,
                              check=False)
        complaints = [line for line in done.stderr.splitlines()
                      if "plinth" in line and "/usr/bin/plinth-serve is not executable" not in line]
        self.assertEqual(complaints, [])
        for name, most in MOST_EXPOSURE.items():
            run("systemd-analyze", "security", "--offline=true", f"--threshold={most}", "--no-pager",
                self.path(f"lib/systemd/system/{name}"))

    def test_unit_agrees_with_the_settings(self):
        unit = self.read("lib/systemd/system/plinth.service")
        table = run(self.path("usr/bin/plinth-serve"), "--settings")

        def number(pattern, text):
            return int(re.search(pattern, text).group(1))

        drain = number(r"`service.drain_seconds` \| `(\d+)`", table)
        self.assertGreater(number(r"TimeoutStopSec=(\d+)", unit), drain)
        connections = number(r"`limits.connections` \| `(\d+)`", table)
        self.assertGreaterEqual(number(r"LimitNOFILE=(\d+)", unit), connections + 256)

    def test_manual_has_every_setting_and_command(self):
        def page(section, name):
            with gzip.open(self.path(f"usr/share/man/man{section}/{name}.{section}.gz"), "rt") as file:
                text = file.read()
            if shutil.which("groff"):
                done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z"], input=text, capture_output=True,
                                      text=True, check=False)
                self.assertEqual(done.stderr, "")
            return text.replace("\\-", "-")

        settings = page(5, "plinth.toml")
        for key in re.findall(r"^\| `([a-z_.]+)`", run(self.path("usr/bin/plinth-serve"), "--settings"), re.M):
            section, name = key.split(".")
            self.assertIn(f".SS [{section}]", settings)
            self.assertIn(f"\\fB{name}\\fR", settings)
        commands = page(1, "plinth")
        for name in re.findall(r"^  ([a-z]+) ", run(self.path("usr/bin/plinth"), "--help"), re.M):
            self.assertIn(f".SS {name}", commands)
        self.assertIn("--prove", page(8, "plinth-serve"))

    def test_bash_completes(self):
        script = self.path("usr/share/bash-completion/completions/plinth")

        def complete(*words):
            quoted = " ".join(f"'{w}'" for w in words)
            code = (f"source {script}; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _plinth; "
                    'printf "%s\\n" "${COMPREPLY[@]}"')
            return run("bash", "-euc", code).split()

        self.assertEqual(complete("plinth", "fore"), ["forecast"])
        self.assertEqual(complete("plinth", "evidence", "v"), ["verify"])
        self.assertEqual(complete("plinth", "serve", "--http-po"), ["--http-port"])
        self.assertEqual(complete("plinth-serve", "--pro"), ["--prove"])
        self.assertEqual(complete("plinth", "forecast", "--hori"), ["--horizon"])
        self.assertEqual(complete("plinth", "forecast", "x"), [])  # a file name

    def test_other_shells_complete(self):
        for shell, name in (("zsh", "zsh/vendor-completions/_plinth"), ("fish", "fish/vendor_completions.d/plinth.fish")):
            if shutil.which(shell):
                run(shell, "-n", self.path(f"usr/share/{name}"))
            self.assertIn("drain-seconds", self.read(f"usr/share/{name}"))

    def test_lintian_has_nothing_to_say(self):
        if shutil.which("lintian") is None:
            self.skipTest("lintian is not here")
        done = subprocess.run(["lintian", "--fail-on", "error,warning", "--allow-root", self.deb], capture_output=True,
                              text=True, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, ""))

    def test_proves_its_model_where_it_is_unpacked(self):
        serve, evidence = self.path("usr/bin/plinth-serve"), os.path.join(self.folder.name, "evidence")
        config = self.read("etc/plinth/plinth.toml")
        for installed, here in (("/usr/share/plinth", self.path("usr/share/plinth")),
                                ("/var/lib/plinth/evidence", evidence),
                                ("/var/lib/plinth/state", self.folder.name)):
            self.assertIn(installed, config)
            config = config.replace(installed, here)
        settings = os.path.join(self.folder.name, "plinth.toml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write(config)
        home = {k: v for k, v in os.environ.items() if not k.startswith("PLINTH_")}
        home["XDG_CONFIG_HOME"] = os.path.join(self.folder.name, "keys")

        def ask(what):
            return subprocess.run([serve, "--config", settings, what], env=home, capture_output=True, text=True,
                                  check=False)

        before = ask("--check")
        self.assertEqual(before.returncode, 4, before.stderr)
        self.assertIn("model plinth-ts-0: unproven: ", before.stdout)
        self.assertIn(f"--evidence {evidence}", before.stdout)
        proved = ask("--prove")
        self.assertEqual(proved.returncode, 0, proved.stdout + proved.stderr)
        self.assertTrue(proved.stdout.splitlines()[-1].startswith("model plinth-ts-0: proven: "), proved.stdout)
        units = os.listdir(os.path.join(evidence, "history"))
        again = ask("--prove")
        self.assertEqual(again.returncode, 0)
        self.assertEqual(len(again.stdout.splitlines()), 1, again.stdout)  # nothing to be done
        self.assertEqual(os.listdir(os.path.join(evidence, "history")), units)
        # What the recipe asks for: golden cases and a real series.
        with open(os.path.join(evidence, "history", units[0], "records.jsonl"), encoding="utf-8") as file:
            self.assertTrue(any("golden" in json.dumps(json.loads(line)) for line in file))
        self.assertEqual(ask("--check").returncode, 0)


if __name__ == "__main__":
    unittest.main()
