#include "plinth/verify/golden.h"

#include <algorithm>

#include "plinth/base/files.h"

namespace plinth::verify {
namespace {

using formats::ConstTensorRef;
using formats::JsonValue;
using ops::RefTensor;

constexpr int64_t kMaxCasesBytes = 64 << 20;

Status Bad(std::string_view where, std::string_view what) {
  return absl::InvalidArgumentError(StrCat(where, ": ", what));
}

StatusOr<std::vector<int64_t>> ReadDims(const JsonValue* value, std::string_view where) {
  if (value == nullptr || value->array() == nullptr) return Bad(where, "the shape is not a list of numbers");
  std::vector<int64_t> dims;
  for (const JsonValue& d : *value->array()) {
    if (d.integer() == nullptr || *d.integer() < 0) {
      return Bad(where, StrCat("a dimension is ", ShortText(d), "; it must be a number from 0"));
    }
    dims.push_back(*d.integer());
  }
  return dims;
}

StatusOr<GoldenOutput> ReadOutput(const std::string& name, const JsonValue& value, std::string_view where) {
  GoldenOutput output{.name = name};
  PLINTH_ASSIGN_OR_RETURN(output.dims, ReadDims(value.Find("shape"), where));
  const JsonValue* finite = value.Find("finite");
  if (finite != nullptr && finite->flag() != nullptr) output.finite = *finite->flag();
  const JsonValue* deviation = value.Find("max_abs_f32_f64");
  if (deviation != nullptr && deviation->real() != nullptr) {
    output.max_abs_f32_f64 = *deviation->real();
  } else if (deviation != nullptr && deviation->integer() != nullptr) {
    output.max_abs_f32_f64 = static_cast<double>(*deviation->integer());
  } else if (output.finite) {
    return Bad(where, "max_abs_f32_f64 is missing; the tolerance comes from it");
  }
  if (!(output.max_abs_f32_f64 >= 0)) return Bad(where, "max_abs_f32_f64 is negative");
  return output;
}

StatusOr<RefTensor> ToDouble(const formats::SafetensorsFile& file, const std::string& name) {
  const ConstTensorRef* tensor = file.Find(name);
  if (tensor == nullptr) return absl::NotFoundError(StrCat(file.path(), ": has no array \"", name, "\""));
  RefTensor out{std::vector<int64_t>(tensor->dims.begin(), tensor->dims.end()), {}};
  out.data.resize(static_cast<size_t>(tensor->size()));
  PLINTH_RETURN_IF_ERROR(formats::ConvertTo(*tensor, DType::kF64, out.data.data()));
  return out;
}

StatusOr<RefTensor> Shaped(StatusOr<RefTensor> array, const std::vector<int64_t>& dims,
                           const std::string& where) {
  if (array.ok() && array->dims != dims) {
    return Bad(where, StrCat("the array is [", Join(array->dims, ","), "], cases.json says [",
                             Join(dims, ","), "]"));
  }
  return array;
}

}  // namespace

int64_t GoldenCase::Option(std::string_view key, int64_t otherwise) const {
  const JsonValue* value = options.Find(key);
  return value == nullptr || value->integer() == nullptr ? otherwise : *value->integer();
}

bool GoldenCase::Flag(std::string_view key) const {
  const JsonValue* value = options.Find(key);
  return value != nullptr && value->flag() != nullptr && *value->flag();
}

std::string GoldenCase::Text(std::string_view key) const {
  const JsonValue* value = options.Find(key);
  return value == nullptr || value->text() == nullptr ? "" : *value->text();
}

std::vector<std::string> GoldenCase::Texts(std::string_view key) const {
  std::vector<std::string> texts;
  const JsonValue* value = options.Find(key);
  if (value == nullptr || value->array() == nullptr) return texts;
  for (const JsonValue& element : *value->array()) {
    texts.push_back(element.text() == nullptr ? "" : *element.text());
  }
  return texts;
}

StatusOr<GoldenFolder> GoldenFolder::Open(const std::string& cases_file) {
  GoldenFolder folder;
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(cases_file, kMaxCasesBytes));
  PLINTH_ASSIGN_OR_RETURN(const JsonValue root, formats::ParseJson(text, cases_file));
  const JsonValue* cases = root.Find("cases");
  if (cases == nullptr || cases->array() == nullptr) {
    return Bad(cases_file, "has no list \"cases\"; is it the cases.json of a golden folder?");
  }
  for (size_t i = 0; i < cases->array()->size(); ++i) {
    PLINTH_RETURN_IF_ERROR(folder.ReadCase((*cases->array())[i], StrCat(cases_file, ": case ", i)));
  }
  const size_t slash = cases_file.rfind('/');
  const std::string beside = slash == std::string::npos ? "." : cases_file.substr(0, slash);
  PLINTH_ASSIGN_OR_RETURN(auto arrays, formats::SafetensorsFile::Open(JoinPath(beside, "cases.safetensors")));
  folder.arrays_.push_back(std::move(arrays));
  if (const JsonValue* layers = root.Find("layers_case"); layers != nullptr && layers->text() != nullptr) {
    // The name of the case, followed by words for people.
    folder.layers_case_ = layers->text()->substr(0, layers->text()->find_first_of(" ,;"));
    PLINTH_ASSIGN_OR_RETURN(auto file,
                            formats::SafetensorsFile::Open(JoinPath(beside, "layers.safetensors")));
    folder.layers_.push_back(std::move(file));
    if (folder.Find(folder.layers_case_) == nullptr) {
      return Bad(cases_file, StrCat("layers_case \"", folder.layers_case_, "\" is not one of the cases"));
    }
  }
  return folder;
}

