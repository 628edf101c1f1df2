"""The command line: running scripts, references of one's own operators, and what is refused with which exit code."""

import contextlib
import io
import json
import os
import subprocess
import sys
from unittest import mock

import numpy as np
import torch
import torch.nn as nn

import plinth_capture as pc
import recompute
from fixture import TOKENS, CaptureTest, model
from plinth_capture import references, session
from plinth_capture.__main__ import main

SCRIPT = """
import sys
import torch
import torch.nn as nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 4), nn.ReLU())
loss = nn.Identity()
with torch.no_grad():
    loss(torch.zeros(1)) if "--loss" in sys.argv else None
    net(torch.ones(2, 3))
print("ran", sys.argv[1:], __name__)
"""


class Command(CaptureTest):
    def write(self, name, text):
        with open(self.path(name), "w") as file:
            file.write(text)
        return self.path(name)

    def run_main(self, *arguments):
        """In a process of its own, as a user would. Returns (code, stdout, stderr)."""
        done = subprocess.run(
            [sys.executable, "-m", "plinth_capture", *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        return done.returncode, done.stdout, done.stderr

    def in_process(self, *arguments):
        """Here: quicker. Returns (code, stdout, stderr); an exception's code is 1, as Python's own."""
        out, err = io.StringIO(), io.StringIO()
        before = os.getcwd()
        os.chdir(self.folder)
        try:
            with mock.patch.object(sys, "argv", list(sys.argv)), mock.patch.object(
                sys, "path", list(sys.path)
            ), mock.patch.dict(session.defaults), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(list(arguments))
        except SystemExit as end:
            code = end.code
        except Exception as error:
            code = 1
            err.write("%s: %s" % (type(error).__name__, error))
        finally:
            os.chdir(before)
            sys.modules.pop("models", None)
        return code, out.getvalue(), err.getvalue()


class Run(Command):
    def test_the_first_module_that_is_called(self):
        self.write("script.py", SCRIPT)
        code, out, err = self.run_main(
            "run",
            "--out",
            "cap",
            "--full",
            "*",
            "--level",
            "operator",
            "--run-id",
            "r",
            "--seed",
            "0",
            "script.py",
            "7",
            "--",
            "--flag",
        )
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "ran ['7', '--flag'] __main__\n")
        cap = pc.read(self.path("cap"))
        self.assertEqual({e.name for e in cap}, {"(root)", "0", "1"})
        self.assertEqual(cap.header["run"]["id"], "r")

    def test_options_may_stand_behind_the_script(self):
        self.write("script.py", SCRIPT)
        plan = 'schema = "plinth.capture-plan/1"\n[[record]]\nname = "0"\nwhat = "full"\n'
        self.write("plan.toml", plan)
        code, out, err = self.in_process("run", "script.py", "--out", "cap", "--plan", "plan.toml", "--", "--loss")
        self.assertEqual(
            (code, err),
            (
                2,
                "plinth_capture: error: cap: nothing was recorded: no module of the model ran, "
                "or no pattern names one\n",
            ),
        )
        code, out, err = self.in_process(
            "run", "script.py", "--out", "cap", "--plan", "plan.toml", "--model", ":net", "--", "--loss"
        )
        self.assertEqual((code, err, out), (0, "", "ran ['--loss'] __main__\n"))
        self.assertEqual({e.name for e in pc.read(self.path("cap"))}, {"0"})

    def test_a_model_of_another_module_and_a_capture_in_the_script(self):
        self.write("models.py", "import torch.nn as nn\nnet = nn.Linear(2, 2)\nclass Holder: net = net\n")
        self.write("use.py", "import torch, models\nmodels.net(torch.ones(1, 2))\n")
        code, _, err = self.in_process("run", "use.py", "--out", "a", "--model", "models:Holder.net")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(pc.read(self.path("a")).header["model"]["name"], "Linear")
        self.write(
            "own.py",
            "import torch, models, plinth_capture\nmodels.net(torch.ones(1, 2)) if 0 else None\n"
            "with plinth_capture.Capture(models.net):\n    models.net(torch.ones(1, 2))\n",
        )
        code, _, err = self.in_process("run", "own.py", "--out", "b", "--seed", "4")
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(pc.read(self.path("b")).header["run"]["seed"], 4)

    def test_refusals(self):
        self.write("nothing.py", "pass\n")
        self.write("fails.py", SCRIPT + "raise ValueError('stop')\n")
        self.write("leaves.py", SCRIPT + "sys.exit(5)\n")
        for arguments, code, text in (
            (("run", "none.py"), 2, "none.py: there is no such script"),
            (("run", "nothing.py"), 2, "nothing.py: no model ran"),
            (("run", "nothing.py", "--model", "models"), 2, '--model is "models"; module:attribute is right'),
            (("run", "fails.py"), 1, "ValueError: stop"),
            (("run", "leaves.py"), 5, ""),
            ((), 2, "usage"),
            (("show", "none"), 2, "none: no capture: No such file or directory"),
        ):
            got, _, err = self.in_process(*arguments)
            self.assertEqual(got, code, err)
            self.assertIn(text, err)
            self.assertFalse([f for f in os.listdir(self.folder) if "cap" in f], arguments)

    def test_the_example_of_the_readme(self):
        with open(os.path.join(os.path.dirname(os.path.abspath(pc.__file__)), "..", "README.md")) as file:
            text = file.read()
        self.write("example.py", text.split("```python\n")[1].split("```")[0])
        self.assertIn("run example.py --out cap --level operator --full '*'\n", text)
        code, _, err = self.in_process("run", "example.py", "--out", "cap", "--level", "operator", "--full", "*")
        self.assertEqual((code, err), (0, ""))
        cap = pc.read(self.path("cap"))
        self.assertEqual(
            recompute.check(self, cap, 4e-6),
            {"embedding": 1, "layer_norm": 4, "linear": 17, "matmul": 8, "div": 4, "softmax": 4, "add": 8, "gelu": 4},
        )

    def test_show(self):
        self.captured(model(), TOKENS)
        code, out, err = self.in_process("show", self.path("cap"))
        self.assertEqual((code, err), (0, ""))
        self.assertIn("layers.0.q:out0@0", out)


REFERENCES = """
import numpy as np
import plinth_capture


@plinth_capture.reference("my_norm")
def my_norm(x, weight, *, eps):
    assert x.dtype == np.float64 and weight.dtype == np.float64
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


@plinth_capture.reference("order")
def order(x, index, scale=1):
    assert index.dtype == np.int64
    return (x * scale)[..., index], None
"""


@pc.operator("my_norm")
def my_norm(x, weight, eps):
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps) * weight


