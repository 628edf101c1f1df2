#include <algorithm>
#include <array>
#include <cmath>
#include <unordered_map>

#include "plinth/formats/capture.h"

namespace plinth::formats {
namespace {

constexpr std::string_view kSchema = "plinth.capture/1";
constexpr int64_t kMostValues = 1 << 16;  // JSON values of one entry, and of all the rest
constexpr int64_t kMostDims = 64;
constexpr int64_t kMostRanks = 1 << 20;
constexpr int64_t kLargest = int64_t{1} << 53;  // every JSON reader keeps integers up to here
// Types of tensors that statistics may describe, beside those that Plinth reads.
constexpr std::array<std::string_view, 14> kFurtherTypes = {
    "f8_e4m3", "f8_e5m2", "f8_e8m0", "f8_e4m3fnuz", "f8_e5m2fnuz", "f6_e2m3", "f6_e3m2",
    "f4",      "u16",     "u32",     "u64",         "c64",         "c128",    "i4"};

bool IsDigest(std::string_view text) {
  return text.size() == 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

// One object of the file. Getters give the value or keep the first error, "WHERE: PLACE"key" is ...".
class Fields {
 public:
  // `place` ends in ": " or is empty.
  Fields(const JsonValue& object, std::string_view where, std::string_view place, Status* status)
      : object_(object), where_(where), place_(place), status_(status) {}

  bool ok() const { return status_->ok(); }
  void Refuse(std::string_view what) const {
    if (status_->ok()) *status_ = absl::InvalidArgumentError(StrCat(where_, ": ", place_, what));
  }
  // Null where it is missing or null.
  const JsonValue* Get(std::string_view key) const {
    const JsonValue* value = object_.Find(key);
    return value == nullptr || value->is_null() ? nullptr : value;
  }

  int64_t Int(std::string_view key, int64_t lo, int64_t hi, std::optional<int64_t> fallback = {}) const {
    const JsonValue* value = Get(key);
    if (value == nullptr && fallback.has_value()) return *fallback;
    const int64_t* integer = value == nullptr ? nullptr : value->integer();
    if (integer != nullptr && *integer >= lo && *integer <= hi) return *integer;
    Expect(key, value, StrCat("an integer in [", lo, ", ", hi, "]"));
    return lo;
  }
  // A finite number; 0 for null.
  double RealOrNull(std::string_view key) const {
    const JsonValue* value = Get(key);
    if (value == nullptr) return 0;
    if (value->integer() != nullptr) return static_cast<double>(*value->integer());
    if (value->real() != nullptr) return *value->real();
    Expect(key, value, "a number or null");
    return 0;
  }
  // Text of at most kMaxCaptureName bytes without control characters; `required`: not empty either.
  std::string Text(std::string_view key, bool required) const {
    const JsonValue* value = Get(key);
    if (value == nullptr && !required) return "";
    const std::string* text = value == nullptr ? nullptr : value->text();
    if (text == nullptr || (required && text->empty())) {
      Expect(key, value, required ? "text that is not empty" : "text or null");
      return "";
    }
    if (static_cast<int64_t>(text->size()) > kMaxCaptureName) {
      Refuse(StrCat("\"", key, "\" has ", text->size(), " bytes, beginning with ",
                    QuotedShort(std::string_view(*text).substr(0, 40)), "; at most ", kMaxCaptureName,
                    " are allowed"));
      return "";
    }
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; };
    if (std::any_of(text->begin(), text->end(), control)) {
      Refuse(StrCat("\"", key, "\" holds a control character: ", QuotedShort(*text)));
      return "";
    }
    return *text;
  }
  std::string Digest(std::string_view key) const {
    std::string text = Text(key, false);
    if (!text.empty() && !IsDigest(text)) Expect(key, Get(key), "64 lower-case hex digits or null");
    return text;
  }
  // An object, or null.
  JsonValue Object(std::string_view key) const {
    const JsonValue* value = Get(key);
    if (value == nullptr) return {};
    if (value->object() == nullptr) Expect(key, value, "an object or null");
    return *value;
  }
  void Expect(std::string_view key, const JsonValue* value, std::string_view wanted) const {
    Refuse(StrCat("\"", key, "\" is ", value == nullptr ? "missing" : ShortText(*value), "; ", wanted,
                  " is expected"));
  }
  std::string_view where() const { return where_; }
  std::string_view place() const { return place_; }
  Status* status() const { return status_; }

 private:
  const JsonValue& object_;
  std::string_view where_, place_;
  Status* status_;
};

// Elements of the shape; -1 beyond kLargest.
int64_t CountOf(const std::vector<int64_t>& dims) {
  int64_t count = 1;
  for (const int64_t d : dims) {
    if (__builtin_mul_overflow(count, d, &count)) count = kLargest + 1;
    if (count > kLargest && std::find(dims.begin(), dims.end(), 0) == dims.end()) return -1;
    count = std::min(count, kLargest);  // a zero may follow
  }
  return count;
}

std::vector<int64_t> ReadShape(const Fields& fields) {
  const JsonValue* value = fields.Get("shape");
  std::vector<int64_t> dims;
  const JsonValue::Array* array = value == nullptr ? nullptr : value->array();
  if (array == nullptr || static_cast<int64_t>(array->size()) > kMostDims) {
    fields.Expect("shape", value, StrCat("a list of at most ", kMostDims, " integers"));
    return dims;
  }
  for (const JsonValue& item : *array) {
    const int64_t* d = item.integer();
    if (d == nullptr || *d < 0 || *d > kLargest) {
      fields.Refuse(StrCat("\"shape\" holds ", ShortText(item), "; integers in [0, 2^53] are expected"));
      return dims;
    }
    dims.push_back(*d);
  }
  if (CountOf(dims) < 0) {
    fields.Refuse(StrCat("\"shape\" is [", Join(dims, ", "), "], more than 2^53 elements"));
  }
  return dims;
}

// Numbers that no tensor could have.
void CheckStats(const TensorStats& s, const CaptureEntry& entry, const Fields& fields) {
  const int64_t count = CountOf(entry.dims);
  if (s.count != count) {
    return fields.Refuse(StrCat("\"stats.count\" is ", s.count, "; the shape [", Join(entry.dims, ", "),
                                "] has ", count, " elements"));
  }
  if (s.finite + s.nan + s.pos_inf + s.neg_inf != s.count) {
    return fields.Refuse(StrCat("\"stats\" counts ", s.finite, " finite, ", s.nan, " NaN, ", s.pos_inf,
                                " and ", s.neg_inf, " infinite elements; their sum must be ", s.count));
  }
  if (s.zero + s.subnormal > s.finite) {
    return fields.Refuse(StrCat("\"stats\" counts ", s.zero, " zeros and ", s.subnormal,
                                " subnormal elements among ", s.finite, " finite ones"));
  }
  if (s.finite == 0) return;
  // What another program rounded may stand a little outside.
  const double slack = 1e-6 * std::max(std::fabs(s.min), std::fabs(s.max));
  if (!(s.min <= s.max && s.mean >= s.min - slack && s.mean <= s.max + slack)) {
    return fields.Refuse(StrCat("\"stats\" has min ", s.min, ", mean ", s.mean, " and max ", s.max,
                                ", which contradict each other"));
  }
  if (!(s.std >= 0 && s.l2 >= 0)) {
    fields.Refuse(StrCat("\"stats\" has std ", s.std, " and l2 ", s.l2, "; neither can be negative"));
  }
}

std::optional<TensorStats> ReadStats(const Fields& entry_fields, const CaptureEntry& entry) {
  const JsonValue* value = entry_fields.Get("stats");
  if (value == nullptr) return std::nullopt;
  if (value->object() == nullptr) {
    entry_fields.Expect("stats", value, "an object or null");
    return std::nullopt;
  }
  const std::string place = StrCat(entry_fields.place(), "stats: ");
  const Fields fields(*value, entry_fields.where(), place, entry_fields.status());
  TensorStats s;
  for (const auto& [key, into] :
       {std::pair("count", &s.count), std::pair("finite", &s.finite), std::pair("nan", &s.nan),
        std::pair("pos_inf", &s.pos_inf), std::pair("neg_inf", &s.neg_inf), std::pair("zero", &s.zero),
        std::pair("subnormal", &s.subnormal)}) {
    *into = fields.Int(key, 0, kLargest);
  }
  for (const auto& [key, into] :
       {std::pair("min", &s.min), std::pair("max", &s.max), std::pair("mean", &s.mean),
        std::pair("std", &s.std), std::pair("l2", &s.l2)}) {
    *into = fields.RealOrNull(key);
    if (s.finite > 0 && fields.ok() && fields.Get(key) == nullptr) fields.Expect(key, nullptr, "a number");
  }
  if (s.finite == 0) s.min = s.max = s.mean = s.std = s.l2 = 0;
  if (entry_fields.ok()) CheckStats(s, entry, entry_fields);
  return s;
}

CaptureEntry ReadEntry(const Fields& fields) {
  CaptureEntry entry;
  entry.index = fields.Int("index", 0, kLargest);
  entry.name = fields.Text("name", true);
  entry.op = fields.Text("op", true);
  const std::string direction = fields.Text("direction", true);
  if (fields.ok() && direction != "input" && direction != "output") {
    fields.Expect("direction", fields.Get("direction"), "\"input\" or \"output\"");
  }
  entry.direction = direction == "input" ? CaptureDirection::kInput : CaptureDirection::kOutput;
  entry.port = fields.Int("port", 0, kMostRanks);
  entry.step = fields.Int("step", 0, kLargest, 0);
  entry.dims = ReadShape(fields);
  entry.dtype = fields.Text("dtype", true);
  if (fields.ok() && !entry.ReadAs().has_value() &&
      std::find(kFurtherTypes.begin(), kFurtherTypes.end(), entry.dtype) == kFurtherTypes.end()) {
    fields.Expect("dtype", fields.Get("dtype"), "an element type such as f32, bf16 or i64");
  }
  entry.tensor = fields.Text("tensor", false);
  if (fields.ok() && !entry.tensor.empty() && !entry.ReadAs().has_value()) {
    fields.Refuse(StrCat("has a tensor of type ", entry.dtype, ", which Plinth does not read"));
  }
  entry.digest = fields.Digest("digest");
  entry.attributes = fields.Object("attributes");
  entry.layout = fields.Text("layout", false);
  if (fields.ok()) entry.stats = ReadStats(fields, entry);
  return entry;
}

// A section of the file that must be an object; one without keys where it is missing and not `required`.
JsonValue Section(const Fields& root, std::string_view key, bool required) {
  const JsonValue* value = root.Get(key);
  if (value == nullptr && !required) return JsonValue(JsonValue::Object());
  if (value == nullptr || value->object() == nullptr) {
    root.Expect(key, value, "an object");
    return JsonValue(JsonValue::Object());
  }
  return *value;
}

CaptureInfo ReadInfo(const Fields& root) {
  CaptureInfo info;
  info.producer = Section(root, "producer", true);
  Fields(info.producer, root.where(), "producer: ", root.status()).Text("name", true);
  const JsonValue run = Section(root, "run", true), model = Section(root, "model", true),
                  inputs = Section(root, "inputs", false);
  const Fields of_run(run, root.where(), "run: ", root.status());
  info.run_id = of_run.Text("id", false);
  info.repeat = of_run.Int("repeat", 0, kLargest, 0);
  info.seed = of_run.Int("seed", -kLargest, kLargest, 0);
  const std::string mode = of_run.Text("mode", true);
  if (root.ok() && mode != "free" && mode != "forced") {
    of_run.Expect("mode", of_run.Get("mode"), "\"free\" or \"forced\"");
  }
  info.forced = mode == "forced";
  info.world = root.Int("world", 1, kMostRanks, 1);
  info.rank = root.Int("rank", 0, info.world - 1, 0);
  const Fields of_model(model, root.where(), "model: ", root.status());
  info.model_name = of_model.Text("name", false);
  info.model_digest = of_model.Digest("digest");
  info.inputs_digest = Fields(inputs, root.where(), "inputs: ", root.status()).Digest("digest");
  info.precision = root.Object("precision");
  return info;
}

Status CheckUnique(const std::vector<CaptureEntry>& entries, std::string_view where) {
  std::unordered_map<std::string, int64_t> seen;
  seen.reserve(entries.size());
  for (const CaptureEntry& entry : entries) {
    const auto [at, fresh] = seen.emplace(entry.Key(), entry.index);
    if (fresh) continue;
    return absl::InvalidArgumentError(StrCat(where, ": the entries of index ", at->second, " and ",
                                             entry.index, " are both ", QuotedShort(at->first),
                                             "; name, direction, port and step together must be unique"));
  }
  return absl::OkStatus();
}

}  // namespace

std::string CaptureEntry::Key() const {
  return StrCat(name, direction == CaptureDirection::kInput ? ":in" : ":out", port, "@", step);
}

std::optional<DType> CaptureEntry::ReadAs() const {
  if (const auto type = DTypeFromName(dtype); type.has_value() && DTypeName(*type) == dtype) return type;
  std::string stored = dtype;
  for (char& c : stored) {
    if (c >= 'A' && c <= 'Z') return std::nullopt;
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return StandInFor(stored);
}

StatusOr<CaptureText> ParseCaptureJson(std::string_view text, std::string_view where) {
  CaptureText capture;
  Status first_error;  // reported after the schema, which may stand behind the entries and explain it
  const auto take = [&](int64_t number, const JsonValue& value) -> Status {
    if (!first_error.ok()) return absl::OkStatus();
    const std::string place = StrCat("entries[", number, "]: ");
    if (value.object() == nullptr) {
      first_error = absl::InvalidArgumentError(
          StrCat(where, ": ", place, "is ", ShortText(value), "; an object is expected"));
      return absl::OkStatus();
    }
    capture.entries.push_back(ReadEntry(Fields(value, where, place, &first_error)));
    return absl::OkStatus();
  };
  PLINTH_ASSIGN_OR_RETURN(const JsonValue json, ParseJsonList(text, where, "entries", kMostValues, take));
  if (json.object() == nullptr) {
    return absl::InvalidArgumentError(
        StrCat(where, ": is ", ShortText(json), "; an object with \"schema\":\"", kSchema, "\" is expected"));
  }
  Status status;
  const Fields root(json, where, "", &status);
  const JsonValue* schema = root.Get("schema");
  if (schema == nullptr || schema->text() == nullptr || *schema->text() != kSchema) {
    root.Expect("schema", schema, StrCat("\"", kSchema, "\""));
    return status;
  }
  PLINTH_RETURN_IF_ERROR(first_error);
  const JsonValue* entries = root.Get("entries");
  if (entries == nullptr || entries->array() == nullptr) root.Expect("entries", entries, "a list");
  if (status.ok()) capture.info = ReadInfo(root);
  PLINTH_RETURN_IF_ERROR(status);
  std::stable_sort(capture.entries.begin(), capture.entries.end(),
                   [](const CaptureEntry& a, const CaptureEntry& b) { return a.index < b.index; });
  PLINTH_RETURN_IF_ERROR(CheckUnique(capture.entries, where));
  return capture;
}

}  // namespace plinth::formats
