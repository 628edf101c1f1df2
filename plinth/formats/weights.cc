#include "plinth/formats/weights.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "plinth/base/check.h"
#include "plinth/formats/json.h"

namespace plinth::formats {
namespace {

constexpr std::string_view kSingle = "model.safetensors";
constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr int64_t kMaxIndexBytes = 64 << 20;
constexpr size_t kShown = 5;  // names listed before only a count is given

bool ByName(const ConstTensorRef& a, const ConstTensorRef& b) { return a.name < b.name; }

// Tensor name -> shard's file name, from the index.
using WeightMap = std::map<std::string, std::string>;

StatusOr<WeightMap> ReadIndex(const std::string& path) {
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadModelFile(path, kMaxIndexBytes));
  PLINTH_ASSIGN_OR_RETURN(const JsonValue root, ParseJson(text, path));
  const JsonValue* map = root.Find("weight_map");
  if (map == nullptr || map->object() == nullptr) {
    return absl::InvalidArgumentError(StrCat(path, ": an object \"weight_map\" is expected"));
  }
  WeightMap result;
  for (const auto& [name, value] : *map->object()) {
    const std::string* shard = value.text();
    // Only plain names: an index must not lead out of its folder.
    if (shard == nullptr || shard->empty() || shard->find('/') != shard->npos || shard->front() == '.' ||
        shard->find('\0') != shard->npos) {
      return absl::InvalidArgumentError(StrCat(path, ": \"weight_map\" gives ", ShortText(value), " for \"",
                                               name,
                                               "\"; the plain name of a file in this folder is expected"));
    }
    result.emplace(name, *shard);
  }
  if (result.empty()) return absl::InvalidArgumentError(StrCat(path, ": \"weight_map\" is empty"));
  return result;
}

// Every tensor lies in the shard that the index names, and no other tensor lies in any shard.
Status CheckIndex(const std::string& path, const WeightMap& map, const std::vector<SafetensorsFile>& shards) {
  std::map<std::string, const SafetensorsFile*> files;
  for (const auto& shard : shards) files[PlainName(shard.path())] = &shard;
  for (const auto& [name, shard] : map) {
    if (files.at(shard)->Find(name) == nullptr) {
      return absl::InvalidArgumentError(
          StrCat(path, ": says that tensor \"", name, "\" is in ", shard, ", which does not hold it"));
    }
  }
  for (const auto& [file, shard] : files) {
    for (const auto& t : shard->tensors()) {
      const auto at = map.find(std::string(t.name));
      if (at == map.end()) {
        return absl::InvalidArgumentError(
            StrCat(path, ": lacks tensor \"", t.name, "\", which is in ", file));
      }
      if (at->second != file) {
        return absl::InvalidArgumentError(
            StrCat(path, ": tensor \"", t.name, "\" is in two files, ", at->second, " and ", file));
      }
    }
  }
  return absl::OkStatus();
}

// "3 tensors are missing: "a" f32[2], "b" f32[3], ..."
void Describe(std::string_view what, const std::vector<std::string>& items, std::string* out) {
  if (items.empty()) return;
  StrAppend(out, out->empty() ? "" : "; ", items.size(), items.size() == 1 ? " tensor " : " tensors ",
            items.size() == 1 ? "is " : "are ", what, ": ");
  const std::vector<std::string> shown(items.begin(),
                                       items.begin() + static_cast<int64_t>(std::min(items.size(), kShown)));
  StrAppend(out, Join(shown, ", "));
  if (items.size() > kShown) StrAppend(out, " and ", items.size() - kShown, " more");
}

bool Allowed(const ExpectedTensor& wanted, DType found) {
  if (wanted.dtypes.empty()) return IsFloat(found);
  return std::find(wanted.dtypes.begin(), wanted.dtypes.end(), found) != wanted.dtypes.end();
}

std::string WantedText(const ExpectedTensor& wanted) {
  return StrCat(wanted.dtypes.empty() ? "f64|f32|f16|bf16" : Join(wanted.dtypes, "|", DTypeName), "[",
                Join(wanted.dims, ", "), "]");
}

}  // namespace

Status WeightFiles::AddFile(const std::string& path, const SafetensorsOptions& options) {
  PLINTH_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::Open(path, options));
  files_.push_back(path);
  shards_.push_back(std::move(file));
  return absl::OkStatus();
}

void WeightFiles::Gather() {
  for (const auto& shard : shards_) {
    tensors_.insert(tensors_.end(), shard.tensors().begin(), shard.tensors().end());
  }
  std::sort(tensors_.begin(), tensors_.end(), ByName);
  std::sort(files_.begin(), files_.end());
}