Status GoldenFolder::ReadCase(const JsonValue& value, const std::string& where) {
  GoldenCase c;
  const JsonValue* name = value.Find("name");
  if (name == nullptr || name->text() == nullptr || name->text()->empty()) return Bad(where, "has no name");
  c.name = *name->text();
  const std::string here = StrCat(where, " (", formats::QuotedShort(c.name), ")");
  if (Find(c.name) != nullptr) return Bad(here, "its name occurs twice");
  if (const JsonValue* options = value.Find("options")) c.options = *options;
  const JsonValue* error = value.Find("reference_error");
  if (error != nullptr && error->text() != nullptr) c.reference_error = *error->text();
  const JsonValue* inputs = value.Find("inputs");
  if (inputs == nullptr || inputs->object() == nullptr) return Bad(here, "has no inputs");
  for (const auto& [key, dims] : *inputs->object()) {
    PLINTH_ASSIGN_OR_RETURN(c.inputs[key], ReadDims(&dims, StrCat(here, ": input ", key)));
  }
  const JsonValue* outputs = value.Find("outputs");
  if (outputs != nullptr && outputs->object() != nullptr) {
    for (const auto& [key, output] : *outputs->object()) {
      PLINTH_ASSIGN_OR_RETURN(GoldenOutput read, ReadOutput(key, output, StrCat(here, ": output ", key)));
      c.outputs.push_back(std::move(read));
    }
  }
  if (c.outputs.empty() && c.reference_error.empty()) return Bad(here, "has neither outputs nor an error");
  cases_.push_back(std::move(c));
  return absl::OkStatus();
}

const GoldenCase* GoldenFolder::Find(std::string_view name) const {
  const auto at = std::find_if(cases_.begin(), cases_.end(), [&](const auto& c) { return c.name == name; });
  return at == cases_.end() ? nullptr : &*at;
}

std::vector<std::string> GoldenFolder::Layers() const {
  std::vector<std::string> names;
  if (layers_.empty()) return names;
  for (const ConstTensorRef& tensor : layers_[0].tensors()) names.emplace_back(tensor.name);
  return names;
}

StatusOr<RefTensor> GoldenFolder::Input(const GoldenCase& c, const std::string& name) const {
  const std::string path = StrCat(c.name, "/in/", name);
  return Shaped(ToDouble(arrays_[0], path), c.inputs.at(name), path);
}

bool GoldenFolder::HasIntegers(const GoldenCase& c, const std::string& name) const {
  const ConstTensorRef* tensor = arrays_[0].Find(StrCat(c.name, "/in/", name));
  return tensor != nullptr && (tensor->dtype == DType::kI64 || tensor->dtype == DType::kI32);
}

StatusOr<RefTensor> GoldenFolder::Output(const GoldenCase& c, const std::string& name) const {
  const std::string path = StrCat(c.name, "/out/", name, ".f64");
  for (const GoldenOutput& output : c.outputs) {
    if (output.name == name) return Shaped(ToDouble(arrays_[0], path), output.dims, path);
  }
  return absl::NotFoundError(StrCat("case ", c.name, " lists no output \"", name, "\""));
}

StatusOr<RefTensor> GoldenFolder::Layer(const std::string& name) const {
  return ToDouble(layers_.at(0), name);
}

std::vector<std::string> GoldenFolder::Unlisted(const GoldenCase& c) const {
  std::vector<std::string> names;
  const std::string prefix = StrCat(c.name, "/out/");
  for (const ConstTensorRef& tensor : arrays_[0].tensors()) {
    const std::string name(tensor.name);
    if (name.rfind(prefix, 0) != 0) continue;
    const std::string output = name.substr(prefix.size(), name.rfind('.') - prefix.size());
    const bool listed = std::any_of(c.outputs.begin(), c.outputs.end(),
                                    [&](const GoldenOutput& o) { return o.name == output; });
    if (!listed && std::count(names.begin(), names.end(), output) == 0) names.push_back(output);
  }
  return names;
}

}  // namespace plinth::verify
