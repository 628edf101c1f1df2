#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "plinth/formats/json.h"
#include "plinth/formats/safetensors.h"

namespace plinth::formats {
namespace {

using Json = nlohmann::json;

// Element types that the format knows and we do not read.
constexpr std::array<std::string_view, 11> kUnread = {"U16",     "U32",     "U64",         "F8_E4M3",
                                                      "F8_E5M2", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ",
                                                      "F4",      "F6_E2M3", "C64"};
// Those of whole bytes, with the integer of the same size.
constexpr std::array<std::pair<std::string_view, DType>, 8> kStandIns = {{{"U16", DType::kI16},
                                                                          {"U32", DType::kI32},
                                                                          {"U64", DType::kI64},
                                                                          {"F8_E4M3", DType::kU8},
                                                                          {"F8_E5M2", DType::kU8},
                                                                          {"F8_E8M0", DType::kU8},
                                                                          {"F8_E4M3FNUZ", DType::kU8},
                                                                          {"F8_E5M2FNUZ", DType::kU8}}};
constexpr size_t kMostDims = 64;  // far above any real rank; bounds what a hostile header allocates
constexpr std::string_view kRead = "F64 F32 F16 BF16 I64 I32 I16 I8 U8 BOOL";

// Takes the header's JSON as a stream of events, so that repeated names show and nesting cannot grow.
// Levels: 0 outside, 1 the header's object, 2 one tensor or the metadata, 3 an array of numbers.
class HeaderEvents : public nlohmann::json_sax<Json> {
 public:
  HeaderEvents(SafetensorsHeader* header, const SafetensorsOptions& options)
      : header_(header), options_(options) {}
  const Status& status() const { return status_; }

  bool start_object(size_t) override {
    if (level_ == 0) return ++level_ == 1;
    if (level_ != 1) return Wrong("an object");
    ++level_;
    seen_ = 0;
    if (!in_metadata_) header_->entries.push_back({key_, DType::kF32, {}, 0, 0});
    return true;
  }
  bool end_object() override {
    if (level_-- == 1) return true;
    const bool complete = in_metadata_ || seen_ == (kDtype | kShape | kOffsets);
    in_metadata_ = false;
    return complete || Fail(StrCat(Where(), " lacks ",
                                   (seen_ & kDtype) == 0   ? "dtype"
                                   : (seen_ & kShape) == 0 ? "shape"
                                                           : "data_offsets"));
  }
  bool start_array(size_t) override {
    if (level_ != 2 || in_metadata_ || (field_ != kShape && field_ != kOffsets)) return Wrong("an array");
    ++level_;
    numbers_.clear();
    return true;
  }
  bool end_array() override {
    --level_;
    auto& entry = header_->entries.back();
    if (field_ == kShape) {
      entry.dims = numbers_;
      return true;
    }
    if (numbers_.size() != 2)
      return Fail(StrCat(Where(), ": data_offsets has ", numbers_.size(), " numbers, not 2"));
    entry.begin = numbers_[0];
    entry.end = numbers_[1];
    return true;
  }
  bool key(std::string& name) override {
    if (level_ == 1) {
      if (!names_.insert(name).second) return Fail(StrCat("the name ", QuotedShort(name), " appears twice"));
      in_metadata_ = name == "__metadata__";
      key_ = std::move(name);
      return true;
    }
    if (in_metadata_) {
      if (header_->metadata.contains(name))
        return Fail(StrCat("__metadata__ has ", QuotedShort(name), " twice"));
      field_name_ = std::move(name);
      return true;
    }
    field_ = name == "dtype" ? kDtype : name == "shape" ? kShape : name == "data_offsets" ? kOffsets : 0;
    if (field_ == 0) {
      return Fail(StrCat(Where(), " has the key ", QuotedShort(name),
                         "; dtype, shape and data_offsets are expected"));
    }
    if ((seen_ & field_) != 0) return Fail(StrCat(Where(), " has ", name, " twice"));
    seen_ |= field_;
    return true;
  }
  bool string(std::string& text) override {
    if (level_ != 2) return Wrong("text");
    if (in_metadata_) {
      header_->metadata.emplace(field_name_, std::move(text));
      return true;
    }
    if (field_ != kDtype) return Wrong("text");
    return TakeDType(text);
  }
  bool number_unsigned(uint64_t value) override {
    if (level_ != 3) return Wrong("a number");
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return WrongNumber(StrCat(value));
    if (numbers_.size() == kMostDims) {
      return Fail(StrCat(Where(), ": ", FieldName(), " holds more than ", kMostDims, " numbers"));
    }
    numbers_.push_back(static_cast<int64_t>(value));
    return true;
  }
  bool number_integer(int64_t value) override {
    return level_ == 3 ? WrongNumber(StrCat(value)) : Wrong("a number");
  }
  bool number_float(double, const std::string& text) override {
    return level_ == 3 ? WrongNumber(text.substr(0, 40)) : Wrong("a number");
  }
  bool null() override { return Wrong("null"); }
  bool boolean(bool) override { return Wrong("true or false"); }
  bool binary(Json::binary_t&) override { return Wrong("binary data"); }
  bool parse_error(size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return Fail(StrCat("the header is not JSON at its byte ", position));
  }