const ConstTensorRef* WeightFiles::Find(std::string_view name) const {
  const auto at = std::lower_bound(tensors_.begin(), tensors_.end(), ConstTensorRef{name}, ByName);
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

int64_t WeightFiles::total_bytes() const {
  int64_t sum = 0;
  for (const auto& t : tensors_) sum += t.bytes;
  return sum;
}

const SafetensorsFile& WeightFiles::Holder(const ConstTensorRef& tensor) const {
  for (const auto& shard : shards_) {
    const ConstTensorRef* found = shard.Find(tensor.name);
    if (found != nullptr && found->data == tensor.data) return shard;
  }
  PLINTH_CHECK(!"a tensor of this source");
  return shards_.front();
}

const std::string& WeightFiles::FileOf(const ConstTensorRef& tensor) const { return Holder(tensor).path(); }

void WeightFiles::ReleasePages(const ConstTensorRef& tensor) const { Holder(tensor).ReleasePages(tensor); }

void WeightFiles::ReleasePages() const {
  for (const auto& shard : shards_) {
    for (const auto& t : shard.tensors()) shard.ReleasePages(t);
  }
}

StatusOr<WeightFiles> OpenWeightsFile(const std::string& path, const SafetensorsOptions& options) {
  WeightFiles source;
  source.where_ = path;
  PLINTH_RETURN_IF_ERROR(source.AddFile(path, options));
  source.Gather();
  return source;
}

StatusOr<WeightFiles> OpenWeights(const std::string& folder, const SafetensorsOptions& options) {
  PLINTH_ASSIGN_OR_RETURN(const std::string single, FindModelFile(folder, kSingle));
  if (!single.empty()) return OpenWeightsFile(single, options);
  PLINTH_ASSIGN_OR_RETURN(const std::string index, FindModelFile(folder, kIndex));
  if (index.empty()) {
    if (!IsFolder(folder)) {
      return absl::NotFoundError(StrCat(folder, ": no such folder; a model folder is expected"));
    }
    return absl::NotFoundError(
        StrCat(folder, ": holds no weights; ", kSingle, " or ", kIndex, " is expected"));
  }
  PLINTH_ASSIGN_OR_RETURN(const WeightMap map, ReadIndex(index));
  std::set<std::string> names;
  for (const auto& [tensor, shard] : map) names.insert(shard);
  std::vector<std::string> missing, paths;
  for (const auto& name : names) {
    PLINTH_ASSIGN_OR_RETURN(const std::string path, FindModelFile(folder, name));
    if (path.empty()) missing.push_back(name);
    paths.push_back(path);
  }
  if (!missing.empty()) {
    const size_t more = missing.size() - std::min(missing.size(), kShown);
    missing.resize(missing.size() - more);
    return absl::NotFoundError(StrCat(index, ": names files that are not there: ", Join(missing, ", "),
                                      more > 0 ? StrCat(" and ", more, " more") : std::string()));
  }
  WeightFiles source;
  source.where_ = folder;
  for (const auto& path : paths) PLINTH_RETURN_IF_ERROR(source.AddFile(path, options));
  PLINTH_RETURN_IF_ERROR(CheckIndex(index, map, source.shards_));
  source.files_.push_back(index);
  source.Gather();
  return source;
}

Status CheckTensors(const std::vector<ExpectedTensor>& expected, const WeightFiles& weights,
                    const std::vector<std::string>& ignored) {
  std::vector<std::string> missing, extra, wrong;
  std::set<std::string_view> names(ignored.begin(), ignored.end());
  for (const auto& wanted : expected) {
    names.insert(wanted.name);
    const ConstTensorRef* found = weights.Find(wanted.name);
    if (found == nullptr) {
      if (!wanted.optional) missing.push_back(StrCat("\"", wanted.name, "\" ", WantedText(wanted)));
    } else if (!std::equal(wanted.dims.begin(), wanted.dims.end(), found->dims.begin(), found->dims.end()) ||
               !Allowed(wanted, found->dtype)) {
      wrong.push_back(StrCat("\"", wanted.name, "\" is ", ToString(found->dtype, found->dims), ", expected ",
                             WantedText(wanted)));
    }
  }
  for (const auto& t : weights.tensors()) {
    if (!names.contains(t.name)) extra.push_back(StrCat("\"", t.name, "\" ", ToString(t.dtype, t.dims)));
  }
  std::string text;
  Describe("missing", missing, &text);
  Describe("not expected", extra, &text);
  Describe("not as expected", wrong, &text);
  if (text.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat(weights.where(), ": ", text));
}

}  // namespace plinth::formats
