"""Element types, statistics and tensor files, each against something that does not share its code."""

import json
import math
import os
import struct
from fractions import Fraction

import numpy as np
import torch

from fixture import CaptureTest
from plinth_capture import safetensors_file as st
from plinth_capture.element_types import TYPES, name_of_torch, to_numpy, value_table
from plinth_capture.reading import read
from plinth_capture.snapshot import Snapshot, take
from plinth_capture.tensor_stats import FIELDS, stats_from_device, stats_of_bits, stats_on_device
from plinth_capture.writer import CaptureWriter


class ElementTypes(CaptureTest):
    def test_every_8_bit_code_is_what_torch_makes_of_it(self):
        for torch_name in ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"):
            dtype = getattr(torch, torch_name, None)
            if dtype is None:
                continue  # an old torch has none; the next test does without it
            codes = torch.arange(256, dtype=torch.uint8)
            np.testing.assert_array_equal(
                to_numpy(codes.numpy(), name_of_torch(dtype)), codes.view(dtype).float().numpy(), torch_name
            )

    def test_landmarks_of_8_bit_floats(self):
        # From the OCP and Graphcore/AMD definitions: largest finite, smallest subnormal, the codes of NaN.
        e4m3, e5m2 = value_table("f8_e4m3"), value_table("f8_e5m2")
        fnuz4, fnuz5 = value_table("f8_e4m3fnuz"), value_table("f8_e5m2fnuz")
        self.assertEqual([e4m3[0x7E], e4m3[0x01], e4m3[0x38]], [448, 2.0**-9, 1])
        self.assertEqual([e5m2[0x7B], e5m2[0x01], e5m2[0x3C], e5m2[0x7C]], [57344, 2.0**-16, 1, math.inf])
        self.assertEqual([fnuz4[0x7F], fnuz4[0x01], fnuz4[0x40]], [240, 2.0**-10, 1])
        self.assertEqual([fnuz5[0x7F], fnuz5[0x01], fnuz5[0x40]], [57344, 2.0**-17, 1])
        for table, nan in (
            (e4m3, [0x7F, 0xFF]),
            (e5m2, [0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF]),
            (fnuz4, [0x80]),
            (fnuz5, [0x80]),
        ):
            self.assertEqual(np.flatnonzero(np.isnan(table)).tolist(), nan)

    def test_bf16_is_read_exactly(self):
        bits = np.arange(65536, dtype=np.uint16)
        want = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).float().numpy()
        np.testing.assert_array_equal(to_numpy(bits, "bf16"), want)


def exact(values):
    """Mean, std and l2 in exact arithmetic, rounded once."""
    exact_values = [Fraction(float(v)) for v in values]
    n = len(exact_values)
    mean = sum(exact_values) / n
    return (float(mean), root(sum((v - mean) ** 2 for v in exact_values) / n), root(sum(v * v for v in exact_values)))


def root(value):
    """The square root of a fraction of any size."""
    if value == 0:
        return 0.0
    shift = (value.numerator.bit_length() - value.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(float(value / Fraction(4) ** shift)), shift)