 private:
  enum : int { kDtype = 1, kShape = 2, kOffsets = 4 };

  bool Fail(std::string message) {
    if (status_.ok()) status_ = absl::InvalidArgumentError(std::move(message));
    return false;
  }
  std::string Where() const { return in_metadata_ ? "__metadata__" : StrCat("tensor ", QuotedShort(key_)); }
  bool Wrong(std::string_view found) {
    if (level_ == 0) return Fail(StrCat("the header is ", found, "; an object is expected"));
    if (level_ == 1) return Fail(StrCat(Where(), " is ", found, "; an object is expected"));
    if (in_metadata_)
      return Fail(StrCat("__metadata__ ", QuotedShort(field_name_), " is ", found, "; text is expected"));
    if (field_ == kDtype) return Fail(StrCat(Where(), ": dtype is ", found, "; text is expected"));
    return Fail(StrCat(Where(), ": ", FieldName(), level_ == 3 ? " holds " : " is ", found, "; ",
                       level_ == 3 ? "integers are" : "an array is", " expected"));
  }
  bool WrongNumber(std::string_view value) {
    return Fail(StrCat(Where(), ": ", FieldName(), " holds ", value, "; integers in [0, 2^63) are expected"));
  }
  std::string_view FieldName() const { return field_ == kShape ? "shape" : "data_offsets"; }

  bool TakeDType(const std::string& text) {
    const auto dtype = DTypeFromName(text);
    // DTypeFromName takes either case, the format upper case alone.
    const bool upper = std::none_of(text.begin(), text.end(), [](char c) { return c >= 'a' && c <= 'z'; });
    if (dtype.has_value() && upper) {
      header_->entries.back().dtype = *dtype;
      return true;
    }
    const auto stand_in = options_.stand_ins ? StandInFor(text) : std::nullopt;
    if (stand_in.has_value()) {
      header_->entries.back().dtype = *stand_in;
      header_->entries.back().stored = text;
      return true;
    }
    const bool known = std::find(kUnread.begin(), kUnread.end(), text) != kUnread.end();
    Fail(StrCat(Where(), known ? " has the element type " : " has the unknown element type ",
                QuotedShort(text), known ? ", which Plinth does not read; it reads " : "; known are ",
                kRead));
    if (known) status_ = absl::UnimplementedError(status_.message());
    return false;
  }