@pc.operator("order")
def order(x, index, scale=1):
    return (x * scale)[..., index], index


class Uses(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4))

    def forward(self, x):
        return order(my_norm(x, self.weight, 0.5), torch.tensor([3, 1]), 2)[0]


class Show(Command):
    def test_who_reads_only_the_beginning_is_no_error(self):
        net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(900)])
        self.captured(net, torch.ones(1, 2))
        done = subprocess.run(
            "%s -m plinth_capture show cap | head -n 1" % sys.executable,
            shell=True,
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
        )
        self.assertEqual((done.stderr, len(done.stdout.splitlines())), ("", 1))


class Reference(Command):
    def setUp(self):
        super().setUp()
        torch.manual_seed(2)
        before = dict(references._references)
        self.addCleanup(lambda: (references._references.clear(), references._references.update(before)))
        self.refs = self.write("refs.py", REFERENCES)
        self.cap = self.captured(Uses(), torch.randn(3, 4), level="operator", full=True, run_id="r")

    def test_truth_in_double(self):
        code, out, err = self.in_process(
            "reference", self.path("cap"), "--module", self.refs, "--out", self.path("truth")
        )
        self.assertEqual((code, err), (0, ""))
        self.assertEqual(out, "2 operators recomputed into %s\n" % self.path("truth"))
        truth = pc.read(self.path("truth"))
        self.assertEqual([e.key for e in truth], ["(root)/my_norm.0:out0@0", "(root)/order.0:out0@0"])
        self.assertEqual({e.dtype for e in truth}, {"f64"})
        self.assertEqual(truth.header["producer"]["kind"], "reference")
        self.assertEqual(truth.header["run"], self.cap.header["run"])
        got = truth.tensor("(root)/order.0:out0@0")
        np.testing.assert_array_equal(self.cap.tensor("(root)/order.0:out0@0"), got)
        norm = truth.tensor("(root)/my_norm.0:out0@0")
        np.testing.assert_allclose(self.cap.tensor("(root)/my_norm.0:out0@0"), norm, rtol=1e-6)
        self.assertFalse(np.array_equal(norm, norm.astype(np.float32)))  # more than f32 gives

    def test_refusals(self):
        def refusal(text, cap="cap"):
            refs = self.write("other.py", "import numpy as np, plinth_capture\n" + text)
            code, _, err = self.in_process("reference", self.path(cap), "--module", refs, "--out", self.path("truth"))
            self.assertEqual(code, 2)
            self.assertFalse(os.path.exists(self.path("truth")))
            return err

        register = '@plinth_capture.reference("my_norm")\n'
        self.assertIn("other.py: registers nothing", refusal(""))
        self.assertIn("other.py: fails when it is loaded: ZeroDivisionError", refusal("1 / 0"))
        self.assertIn(
            "nothing was recomputed: it holds no operator that has a reference (there are: absent)",
            refusal('@plinth_capture.reference("absent")\ndef f(x): return x'),
        )
        references._references.clear()
        self.assertIn("it takes (x), not 2 inputs and the attributes ['eps']", refusal(register + "def f(x): return x"))
        self.assertIn(
            "fails at (root)/my_norm.0: ValueError: bad",
            refusal(register + "def f(x, w, eps): raise ValueError('bad')"),
        )
        self.assertIn(
            "output 0, has the shape [1]; captured is [3, 4]", refusal(register + "def f(x, w, eps): return [1.0]")
        )
        for nothing in ("pass", "return None, None"):
            self.assertIn(
                "the reference of my_norm at (root)/my_norm.0 gives None; the output, an array of 2 dimensions, is right",
                refusal(register + "def f(x, w, eps): " + nothing),
            )
        self.assertIn("output 0, is of type <U1", refusal(register + "def f(x, w, eps): return 'a'"))
        self.captured(Uses(), torch.randn(3, 4), name="stats", level="operator")
        self.assertIn(
            "(root)/my_norm.0 (step 0): input 0 was recorded as statistics alone",
            refusal(register + "def f(x, w, eps): return x", cap="stats"),
        )
        code, _, err = self.in_process("reference", self.path("cap"), "--module", self.path("no"), "--out", "x")
        self.assertEqual(code, 2)
        self.assertIn("no: there is no such file", err)


