#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <utility>

#include "plinth/base/digest.h"
#include "plinth/base/files.h"
#include "plinth/formats/capture.h"

namespace plinth::formats {
namespace {

constexpr std::string_view kJsonName = "capture.json";
constexpr int64_t kMaxEnvironmentBytes = 16 << 20;
constexpr size_t kMostCaptures = 4096;  // in one folder

// "tensors-00002-of-00003.safetensors" -> {2, 3}; nullopt for any other name.
std::optional<std::pair<int64_t, int64_t>> ShardNumbers(std::string_view name) {
  constexpr std::string_view kBegin = "tensors-", kMiddle = "-of-", kEnd = ".safetensors";
  constexpr size_t kDigits = 5;
  if (name.size() != kBegin.size() + kMiddle.size() + kEnd.size() + 2 * kDigits) return std::nullopt;
  const std::string_view first = name.substr(kBegin.size(), kDigits);
  const std::string_view second = name.substr(kBegin.size() + kDigits + kMiddle.size(), kDigits);
  if (name != StrCat(kBegin, first, kMiddle, second, kEnd)) return std::nullopt;
  std::pair<int64_t, int64_t> numbers;
  for (const auto& [text, into] : {std::pair(first, &numbers.first), std::pair(second, &numbers.second)}) {
    const auto parsed = std::from_chars(text.data(), text.data() + kDigits, *into);
    if (parsed.ec != std::errc() || parsed.ptr != text.data() + kDigits || *into < 1) return std::nullopt;
  }
  return numbers;
}

bool IsLink(const std::string& path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode);
}

// Names of the tensor files, in order. Error: InvalidArgument for files that do not belong together.
StatusOr<std::vector<std::string>> ShardNames(const std::string& folder) {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  std::vector<std::string> shards;
  int64_t count = 0;
  for (const std::string& name : names) {
    if (!name.ends_with(".safetensors")) continue;
    const auto numbers = ShardNumbers(name);
    if (!numbers.has_value() || numbers->first > numbers->second) {
      return absl::InvalidArgumentError(StrCat(JoinPath(folder, name),
                                               ": is no tensor file of a capture; they are named "
                                               "tensors-NNNNN-of-MMMMM.safetensors, counted from 00001"));
    }
    if (count != 0 && numbers->second != count) {
      return absl::InvalidArgumentError(
          StrCat(folder, ": holds both ", shards.back(), " and ", name, "; files of two captures are mixed"));
    }
    if (IsLink(JoinPath(folder, name))) {
      return absl::InvalidArgumentError(StrCat(
          JoinPath(folder, name), ": is a symbolic link; the tensor files of a capture lie in its folder"));
    }
    count = numbers->second;
    shards.push_back(name);
  }
  // Names sort by number, so that a gap shows as a wrong number.
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    if (i < shards.size() && ShardNumbers(shards[i])->first == static_cast<int64_t>(i) + 1) continue;
    return absl::InvalidArgumentError(StrCat(folder, ": tensor file ", i + 1, " of ", count, " is missing"));
  }
  return shards;
}

}  // namespace

bool SameOrder(std::span<const int64_t> a, std::span<const int64_t> b) {
  // Products of the first dimensions, ones left out; empty tensors need no order.
  const auto products = [](std::span<const int64_t> dims) {
    std::vector<int64_t> list;
    int64_t product = 1;
    for (const int64_t d : dims) {
      product *= d;
      if (d != 1) list.push_back(product);
    }
    return list;
  };
  const std::vector<int64_t> x = products(a), y = products(b);
  const int64_t size_x = x.empty() ? 1 : x.back(), size_y = y.empty() ? 1 : y.back();
  if (size_x != size_y) return false;
  if (size_x == 0) return true;
  return std::includes(x.begin(), x.end(), y.begin(), y.end()) ||
         std::includes(y.begin(), y.end(), x.begin(), x.end());
}

bool IsCapture(const std::string& folder) { return FileExists(JoinPath(folder, kJsonName)); }