  SafetensorsHeader* header_;
  const SafetensorsOptions options_;
  Status status_;
  std::unordered_set<std::string> names_;
  std::string key_, field_name_;
  std::vector<int64_t> numbers_;
  int level_ = 0;
  int field_ = 0;
  int seen_ = 0;
  bool in_metadata_ = false;
};

// Bytes that type and shape ask for; -1 when they do not fit 63 bits.
int64_t BytesOf(DType dtype, std::span<const int64_t> dims) {
  int64_t bytes = SizeOf(dtype);
  for (int64_t d : dims) {
    if (__builtin_mul_overflow(bytes, d, &bytes)) return -1;
  }
  return bytes;
}

// Checks lengths and that the tensors tile the data without gap or overlap, and makes the offsets
// count from the start of the file.
Status CheckRanges(int64_t data_begin, int64_t file_bytes, SafetensorsHeader* header) {
  auto& entries = header->entries;
  const int64_t data_bytes = file_bytes - data_begin;
  for (const auto& e : entries) {
    const auto range = [&e] { return StrCat("data_offsets [", e.begin, ", ", e.end, "]"); };
    if (e.begin > e.end || e.end > data_bytes) {
      return absl::InvalidArgumentError(StrCat("tensor ", QuotedShort(e.name), ": ", range(),
                                               " lie outside the ", data_bytes, " bytes of data"));
    }
    const int64_t bytes = BytesOf(e.dtype, e.dims);
    if (bytes < 0) {
      return absl::InvalidArgumentError(StrCat("tensor ", QuotedShort(e.name), ": the size of ",
                                               ToString(e.dtype, e.dims), " does not fit 63 bits"));
    }
    if (bytes != e.end - e.begin) {
      return absl::InvalidArgumentError(StrCat("tensor ", QuotedShort(e.name), ": ", range(), " hold ",
                                               e.end - e.begin, " bytes; ", ToString(e.dtype, e.dims),
                                               " needs ", bytes));
    }
  }
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
  });
  int64_t at = 0;
  std::string_view before;
  for (auto& e : entries) {
    if (e.begin < at) {
      return absl::InvalidArgumentError(StrCat("tensors ", QuotedShort(before), " and ", QuotedShort(e.name),
                                               " overlap at byte ", e.begin, " of the data"));
    }
    if (e.begin > at) {
      return absl::InvalidArgumentError(StrCat("bytes ", at, " to ", e.begin, " of the data, before tensor ",
                                               QuotedShort(e.name), ", belong to no tensor"));
    }
    at = e.end;
    before = e.name;
    e.begin += data_begin;
    e.end += data_begin;
  }
  if (at != data_bytes) {
    return absl::InvalidArgumentError(
        StrCat(data_bytes - at, " bytes after the last tensor belong to no tensor"));
  }
  return absl::OkStatus();
}

}  // namespace

std::optional<DType> StandInFor(std::string_view stored) {
  for (const auto& [name, dtype] : kStandIns) {
    if (name == stored) return dtype;
  }
  return std::nullopt;
}

StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> file,
                                                   const SafetensorsOptions& options) {
  if (file.size() < 8) {
    return absl::InvalidArgumentError(
        StrCat("holds ", file.size(), " bytes; a safetensors file begins with 8 bytes of header length"));
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  if (length > static_cast<uint64_t>(kMaxSafetensorsHeader)) {
    return absl::InvalidArgumentError(StrCat("says its header has ", length, " bytes; at most ",
                                             kMaxSafetensorsHeader,
                                             " are allowed (is it a safetensors file?)"));
  }
  if (length > file.size() - 8) {
    return absl::InvalidArgumentError(StrCat("says its header has ", length, " bytes, but only ",
                                             file.size() - 8, " follow; the file is cut off"));
  }
  const auto* text = reinterpret_cast<const char*>(file.data()) + 8;
  if (length == 0 || text[0] != '{') {
    return absl::InvalidArgumentError("the header does not begin with '{'");
  }
  SafetensorsHeader header;
  HeaderEvents events(&header, options);
  // Without exceptions: errors come as the event parse_error.
  if (!Json::sax_parse(text, text + length, &events)) return events.status();
  PLINTH_RETURN_IF_ERROR(
      CheckRanges(static_cast<int64_t>(length) + 8, static_cast<int64_t>(file.size()), &header));
  return header;
}

}  // namespace plinth::formats
