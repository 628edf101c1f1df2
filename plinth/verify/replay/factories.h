// Lists the makers of references, one per family of operators.
#pragma once

#include <memory>

#include "plinth/verify/replay/reference.h"

namespace plinth::verify::replay {

using ReferenceOr = StatusOr<std::unique_ptr<Reference>>;

ReferenceOr MakeMatmul(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeLinear(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeConvolution(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeLayerNorm(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeRmsNorm(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeBatchNorm(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeSoftmax(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeAttention(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeRotary(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeUnary(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeBinary(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeReduction(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeAveragePool(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeChoice(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeGroupNorm(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeCell(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeCumsum(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeEmbedding(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeCast(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeRearrangement(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeSort(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeSampling(const OpUse& use, size_t port, const Arithmetic& arithmetic);
ReferenceOr MakeQuantise(const OpUse& use, size_t port, const Arithmetic& arithmetic);

}  // namespace plinth::verify::replay