class Statistics(CaptureTest):
    def check(self, tensor, values=None):
        """Against exact arithmetic; both ways to the numbers."""
        value = take(tensor, True)
        flat = [float(v) for v in (tensor.double().reshape(-1).tolist() if values is None else values)]
        finite = [v for v in flat if math.isfinite(v)]
        both = [value.stats()]
        if (
            tensor.dtype != torch.float64
            and not str(tensor.dtype).startswith("torch.uint")
            or tensor.dtype == torch.uint8
        ):
            both.append(stats_from_device(stats_on_device(tensor).numpy(), tensor.numel()))
        for got in both:
            self.assertEqual(tuple(got), FIELDS)
            self.assertEqual(got["count"], len(flat))
            self.assertEqual(got["finite"], len(finite))
            self.assertEqual(got["nan"], sum(math.isnan(v) for v in flat))
            self.assertEqual(got["pos_inf"], flat.count(math.inf))
            self.assertEqual(got["neg_inf"], flat.count(-math.inf))
            self.assertEqual(got["zero"], sum(v == 0 for v in flat))
            if not finite:
                self.assertEqual([got[k] for k in FIELDS[7:]], [0] * 5)
                continue
            self.assertEqual((got["min"], got["max"]), (min(finite), max(finite)))
            mean, std, l2 = exact(finite)
            # Sums of n terms in double, in blocks: some 2^-52 of the mean magnitude and of the spread.
            size = max(abs(v) for v in finite)
            self.assertLessEqual(abs(got["mean"] - mean), 2.0**-46 * size)
            self.assertLessEqual(abs(got["std"] - std), 2.0**-46 * size)
            self.assertLessEqual(abs(got["l2"] - l2), 2.0**-46 * l2)
        return both[0]

    def test_against_exact_arithmetic(self):
        generator = torch.Generator().manual_seed(1)
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            for size in (1, 2, 1000):
                self.check(torch.randn(size, generator=generator).to(dtype) * 3 + 1)
        for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
            self.check(torch.arange(-3, 120).to(dtype) if dtype != torch.uint8 else torch.arange(200).to(dtype))
        self.check(torch.tensor([True, False, True]))
        for name in ("float8_e4m3fn", "float8_e5m2"):
            if hasattr(torch, name):
                self.check(torch.linspace(-5, 5, 50).to(getattr(torch, name)))

    def test_what_is_not_finite_is_counted_and_left_out(self):
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            self.check(torch.tensor([1.0, math.nan, math.inf, -math.inf, -2.0, 0.0, -0.0], dtype=dtype))
            self.check(torch.tensor([math.nan, math.inf], dtype=dtype))
        self.check(torch.zeros(0))

    def test_subnormals_are_of_the_tensors_own_type(self):
        for dtype, tiny in (
            (torch.float64, 2.0**-1030),
            (torch.float32, 2.0**-130),
            (torch.float16, 2.0**-16),
            (torch.bfloat16, 2.0**-130),
        ):
            tensor = torch.tensor([tiny, -tiny, 1.0, 0.0], dtype=torch.float64).to(dtype)
            self.assertEqual(self.check(tensor)["subnormal"], 2, dtype)
        before = torch.tensor([2.0**-130, 1.0])
        if torch.set_flush_denormal(True):
            try:
                self.assertEqual(take(before, True).stats()["subnormal"], 1)
            finally:
                torch.set_flush_denormal(False)

    def test_a_large_mean_does_not_swallow_a_small_spread(self):
        # Two values around 1e8: the spread is 4, which sums of squares in double would lose half of.
        tensor = torch.tensor([1e8, 1e8 + 8] * 200_000)
        got = take(tensor, True).stats()
        self.assertEqual((got["mean"], got["std"]), (1e8 + 4, 4))
        on_device = stats_from_device(stats_on_device(tensor).numpy(), tensor.numel())
        self.assertEqual((on_device["mean"], on_device["std"]), (1e8 + 4, 4))

    def test_doubles_at_the_ends_of_their_range(self):
        huge, small = [1.7e308, -1.7e308, 1e308], [5e-324, 2.0**-1000, 0.0]
        self.check(torch.tensor(small, dtype=torch.float64))
        got = take(torch.tensor(huge, dtype=torch.float64), True).stats()
        largest = np.finfo(np.float64).max
        self.assertEqual(got["l2"], largest)  # beyond the range: the largest number, which JSON can carry
        values = [Fraction(v) for v in huge]
        variance = sum((v - sum(values) / 3) ** 2 for v in values) / 3
        self.assertAlmostEqual(got["std"] / root(variance), 1, places=12)

    def test_pieces_join(self):
        generator = torch.Generator().manual_seed(2)
        tensor = torch.randn(3 * (1 << 17) + 5, generator=generator)
        got = take(tensor, True).stats()
        x = tensor.double()
        self.assertAlmostEqual(got["mean"], math.fsum(x.tolist()) / len(x), places=14)
        self.assertAlmostEqual(got["l2"] / math.sqrt(math.fsum((x * x).tolist())), 1, places=13)
        self.assertAlmostEqual(got["std"] / float(x.std(unbiased=False)), 1, places=12)

    def test_unsigned_types_that_torch_hardly_knows(self):
        for name in ("u16", "u32", "u64"):
            bits = np.array([0, 1, np.iinfo(TYPES[name].bits).max], TYPES[name].bits)
            got = stats_of_bits(bits, name)
            self.assertEqual((got["zero"], got["max"]), (1, float(np.iinfo(TYPES[name].bits).max)))


