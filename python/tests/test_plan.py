"""Plans: the small reader of TOML, what is refused, what is selected, replacement and teacher forcing."""

import os

import numpy as np
import torch

import plinth_capture as pc
from fixture import TOKENS, CaptureTest, model
from plinth_capture import tiny_toml
from plinth_capture.plan import load, matches

PLAN = """
# what to take next
schema = "plinth.capture-plan/1"   # the format
forced_by = 'ref\\cap'

[[record]]
name = "encoder.\\"0\\"*\\u00e9"
what = "full"
direction = [ "input",   # both
  "output", ]
operators = true
[[record]] # another
name='a'

[[ replace ]]
name = "encoder.layers.3"
capture = "path"
"""


class Toml(CaptureTest):
    def test_the_subset_is_read_as_toml(self):
        want = {
            "schema": "plinth.capture-plan/1",
            "forced_by": "ref\\cap",
            "record": [
                {"name": 'encoder."0"*é', "what": "full", "direction": ["input", "output"], "operators": True},
                {"name": "a"},
            ],
            "replace": [{"name": "encoder.layers.3", "capture": "path"}],
        }
        self.assertEqual(tiny_toml.parse_subset(PLAN), want)
        self.assertEqual(tiny_toml.parse_subset(PLAN.replace("\n", "\r\n")), want)
        self.assertEqual(tiny_toml.parse(PLAN), want)

    def test_values(self):
        for text, want in (
            ("1", 1),
            ("-1_000", -1000),
            ("[[1],[]]", [[1], []]),
            ("false", False),
            ("''", ""),
            (r'"\t\\\U0001F600"', "\t\\\U0001f600"),
            ("[\n1, # x\n2\n]", [1, 2]),
        ):
            self.assertEqual(tiny_toml.parse_subset("a = " + text), {"a": want})

    def test_what_is_wrong_is_refused_with_its_place(self):
        for text, where in (
            ("a", "key = value or [[table]] is expected (at line 1, column 1)"),
            ("\n  a = ", "is expected (at line 2, column 7)"),
            ("a = 1 2", "the end of the line is expected (at line 1, column 7)"),
            ("a = 1\na = 2", "a stands twice (at line 2, column 1)"),
            ("a = [1 2]", "a comma or ] is expected (at line 1, column 8)"),
            ("a = [1", "a comma or ] is expected"),
            ('a = "x', "an array of them is expected (at line 1, column 5)"),
            (r'a = "\q"', r"\q is no escape"),
            (r'a = "\ud800"', r"\ud800 is no character"),
            ('a = """x"""', "a text in one line"),
            ("a = 1.5", "a text in one line, an integer"),
            ("a = 1\n[[a]]", "a is a value already (at line 2, column 1)"),
            ("[table]", "key = value or [[table]] is expected"),
            ("a = " + "[" * 50, "is expected"),
        ):
            with self.assertRaises(tiny_toml.TomlError) as caught:
                tiny_toml.parse_subset(text)
            self.assertIn(where, str(caught.exception))


class Refusals(CaptureTest):
    def refusal(self, value):
        with self.assertRaises(pc.CaptureError) as caught:
            load(value)
        return str(caught.exception)

    def test_plans_that_contradict_the_format(self):
        good = {"schema": "plinth.capture-plan/1"}
        for change, text in (
            ({"schema": "x/2"}, "schema is 'x/2'; \"plinth.capture-plan/1\" is right"),
            ({"records": []}, 'has the key "records"; known are schema, forced_by, record, replace'),
            ({"record": {}}, "record is no list of tables; write [[record]]"),
            ({"record": [{}]}, "record 1: name is None; a text is right"),
            ({"record": [{"name": "a"}, {"name": ""}]}, "record 2: name is ''; a text is right"),
            ({"record": [{"name": "a", "what": "all"}]}, 'what is \'all\'; "statistics" or "full" is right'),
            ({"record": [{"name": "a", "direction": ["in"]}]}, "direction is ['in']"),
            ({"record": [{"name": "a", "operators": 1}]}, "operators is 1; true or false is right"),
            ({"record": [{"name": "a", "x": 1}]}, 'record 1: has the key "x"'),
            ({"replace": [{"name": "a"}]}, "replace 1: capture is None; a text is right"),
            ({"forced_by": 1}, "forced_by is no text"),
        ):
            self.assertIn(text, self.refusal(dict(good, **change)))

    def test_files(self):
        self.assertIn("none: the plan cannot be read", self.refusal(self.path("none")))
        path = self.path("plan.toml")
        for text, message in (("a = ", "plan.toml: "), ("\xff", "plan.toml: the plan cannot be read")):
            with open(path, "w", encoding="latin-1") as file:
                file.write(text)
            self.assertIn(message, self.refusal(path))
        with open(path, "w") as file:
            file.write('schema = "plinth.capture-plan/1"\n[[replace]]\nname = "a"\ncapture = "ref"\n')
        self.assertEqual(load(path).replaces[0].capture, self.path("ref"))