StatusOr<Capture> Capture::Open(const std::string& folder) {
  Capture capture;
  capture.folder_ = folder;
  if (BaseName(folder) == kJsonName && !IsFolder(folder)) {
    const size_t slash = folder.rfind('/');
    capture.folder_ = slash == folder.npos ? "." : folder.substr(0, std::max<size_t>(slash, 1));
  }
  const std::string path = JoinPath(capture.folder_, kJsonName);
  if (!FileExists(path)) {
    return absl::NotFoundError(StrCat(
        capture.folder_, IsFolder(capture.folder_) ? ": holds no capture.json; a capture is expected"
                                                   : ": there is no such folder; a capture is expected"));
  }
  {
    PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxCaptureJson));
    PLINTH_ASSIGN_OR_RETURN(CaptureText parsed, ParseCaptureJson(text, path));
    capture.info_ = std::move(parsed.info);
    capture.entries_ = std::move(parsed.entries);
  }
  if (const std::string environment = JoinPath(capture.folder_, "environment.json");
      FileExists(environment)) {
    PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(environment, kMaxEnvironmentBytes));
    PLINTH_ASSIGN_OR_RETURN(capture.environment_, ParseJson(text, environment));
  }
  PLINTH_RETURN_IF_ERROR(capture.OpenShards());
  PLINTH_RETURN_IF_ERROR(capture.BindTensors());
  for (size_t i = 0; i < capture.entries_.size(); ++i) {
    capture.by_key_.emplace_back(capture.entries_[i].Key(), static_cast<int32_t>(i));
  }
  std::sort(capture.by_key_.begin(), capture.by_key_.end());
  return capture;
}

Status Capture::OpenShards() {
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ShardNames(folder_));
  for (const std::string& name : names) {
    PLINTH_ASSIGN_OR_RETURN(auto file, SafetensorsFile::Open(JoinPath(folder_, name), {.stand_ins = true}));
    shards_.push_back(std::move(file));
  }
  return absl::OkStatus();
}

Status Capture::BindTensors() {
  std::vector<std::pair<std::string_view, Place>> all;
  for (size_t s = 0; s < shards_.size(); ++s) {
    for (size_t t = 0; t < shards_[s].tensors().size(); ++t) {
      all.push_back({shards_[s].tensors()[t].name, {static_cast<int32_t>(s), static_cast<int32_t>(t)}});
    }
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < all.size(); ++i) {
    if (all[i].first != all[i - 1].first) continue;
    return absl::InvalidArgumentError(
        StrCat(folder_, ": tensor ", QuotedShort(all[i].first), " is in two tensor files"));
  }
  std::vector<uint8_t> named(all.size());
  for (const CaptureEntry& entry : entries_) {
    places_.emplace_back();
    if (entry.tensor.empty()) continue;
    const auto at = std::lower_bound(all.begin(), all.end(), entry.tensor,
                                     [](const auto& a, const std::string& key) { return a.first < key; });
    if (at == all.end() || at->first != entry.tensor) {
      return absl::InvalidArgumentError(StrCat(
          folder_, ": entry ", entry.index, " (", QuotedShort(entry.Key()), ") names the tensor ",
          QuotedShort(entry.tensor), ", which ",
          shards_.empty() ? "is in no file: there are no tensor files" : "none of the tensor files holds"));
    }
    named[static_cast<size_t>(at - all.begin())] = 1;
    places_.back() = at->second;
    const SafetensorsFile& file = shards_[static_cast<size_t>(at->second.shard)];
    PLINTH_RETURN_IF_ERROR(CheckTensor(entry, file.tensors()[static_cast<size_t>(at->second.tensor)], file));
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (named[i]) continue;
    return absl::InvalidArgumentError(
        StrCat(shards_[static_cast<size_t>(all[i].second.shard)].path(), ": holds the tensor ",
               QuotedShort(all[i].first),
               ", which no entry of capture.json names; files of two captures may "
               "be mixed"));
  }
  return absl::OkStatus();
}