class OnDevice(CaptureTest):
    """The way of a value on an accelerator: statistics are reduced there, bytes are fetched by the writer."""

    def snapshot(self, tensor, full):
        value = Snapshot(name_of_torch(tensor.dtype), tuple(tensor.shape))
        value._rows = stats_on_device(tensor)
        value._copy = tensor.clone() if full else None
        return value

    def test_both_ways_give_one_entry(self):
        tensor = torch.linspace(-2, 3, 70).reshape(7, 10).to(torch.bfloat16)
        for full in (True, False):
            writer = CaptureWriter(self.path("cap-%s" % full))
            entry = {"name": "a", "op": "module", "direction": "output", "port": 0, "step": 0}
            writer.put(entry, take(tensor, full), full)
            writer.put(dict(entry, port=1), self.snapshot(tensor, full), full)
            writer.finish({}, {})
            host, device = read(self.path("cap-%s" % full)).entries
            for field in ("count", "finite", "zero", "min", "max"):
                self.assertEqual(host.stats[field], device.stats[field])
            for field in ("mean", "std", "l2"):
                self.assertAlmostEqual(host.stats[field], device.stats[field], places=13)
            self.assertEqual(host.tensor, device.tensor)
            self.assertEqual(device.digest, host.digest if full else "")


class Files(CaptureTest):
    def test_a_written_file_is_the_format(self):
        path = self.path("a")
        shard = st.ShardWriter(path)
        shard.add("x", "f32", (2, 1), np.array([1.5, -2], np.float32).tobytes())
        shard.add("y", "bool", (), b"\x01")
        shard.close()
        with open(path, "rb") as file:
            data = file.read()
        length = struct.unpack("<Q", data[:8])[0]
        self.assertEqual(
            json.loads(data[8 : 8 + length]),
            {
                "x": {"dtype": "F32", "shape": [2, 1], "data_offsets": [0, 8]},
                "y": {"dtype": "BOOL", "shape": [], "data_offsets": [8, 9]},
            },
        )
        self.assertEqual(data[8 + length :], struct.pack("<ff", 1.5, -2) + b"\x01")
        header = st.read_header(path)
        self.assertEqual(to_numpy(st.read_bits(header["x"]), "f32").tolist(), [1.5, -2])
        self.assertEqual(to_numpy(st.read_bits(header["y"]), "bool").tolist(), [True])

    def test_room_for_the_header_is_kept_to(self):
        shard = st.ShardWriter(self.path("a"))
        self.assertTrue(shard.fits("k" * 1000, "f32", (1,), 4))
        self.assertFalse(shard.fits("k" * st.HEADER_ROOM, "f32", (1,), 4))
        shard.close()

    def test_broken_files_are_refused(self):
        def file(header, data=b"", length=None):
            path = self.path("bad")
            text = header if isinstance(header, bytes) else json.dumps(header).encode()
            with open(path, "wb") as out:
                out.write(struct.pack("<Q", len(text) if length is None else length) + text + data)
            return path

        good = {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}
        for path, text in (
            (lambda: file(b""), "the header would have 0 bytes"),
            (lambda: file({}, length=1 << 60), "the header would have 1152921504606846976 bytes in a file of 10"),
            (lambda: file(b"{no"), "is no JSON"),
            (lambda: file([]), "is no object"),
            (lambda: file({"a": 1}), 'tensor "a": dtype, shape and two data_offsets are expected'),
            (lambda: file({"a": dict(good, dtype="F99")}, b"0000"), "has the type F99"),
            (lambda: file({"a": good}, b"000"), r"do not hold f32\[1\] in a file of"),
            (lambda: file({"a": dict(good, shape=[2])}, b"0000"), r"do not hold f32\[2\]"),
            (lambda: file({"a": dict(good, shape=[-1])}, b"0000"), r"do not hold f32\[-1\]"),
        ):
            with self.assertRaisesRegex(ValueError, text):
                st.read_header(path())
        empty = self.path("empty")
        open(empty, "wb").close()
        with self.assertRaisesRegex(ValueError, "empty: the header would have 0 bytes in a file of 0"):
            st.read_header(empty)
        self.assertTrue(os.path.exists(empty))