class Selecting(CaptureTest):
    def taken(self, *records, name="cap", **options):
        plan = {"schema": "plinth.capture-plan/1", "record": list(records)}
        return self.captured(model(), TOKENS, name=name, plan=plan, **options)

    def test_patterns(self):
        for pattern, name, want in (
            ("*", "", True),
            ("a*", "a.b", True),
            ("a*b", "ab", True),
            ("a.b", "axb", False),
            ("a?", "ab", False),
            ("*.q", "l.0.q", True),
            ("[a]", "a", False),
        ):
            self.assertEqual(matches(pattern, name), want, (pattern, name))

    def test_records_name_what_is_taken(self):
        cap = self.taken(
            {"name": "layers.0", "direction": ["output"]},
            {"name": "layers.*.q", "what": "full"},
            {"name": "layers.0*", "direction": ["output"]},
        )
        keys = {e.key for e in cap}
        self.assertIn("layers.0:out0@0", keys)
        self.assertNotIn("layers.0:in0@0", keys)
        self.assertEqual({e.name for e in cap if e.tensor}, {"layers.0.q", "layers.1.q"})
        self.assertIn("layers.1.q:in1@0", keys)
        self.assertFalse([k for k in keys if "/" in k or k.startswith(("head", "(root)"))])

    def test_operators_of_one_layer(self):
        cap = self.taken({"name": "layers.1", "what": "full", "operators": True})
        names = {e.name for e in cap}
        self.assertIn("layers.1/softmax.0", names)
        self.assertIn("layers.1/matmul.1", names)
        self.assertIn("layers.1.q", names)  # a module that is an operator
        self.assertFalse([n for n in names if not n.startswith("layers.1")])
        self.assertEqual(cap.find("layers.1/softmax.0:in0@0").attributes, {"dim": 2})
        one = self.taken({"name": "layers.1/softmax.0"}, name="one")
        self.assertEqual({e.name for e in one}, {"layers.1/softmax.0"})
        pattern = self.taken({"name": "*/softmax.*", "direction": ["output"]}, name="two")
        self.assertEqual([e.key for e in pattern], ["layers.0/softmax.0:out0@0", "layers.1/softmax.0:out0@0"])

    def test_a_plan_that_lists_records_alone_decides(self):
        cap = self.taken({"name": "head", "direction": ["output"]}, level="operator", full=True)
        self.assertEqual([(e.key, e.tensor) for e in cap], [("head:out0@0", None)])

    def test_a_plan_for_modules_takes_no_operators(self):
        self.assertFalse([e for e in self.taken({"name": "*"}) if "/" in e.name])


def with_fault(layer):
    net = model(layers=4)
    good = net.layers[layer]
    good.register_forward_hook(lambda module, args, out: out + 1e-2)
    return net