Status Capture::CheckTensor(const CaptureEntry& entry, const ConstTensorRef& tensor,
                            const SafetensorsFile& file) const {
  std::string type(tensor.stored.empty() ? DTypeName(tensor.dtype) : tensor.stored);
  std::transform(type.begin(), type.end(), type.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (type == entry.dtype &&
      std::equal(tensor.dims.begin(), tensor.dims.end(), entry.dims.begin(), entry.dims.end())) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(StrCat(file.path(), ": tensor ", QuotedShort(tensor.name), " is ", type,
                                           "[", Join(tensor.dims, ", "), "]; entry ", entry.index,
                                           " of capture.json (", QuotedShort(entry.Key()), ") says ",
                                           entry.dtype, "[", Join(entry.dims, ", "), "]"));
}

const CaptureEntry* Capture::Find(std::string_view key) const {
  const auto at = std::lower_bound(by_key_.begin(), by_key_.end(), key,
                                   [](const auto& a, std::string_view wanted) { return a.first < wanted; });
  if (at == by_key_.end() || at->first != key) return nullptr;
  return &entries_[static_cast<size_t>(at->second)];
}

const ConstTensorRef* Capture::Tensor(const CaptureEntry& entry) const {
  const Place& place = places_[static_cast<size_t>(&entry - entries_.data())];
  if (place.shard < 0) return nullptr;
  return &shards_[static_cast<size_t>(place.shard)].tensors()[static_cast<size_t>(place.tensor)];
}

void Capture::ReleasePages(const CaptureEntry& entry) const {
  const Place& place = places_[static_cast<size_t>(&entry - entries_.data())];
  if (place.shard >= 0) shards_[static_cast<size_t>(place.shard)].ReleasePages(*Tensor(entry));
}

Status Capture::VerifyDigests() const {
  for (const CaptureEntry& entry : entries_) PLINTH_RETURN_IF_ERROR(VerifyDigest(entry));
  return absl::OkStatus();
}

Status Capture::VerifyDigest(const CaptureEntry& entry) const {
  const ConstTensorRef* tensor = Tensor(entry);
  if (tensor == nullptr || entry.digest.empty()) return absl::OkStatus();
  Sha256 sha;
  sha.Update(std::span(tensor->data, static_cast<size_t>(tensor->bytes)));
  ReleasePages(entry);
  PLINTH_ASSIGN_OR_RETURN(const std::string digest, sha.Hex());
  if (digest == entry.digest) return absl::OkStatus();
  return absl::DataLossError(StrCat(folder_, ": the tensor of entry ", entry.index, " (",
                                    QuotedShort(entry.Key()), ") has the sha256 ", digest.substr(0, 16),
                                    "..., and capture.json says ", entry.digest.substr(0, 16),
                                    "...; the file was changed after it was written"));
}

StatusOr<std::vector<Capture>> OpenCaptures(const std::string& folder) {
  std::vector<Capture> captures;
  if (IsCapture(folder) || !IsFolder(folder)) {
    PLINTH_ASSIGN_OR_RETURN(Capture capture, Capture::Open(folder));
    captures.push_back(std::move(capture));
    return captures;
  }
  PLINTH_ASSIGN_OR_RETURN(const std::vector<std::string> names, ListFolder(folder));
  for (const std::string& name : names) {
    const std::string path = JoinPath(folder, name);
    if (name.starts_with(".") || !IsCapture(path)) continue;
    if (captures.size() == kMostCaptures) {
      return absl::InvalidArgumentError(
          StrCat(folder, ": holds more than ", kMostCaptures, " captures; at most that many are compared"));
    }
    PLINTH_ASSIGN_OR_RETURN(Capture capture, Capture::Open(path));
    captures.push_back(std::move(capture));
  }
  if (captures.empty()) {
    return absl::NotFoundError(
        StrCat(folder, ": holds no capture.json, nor do the folders in it; a capture is expected"));
  }
  return captures;
}

}  // namespace plinth::formats