class Reading(Command):
    def broken(self, change):
        import shutil

        shutil.rmtree(self.path("bad"), ignore_errors=True)
        shutil.copytree(self.path("cap"), self.path("bad"))
        path = os.path.join(self.path("bad"), "capture.json")
        with open(path) as file:
            value = json.load(file)
        change(value)
        with open(path, "w") as file:
            json.dump(value, file)
        with self.assertRaises(pc.CaptureError) as caught:
            pc.read(self.path("bad"))
        return str(caught.exception)

    def test_captures_that_contradict_themselves(self):
        self.captured(model(), TOKENS, full=True)
        for change, text in (
            (lambda v: v.update(schema="x"), 'the schema is not "plinth.capture/1"'),
            (lambda v: v["entries"][0].pop("name"), "an entry is not as the format says"),
            (lambda v: v["entries"].append(v["entries"][0]), "two entries have one name"),
            (lambda v: v["entries"][0].update(tensor="none"), "no file holds the tensor of (root):in0@0"),
            (lambda v: v["entries"][0].update(shape=[10]), "is i64[2, 5]; the entry says i64[10]"),
        ):
            self.assertIn(text, self.broken(change))
        with open(os.path.join(self.path("cap"), "capture.json"), "w") as file:
            file.write("{")
        with self.assertRaisesRegex(pc.CaptureError, "capture.json: no JSON"):
            pc.read(self.path("cap"))

    def test_reports(self):
        lines = ['{"tensor": "a", "status": "passed"}\n', "\n", '{"summary": true, "verdict": "pass"}\n']
        report = pc.load_report(lines)
        self.assertEqual(report.rows, [{"tensor": "a", "status": "passed"}])
        self.assertEqual(report.summary, {"summary": True, "verdict": "pass"})
        self.assertEqual(pc.load_report(self.write("r.jsonl", "".join(lines))), report)
        with self.assertRaisesRegex(pc.CaptureError, "line 2 of the report is no JSON"):
            pc.load_report(["{}", "x"])

    def test_what_needs_no_torch_works_without(self):
        self.captured(model(), TOKENS, full=True)
        code = (
            "import sys; sys.modules['torch'] = None\nimport plinth_capture as pc\n"
            "print(pc.read('cap').tensor('head:out0@0').shape)\n"
            "try: pc.Capture(None)\nexcept ImportError: print('no torch')\n"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=self.folder, stdout=subprocess.PIPE, check=True)
        self.assertEqual(done.stdout.decode(), "(2, 5, 11)\nno torch\n")
