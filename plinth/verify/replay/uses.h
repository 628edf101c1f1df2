// Gathers a capture's entries into uses of operators.
#pragma once

#include <string>
#include <vector>

#include "plinth/formats/capture.h"
#include "plinth/verify/replay/op_use.h"
#include "plinth/verify/replay/reference.h"

namespace plinth::verify::replay {

// One use for each name and step, by order of execution. They borrow the capture's tensors. Entries of
// "module"s are uses too, for whoever has a truth for them. Error: InvalidArgument naming the entry where one
// use has two operators, or a port beyond 1024.
StatusOr<std::vector<OpUse>> UsesOf(const formats::Capture& capture);

// Whether all inputs that both have hold the same bytes.
bool SameInputs(const OpUse& a, const OpUse& b);

// Who made the capture: "plinth", "pytorch", in lower case; "" where it does not say.
std::string ProducerOf(const formats::Capture& capture);

// The arithmetic that output `port` may use: accumulators of f32 (f64 for f64), and for products what the
// capture's precision declares (keys as in docs/operators.md): "tf32_matmul", "tf32_convolution" or
// "float32_matmul": "high" cut operands of f32 to tf32, "medium" to bf16; "fp16_reduced_reduction" and
// "bf16_reduced_reduction" let partial sums of a split product be rounded to that type. On "device": "cpu"
// only "medium" means anything.
Arithmetic ArithmeticOf(const formats::JsonValue& precision, const OpUse& use, size_t port);

}  // namespace plinth::verify::replay
