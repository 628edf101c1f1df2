#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "plinth/base/check.h"
#include "plinth/base/digest.h"
#include "plinth/base/faults.h"
#include "plinth/base/files.h"
#include "plinth/base/interrupt.h"
#include "plinth/base/temporary_folder.h"
#include "plinth/base/utf8.h"
#include "plinth/formats/capture.h"
#include "plinth/formats/json_writer.h"

namespace plinth::formats {
namespace {

constexpr size_t kHeldBytes = 8 << 20;             // of a small shard, written when it is complete
constexpr size_t kHeaderBytes = 1 << 20;           // kept free at the beginning of a large one
constexpr int64_t kShardBytes = int64_t{4} << 30;  // then the next one begins

// Copies the elements of a view with gaps, in order.
std::byte* GatherBytes(const View& view, int dim, const std::byte* from, std::byte* to) {
  const int64_t size = SizeOf(view.dtype);
  if (dim == view.rank) {
    std::memcpy(to, from, static_cast<size_t>(size));
    return to + size;
  }
  for (int64_t i = 0; i < view.dims[dim]; ++i) {
    to = GatherBytes(view, dim + 1, from + i * view.strides[dim] * size, to);
  }
  return to;
}

std::string ShardName(size_t number, size_t count) {
  std::array<char, 64> name;
  std::snprintf(name.data(), name.size(), "tensors-%05zu-of-%05zu.safetensors", number, count);
  return name.data();
}

// A tensor file that is written before its header is known: a small one is held in memory until then, a large
// one keeps room at its beginning, which the header fills with spaces behind it.
class Shard {
 public:
  // `path` is where it lies until its number is known.
  explicit Shard(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  // Whether another tensor still has room.
  bool Fits(std::string_view name) const {
    return bytes_ < kShardBytes && header_.size() + 2 * name.size() + 2048 < kHeaderBytes;
  }

  void Begin(const CaptureEntry& entry, int64_t bytes) {
    JsonWriter json(&header_);
    header_ += header_.empty() ? '{' : ',';
    std::string key;
    JsonWriter(&key).String(entry.tensor);
    header_ += key + ':';
    std::string type(DTypeName(*entry.ReadAs()));
    std::transform(type.begin(), type.end(), type.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    json.BeginObject();
    json.Key("dtype");
    json.String(type);
    json.Key("shape");
    json.BeginArray();
    for (const int64_t d : entry.dims) json.Int(d);
    json.EndArray();
    json.Key("data_offsets");
    json.BeginArray();
    json.Int(bytes_);
    json.Int(bytes_ + bytes);
    json.EndArray();
    json.EndObject();
  }
  Status Write(std::span<const std::byte> bytes) {
    bytes_ += static_cast<int64_t>(bytes.size());
    if (handle_.get() < 0 && held_.size() + bytes.size() > kHeldBytes) {
      PLINTH_RETURN_IF_ERROR(Open());
      PLINTH_RETURN_IF_ERROR(WriteAll(std::string(8 + kHeaderBytes, ' ')));
      PLINTH_RETURN_IF_ERROR(WriteAll(held_));
      held_ = {};
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (handle_.get() >= 0) return WriteAll(text);
    held_ += text;
    return absl::OkStatus();
  }
  Status Finish() {
    header_ += '}';
    const bool streamed = handle_.get() >= 0;
    header_.append(streamed ? kHeaderBytes - header_.size() : (8 - header_.size() % 8) % 8, ' ');
    const uint64_t length = header_.size();
    std::string begin(reinterpret_cast<const char*>(&length), sizeof(length));
    begin += header_;
    if (!streamed) PLINTH_RETURN_IF_ERROR(Open());
    if (streamed && lseek(handle_.get(), 0, SEEK_SET) != 0) return FileError(path_, "written", errno);
    PLINTH_RETURN_IF_ERROR(WriteAll(begin));
    if (!streamed) PLINTH_RETURN_IF_ERROR(WriteAll(held_));
    held_ = {};
    if (FaultDue(Syscall::kFsync) || fsync(handle_.get()) != 0) {
      if (errno != EINVAL && errno != ENOTSUP) return FileError(path_, "flushed to the disk", errno);
    }
    if (handle_.Close() != 0) return FileError(path_, "written", errno);
    return absl::OkStatus();
  }

 private:
  Status Open() {
    handle_ = Handle(
        FaultDue(Syscall::kOpen) ? -1 : open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
    return handle_.get() < 0 ? FileError(path_, "written", errno) : absl::OkStatus();
  }
  Status WriteAll(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = FaultDue(Syscall::kWrite) ? -1 : write(handle_.get(), text.data(), text.size());
      if (n < 0 && errno == EINTR && !Interrupted()) continue;
      if (n < 0) return FileError(path_, "written", errno);
      text.remove_prefix(static_cast<size_t>(n));
    }
    return absl::OkStatus();
  }

  std::string path_, header_, held_;
  Handle handle_;
  int64_t bytes_ = 0;
};

void WriteStats(const TensorStats& s, JsonWriter& json) {
  json.BeginObject();
  for (const auto& [key, value] :
       {std::pair("count", s.count), std::pair("finite", s.finite), std::pair("nan", s.nan),
        std::pair("pos_inf", s.pos_inf), std::pair("neg_inf", s.neg_inf), std::pair("zero", s.zero),
        std::pair("subnormal", s.subnormal)}) {
    json.Key(key);
    json.Int(value);
  }
  for (const auto& [key, value] :
       {std::pair("min", s.min), std::pair("max", s.max), std::pair("mean", s.mean), std::pair("std", s.std),
        std::pair("l2", s.l2)}) {
    json.Key(key);
    if (s.finite == 0) {
      json.Null();
    } else {
      json.Number(value);
    }
  }
  json.EndObject();
}

void TextOrNull(std::string_view key, std::string_view text, JsonWriter& json) {
  json.Key(key);
  if (text.empty()) {
    json.Null();
  } else {
    json.String(text);
  }
}

void WriteEntry(const CaptureEntry& entry, JsonWriter& json) {
  json.BeginObject();
  json.Key("index");
  json.Int(entry.index);
  json.Key("name");
  json.String(entry.name);
  json.Key("op");
  json.String(entry.op);
  json.Key("direction");
  json.String(entry.direction == CaptureDirection::kInput ? "input" : "output");
  json.Key("port");
  json.Int(entry.port);
  json.Key("step");
  json.Int(entry.step);
  json.Key("shape");
  json.BeginArray();
  for (const int64_t d : entry.dims) json.Int(d);
  json.EndArray();
  json.Key("dtype");
  json.String(entry.dtype);
  json.Key("stats");
  if (entry.stats.has_value()) {
    WriteStats(*entry.stats, json);
  } else {
    json.Null();
  }
  TextOrNull("tensor", entry.tensor, json);
  TextOrNull("digest", entry.digest, json);
  if (!entry.attributes.is_null()) {
    json.Key("attributes");
    WriteJson(entry.attributes, json);
  }
  if (!entry.layout.empty()) TextOrNull("layout", entry.layout, json);
  json.EndObject();
}

// Everything before the entries.
void WriteInfo(const CaptureInfo& info, JsonWriter& json) {
  json.Key("schema");
  json.String("plinth.capture/1");
  json.Key("producer");
  WriteJson(info.producer, json);
  json.Key("run");
  json.BeginObject();
  json.Key("id");
  json.String(info.run_id);
  json.Key("repeat");
  json.Int(info.repeat);
  json.Key("seed");
  json.Int(info.seed);
  json.Key("mode");
  json.String(info.forced ? "forced" : "free");
  json.EndObject();
  json.Key("rank");
  json.Int(info.rank);
  json.Key("world");
  json.Int(info.world);
  json.Key("model");
  json.BeginObject();
  json.Key("name");
  json.String(info.model_name);
  TextOrNull("digest", info.model_digest, json);
  json.EndObject();
  json.Key("inputs");
  json.BeginObject();
  TextOrNull("digest", info.inputs_digest, json);
  json.EndObject();
  if (!info.precision.is_null()) {
    json.Key("precision");
    WriteJson(info.precision, json);
  }
}

}  // namespace

struct CaptureWriter::State {
  std::string folder;
  TemporaryFolder temporary;
  CaptureInfo info;
  std::string environment;
  std::vector<CaptureEntry> entries;
  std::unordered_set<std::string> keys;
  std::unordered_map<std::string, size_t> tensors;    // key in the tensor files -> entry that wrote it
  std::unordered_map<std::string, std::string> same;  // type, shape and digest -> key in the tensor files
  std::vector<Shard> shards;
  std::vector<std::byte> dense;  // of a view with gaps
  Status status;

  State(std::string name, TemporaryFolder temp) : folder(std::move(name)), temporary(std::move(temp)) {}
  Status Check(const CaptureEntry& entry) const;
  Status Put(CaptureEntry& entry, const View& view, bool full);
  void Share(CaptureEntry& entry) const;
  Status WriteJsonFile() const;
  Status FinishFiles();
};

StatusOr<CaptureWriter> CaptureWriter::Create(const std::string& folder, CaptureInfo info) {
  PLINTH_ASSIGN_OR_RETURN(TemporaryFolder temporary, TemporaryFolder::MakeFor(folder));
  auto state = std::make_unique<State>(folder, std::move(temporary));
  state->info = std::move(info);
  return CaptureWriter(std::move(state));
}

CaptureWriter::CaptureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureWriter::CaptureWriter(CaptureWriter&&) noexcept = default;
CaptureWriter& CaptureWriter::operator=(CaptureWriter&&) noexcept = default;
CaptureWriter::~CaptureWriter() = default;

const CaptureEntry& CaptureWriter::last() const {
  PLINTH_CHECK(!state_->entries.empty());
  return state_->entries.back();
}

void CaptureWriter::SetEnvironment(std::string json) { state_->environment = std::move(json); }

Status CaptureWriter::State::Check(const CaptureEntry& entry) const {
  for (const std::string* text : {&entry.name, &entry.op}) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
    if (text->empty() || static_cast<int64_t>(text->size()) > kMaxCaptureName || !IsUtf8(*text) ||
        std::any_of(text->begin(), text->end(), control)) {
      return absl::InvalidArgumentError(StrCat(folder, ": an entry cannot be named ", QuotedShort(*text),
                                               "; 1 to ", kMaxCaptureName,
                                               " bytes of UTF-8 text are expected"));
    }
  }
  return absl::OkStatus();
}

void CaptureWriter::State::Share(CaptureEntry& entry) const {
  const auto at = tensors.find(entry.tensor);
  PLINTH_CHECK(at != tensors.end());
  const CaptureEntry& first = entries[at->second];
  entry.dtype = first.dtype;
  entry.dims = first.dims;
  entry.stats = first.stats;
  entry.digest = first.digest;
}

Status CaptureWriter::State::Put(CaptureEntry& entry, const View& view, bool full) {
  entry.dtype = DTypeName(view.dtype);
  entry.dims.assign(view.dims, view.dims + view.rank);
  entry.stats = StatsOf(view);
  const size_t bytes = static_cast<size_t>(view.size() * SizeOf(view.dtype));
  std::span<const std::byte> data(static_cast<const std::byte*>(view.data), bytes);
  if (!view.dense()) {
    dense.resize(bytes);
    GatherBytes(view, 0, static_cast<const std::byte*>(view.data), dense.data());
    data = dense;
  }
  Sha256 sha;
  sha.Update(data);
  PLINTH_ASSIGN_OR_RETURN(entry.digest, sha.Hex());
  if (!full) return absl::OkStatus();
  const auto [at, fresh] =
      same.emplace(StrCat(entry.dtype, "[", Join(entry.dims, ","), "]", entry.digest), StrCat(entry.index));
  entry.tensor = at->second;
  if (!fresh) return absl::OkStatus();
  tensors.emplace(entry.tensor, entries.size());
  if (shards.empty() || !shards.back().Fits(entry.tensor)) {
    if (!shards.empty()) PLINTH_RETURN_IF_ERROR(shards.back().Finish());
    shards.emplace_back(JoinPath(temporary.path(), StrCat("tensors-", shards.size() + 1, ".part")));
  }
  shards.back().Begin(entry, static_cast<int64_t>(bytes));
  return shards.back().Write(data);
}

Status CaptureWriter::Add(CaptureEntry entry, const View& view, bool full) {
  State& s = *state_;
  PLINTH_RETURN_IF_ERROR(s.status);
  PLINTH_RETURN_IF_ERROR(s.Check(entry));
  std::string key = entry.Key();
  if (s.keys.contains(key)) {
    return absl::InvalidArgumentError(StrCat(s.folder, ": the entry ", QuotedShort(key), " is given twice"));
  }
  entry.index = static_cast<int64_t>(s.entries.size());
  if (!entry.tensor.empty()) {
    s.Share(entry);
  } else if (view.data != nullptr || view.size() == 0) {
    s.status = s.temporary.Named(s.Put(entry, view, full));
  }
  PLINTH_RETURN_IF_ERROR(s.status);
  s.keys.insert(std::move(key));
  s.entries.push_back(std::move(entry));
  return absl::OkStatus();
}

Status CaptureWriter::State::WriteJsonFile() const {
  PLINTH_ASSIGN_OR_RETURN(AtomicWriter file,
                          AtomicWriter::Create(JoinPath(temporary.path(), "capture.json")));
  std::string text;
  int64_t bytes = 0;
  JsonWriter json(&text);
  json.BeginObject();
  WriteInfo(info, json);
  json.Key("entries");
  json.BeginArray();
  for (const CaptureEntry& entry : entries) {
    WriteEntry(entry, json);
    PLINTH_RETURN_IF_ERROR(file.Write(text));
    bytes += static_cast<int64_t>(text.size());
    text.clear();
    if (bytes < kMaxCaptureJson) continue;
    return absl::InvalidArgumentError(StrCat(folder, ": ", entries.size(),
                                             " entries make a capture.json of more "
                                             "than ",
                                             kMaxCaptureJson,
                                             " bytes, which no reader takes; fewer names "
                                             "or steps are needed"));
  }
  json.EndArray();
  json.EndObject();
  text += '\n';
  PLINTH_RETURN_IF_ERROR(file.Write(text));
  return file.Commit();
}

Status CaptureWriter::State::FinishFiles() {
  if (!shards.empty()) PLINTH_RETURN_IF_ERROR(shards.back().Finish());
  if (static_cast<int64_t>(shards.size()) > kMaxCaptureShards) {
    return absl::InvalidArgumentError(StrCat(folder, ": has ", shards.size(), " tensor files; at most ",
                                             kMaxCaptureShards, " are possible"));
  }
  for (size_t i = 0; i < shards.size(); ++i) {
    const std::string to = JoinPath(temporary.path(), ShardName(i + 1, shards.size()));
    if (FaultDue(Syscall::kRename) || rename(shards[i].path().c_str(), to.c_str()) != 0) {
      return FileError(to, "written", errno);
    }
  }
  if (!environment.empty()) {
    PLINTH_RETURN_IF_ERROR(WriteFile(JoinPath(temporary.path(), "environment.json"), environment));
  }
  return WriteJsonFile();
}

Status CaptureWriter::Finish() {
  State& s = *state_;
  PLINTH_RETURN_IF_ERROR(s.status);
  PLINTH_CHECK(!s.temporary.path().empty());
  s.status = s.temporary.Named(s.FinishFiles());
  PLINTH_RETURN_IF_ERROR(s.status);
  s.status = s.temporary.Move();
  return s.status;
}

}  // namespace plinth::formats
