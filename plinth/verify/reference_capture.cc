#include "plinth/verify/reference_capture.h"

#include <utility>
#include <vector>

#include "plinth/base/version.h"

namespace plinth::verify {
namespace {

formats::JsonValue Producer() {
  formats::JsonValue::Object producer;
  producer.emplace_back("name", formats::JsonValue(std::string("plinth")));
  producer.emplace_back("version", formats::JsonValue(std::string(kVersion)));
  producer.emplace_back("kind", formats::JsonValue(std::string("reference")));
  producer.emplace_back("arithmetic", formats::JsonValue(std::string("f64")));
  return formats::JsonValue(std::move(producer));
}

Status AddTensor(formats::CaptureWriter& writer, std::string name, std::string op,
                 const std::vector<int64_t>& dims, const std::vector<double>& data) {
  formats::CaptureEntry entry;
  entry.name = std::move(name);
  entry.op = std::move(op);
  // The writer only reads.
  const View view = DenseView(const_cast<double*>(data.data()), DType::kF64, dims.data(),  // NOLINT
                              static_cast<int>(dims.size()));
  return writer.Add(std::move(entry), view, /*full=*/true);
}

}  // namespace

Status WriteReferenceCapture(const ReferenceNetwork& network, const engine::Session& session,
                             std::span<const std::span<const double>> series, int64_t steps,
                             const std::string& folder, formats::CaptureInfo info) {
  std::vector<models::Row> rows;
  rows.reserve(series.size());
  std::vector<std::span<const models::Row>> groups;
  for (const auto& past : series) {
    rows.push_back({past, {}});
    groups.emplace_back(&rows.back(), 1);
  }
  PLINTH_ASSIGN_OR_RETURN(const ReferenceNetwork::Result result, network.Run(groups, steps, /*layers=*/true));
  info.producer = Producer();
  PLINTH_ASSIGN_OR_RETURN(auto writer, formats::CaptureWriter::Create(folder, std::move(info)));
  for (const ReferenceNetwork::Layer& layer : result.layers) {
    PLINTH_RETURN_IF_ERROR(AddTensor(writer, layer.name, layer.op, layer.value.dims, layer.value.data));
  }
  const std::vector<int64_t> dims = {static_cast<int64_t>(series.size()), steps,
                                     static_cast<int64_t>(session.model().info().levels.size())};
  PLINTH_RETURN_IF_ERROR(AddTensor(writer, "output", "output", dims, result.quantiles));
  return writer.Finish();
}

}  // namespace plinth::verify
