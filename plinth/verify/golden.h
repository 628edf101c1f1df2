// Reads golden folders: what the original implementation of a model computed for a list of cases.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/formats/json.h"
#include "plinth/formats/safetensors.h"
#include "plinth/ops/checks.h"

namespace plinth::verify {

// One output that a case lists.
struct GoldenOutput {
  std::string name;
  std::vector<int64_t> dims;
  bool finite = true;          // false: the original gave NaN, ours need not
  double max_abs_f32_f64 = 0;  // how far the original's float32 run is from its float64 run
};

struct GoldenCase {
  std::string name;
  std::map<std::string, std::vector<int64_t>> inputs;  // name -> dims
  std::vector<GoldenOutput> outputs;
  formats::JsonValue options;   // an object
  std::string reference_error;  // what the original raised; empty: nothing

  // Options; where the key is absent or of another kind: `otherwise`, false, "" and nothing.
  int64_t Option(std::string_view key, int64_t otherwise) const;
  bool Flag(std::string_view key) const;
  std::string Text(std::string_view key) const;
  std::vector<std::string> Texts(std::string_view key) const;
};

class GoldenFolder {
 public:
  // `cases_file` is .../cases.json; cases.safetensors and layers.safetensors lie beside it, the latter
  // being optional. Errors: those of reading the files; InvalidArgument, with file and case, where
  // they contradict each other.
  static StatusOr<GoldenFolder> Open(const std::string& cases_file);

  const std::vector<GoldenCase>& cases() const { return cases_; }
  const GoldenCase* Find(std::string_view name) const;
  // The case whose layers are recorded; empty where none is.
  const std::string& layers_case() const { return layers_case_; }
  // Names of the recorded layers, in the order of the file.
  std::vector<std::string> Layers() const;

  // Arrays in double. Errors: NotFound naming the array.
  StatusOr<ops::RefTensor> Input(const GoldenCase& c, const std::string& name) const;
  // Whether the array is there and holds whole numbers by its type.
  bool HasIntegers(const GoldenCase& c, const std::string& name) const;
  // From the float64 run.
  StatusOr<ops::RefTensor> Output(const GoldenCase& c, const std::string& name) const;
  StatusOr<ops::RefTensor> Layer(const std::string& name) const;
  // Outputs in the file that the case does not list.
  std::vector<std::string> Unlisted(const GoldenCase& c) const;

 private:
  Status ReadCase(const formats::JsonValue& value, const std::string& where);

  std::vector<GoldenCase> cases_;
  std::string layers_case_;
  std::vector<formats::SafetensorsFile> arrays_, layers_;  // one, and one or none
};

}  // namespace plinth::verify
