// Feeds bodies of inference requests to their reader: the first line is the field that says how long the JSON
// is, the rest the body. What is accepted must be as large as it says, and make rows within the limits.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plinth/base/check.h"
#include "plinth/server/oip/json_infer.h"
#include "plinth/server/oip/parameters.h"
#include "plinth/server/oip/series_rows.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plinth::server::oip;
  constexpr TensorLimits kLimits = {.series = 64, .values = 4096};
  constexpr int64_t kContext = 128;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const size_t line = input.find('\n');
  if (line == input.npos) return 0;
  const auto request = ParseInferRequest(input.substr(line + 1), input.substr(0, line), kLimits);
  if (!request.ok()) {
    PLINTH_CHECK(!request.status().message().empty());
    return 0;
  }
  PLINTH_CHECK(!request->outputs.empty());
  for (const Tensor& tensor : request->inputs) {
    PLINTH_CHECK_EQ(tensor.data.size(), tensor.bytes());
    PLINTH_CHECK_LE(tensor.count(), size_t{4096});
    PLINTH_CHECK_LE(tensor.shape[0], int64_t{64});
  }
  const auto parameters = ReadParameters(request->parameters);
  if (parameters.ok()) PLINTH_CHECK(!parameters->levels.empty());
  const auto rows = ReadRows(request->inputs, kContext);
  if (!rows.ok()) return 0;
  size_t values = 0;
  for (const auto row : rows->rows) {
    PLINTH_CHECK(!row.empty());
    PLINTH_CHECK_LE(row.size(), size_t{kContext});
    values += row.size();
  }
  PLINTH_CHECK_EQ(values, rows->values.size());
  return 0;
}