class Substituting(CaptureTest):
    def setUp(self):
        super().setUp()
        self.ref = self.captured(model(layers=4), TOKENS, name="ref", full=True)

    def drift(self, cap):
        out = {}
        for entry in self.ref:
            if entry.direction == "output" and entry.op != "embedding" and cap.find(entry.key):
                a, b = self.ref.tensor(entry), cap.tensor(entry.key)
                out[entry.key.split(":")[0]] = float(np.linalg.norm(a - b) / np.linalg.norm(a))
        return out

    def test_replacing_the_faulty_layer_repairs_what_follows(self):
        broken = self.drift(self.captured(with_fault(1), TOKENS, name="a", full=True))
        self.assertEqual(broken["layers.0"], 0)
        self.assertGreater(broken["layers.3"], 1e-4)
        plan = self.path("plan.toml")
        with open(plan, "w") as file:
            file.write(
                'schema = "plinth.capture-plan/1"\n[[record]]\nname = "*"\nwhat = "full"\n'
                '[[replace]]\nname = "layers.1"\ncapture = "ref"\n'
            )
        cap = self.captured(with_fault(1), TOKENS, name="b", plan=plan)
        repaired = self.drift(cap)
        self.assertGreater(repaired["layers.1"], 1e-4)  # its own output is what was recorded
        self.assertTrue(cap.find("layers.1:out0@0").more["replaced"])
        self.assertEqual([repaired[n] for n in ("layers.2", "layers.3", "head")], [0, 0, 0])
        other = self.captured(with_fault(1), TOKENS, name="c", full=True, replace={"layers.0": self.path("ref")})
        self.assertGreater(self.drift(other)["head"], 1e-4)

    def test_forcing_shows_the_error_of_each_layer_alone(self):
        cap = self.captured(with_fault(1), TOKENS, name="a", full=True, forced_by=self.path("ref"))
        self.assertEqual(cap.header["run"]["mode"], "forced")
        local = self.drift(cap)
        self.assertGreater(local["layers.1"], 1e-4)
        for name in ("layers.0", "layers.2", "layers.2.q", "layers.3", "head"):
            self.assertEqual(local[name], 0, name)
        self.assertTrue(cap.find("layers.2:in0@0").more["forced"])
        # Inputs are the reference's, also behind the fault.
        np.testing.assert_array_equal(cap.tensor("layers.2:in0@0"), self.ref.tensor("layers.2:in0@0"))

    def test_forcing_by_another_model_or_other_inputs_is_refused(self):
        self.captured(model(layers=4), TOKENS, name="own", full=True, model_digest="1" * 64)
        for tokens, digest, text in (
            (TOKENS, "2" * 64, "own: is of another model, with digest 1111111111111111...; a capture of 2222222222222222"),
            (TOKENS + 1, "1" * 64, r"own: is of other inputs, with digest [0-9a-f]{16}\.\.\.; a capture of [0-9a-f]{16}"),
        ):
            with self.assertRaisesRegex(pc.CaptureError, text):
                self.captured(
                    model(layers=4), tokens, name="a", full=True, model_digest=digest, forced_by=self.path("own")
                )
            self.assertFalse(os.path.exists(self.path("a")))
        self.captured(model(layers=4), TOKENS, name="a", full=True, model_digest="1" * 64, forced_by=self.path("own"))

    def test_types_of_the_run_are_kept(self):
        net = model(layers=4).to(torch.bfloat16)
        cap = self.captured(net, TOKENS, name="a", full=True, forced_by=self.path("ref"))
        self.assertEqual(cap.find("layers.3:out0@0").dtype, "bf16")

    def test_structures_survive(self):
        out = {}
        net = model(layers=4)
        with torch.no_grad(), pc.Capture(net, out=self.path("a"), replace={"(root)": self.path("ref")}):
            out = net(TOKENS)
        self.assertEqual(list(out), ["logits", "state"])
        self.assertSameTensor(self.ref.tensor("(root):out0@0"), out["logits"])

    def test_what_cannot_be_substituted_is_an_error(self):
        statistics = self.path("stats")
        self.captured(model(layers=4), TOKENS, name="stats")
        for options, text in (
            ({"replace": {"layers.9": self.path("ref")}}, "holds no full output of layers.9"),
            ({"replace": {"layers.1": statistics}}, "holds no full output of layers.1"),
            ({"forced_by": statistics}, "holds no full tensors"),
            ({"forced_by": self.path("none")}, "none: no capture"),
        ):
            with self.assertRaisesRegex(pc.CaptureError, text):
                self.captured(model(layers=4), TOKENS, name="a", **options)
        with self.assertRaisesRegex(pc.CaptureError, r"has the shape \[2, 5, 8\]; this run has \[1, 5, 8\] there"):
            self.captured(model(layers=4), TOKENS[:1], name="a", replace={"layers.1": self.path("ref")})
        self.assertFalse(os.path.exists(self.path("a")))
