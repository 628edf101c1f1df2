#include "plinth/verify/metrics/samples.h"

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "plinth/base/interrupt.h"
#include "plinth/formats/json_lines.h"

namespace plinth::verify::metrics {
namespace {

using formats::JsonLinesReader;
using formats::JsonValue;
using formats::QuotedShort;

constexpr size_t kMostFiles = 3;  // reference, candidate, labels
constexpr size_t kMostIdBytes = 4096;

// What is known of an id before all files have shown it.
struct Waiting {
  std::array<int64_t, kMostFiles> lines{};  // 0: not seen
  std::array<std::string, kMostFiles> texts;
};
struct Known {
  size_t index = 0;                  // among the reference's rows
  int64_t line = 0;                  // where the first file showed it
  uint8_t seen = 0;                  // one bit per file
  std::unique_ptr<Waiting> waiting;  // none once complete
};

// One of the files, and the row that it stands at.
struct Source {
  std::string path;
  JsonLinesReader reader;
  bool ended = false;
  JsonValue row;
  std::string id;
  int64_t rows = 0;
};

StatusOr<std::string> IdOf(const JsonValue& row, const JsonLinesReader& reader) {
  const std::string place = StrCat(reader.where(), ": line ", reader.line(), ": ");
  if (row.object() == nullptr) {
    return absl::InvalidArgumentError(
        StrCat(place, "is ", ShortText(row), "; an object with \"id\" is expected"));
  }
  const JsonValue* id = row.Find("id");
  if (id != nullptr && id->integer() != nullptr) return StrCat(*id->integer());
  if (id == nullptr || id->text() == nullptr || id->text()->empty() || id->text()->size() > kMostIdBytes) {
    return absl::InvalidArgumentError(StrCat(place, "\"id\" is ", id == nullptr ? "missing" : ShortText(*id),
                                             "; text of 1 to ", kMostIdBytes,
                                             " bytes or an integer is expected"));
  }
  return *id->text();
}

class Joiner {
 public:
  explicit Joiner(const std::function<Status(const Sample&)>& add) : add_(add) {}

  Status Open(const std::string& path) {
    PLINTH_ASSIGN_OR_RETURN(JsonLinesReader reader, JsonLinesReader::Open(path));
    sources_.push_back({path, std::move(reader), false, {}, {}, 0});
    return absl::OkStatus();
  }

  StatusOr<SampleDigests> Run() {
    for (bool more = true; more;) {
      PLINTH_RETURN_IF_ERROR(CheckInterrupted());
      more = false;
      for (size_t s = 0; s < sources_.size(); ++s) {
        PLINTH_RETURN_IF_ERROR(Advance(s));
        more |= !sources_[s].ended;
      }
    }
    for (const Source& source : sources_) {
      if (source.rows == 0) {
        return absl::InvalidArgumentError(
            StrCat(source.path, ": holds no row; one JSON object per line is expected"));
      }
    }
    PLINTH_RETURN_IF_ERROR(CheckComplete());
    SampleDigests digests;
    std::string* const into[] = {&digests.reference, &digests.candidate, &digests.labels};
    for (size_t s = 0; s < sources_.size(); ++s) {
      PLINTH_ASSIGN_OR_RETURN(*into[s], sources_[s].reader.Digest());
    }
    return digests;
  }

 private:
  Status Advance(size_t s) {
    Source& source = sources_[s];
    source.id.clear();
    if (source.ended) return absl::OkStatus();
    PLINTH_ASSIGN_OR_RETURN(const bool more, source.reader.Next());
    if (!more) {
      source.ended = true;
      return absl::OkStatus();
    }
    PLINTH_ASSIGN_OR_RETURN(source.row, source.reader.Parse());
    PLINTH_ASSIGN_OR_RETURN(source.id, IdOf(source.row, source.reader));
    return Enter(s);
  }

  // Notes that a file has shown an id, and passes the sample on where it was the last to.
  Status Enter(size_t s) {
    Source& source = sources_[s];
    const auto [at, is_new] = known_.try_emplace(source.id);
    Known& known = at->second;
    const uint8_t bit = static_cast<uint8_t>(1u << s);
    if (is_new) {
      known.waiting = std::make_unique<Waiting>();
      known.line = source.reader.line();
    }
    if ((known.seen & bit) != 0) {
      return absl::InvalidArgumentError(StrCat(source.path, ": line ", source.reader.line(), ": sample ",
                                               QuotedShort(source.id),
                                               " appears twice; each id may appear once in a file"));
    }
    known.seen = static_cast<uint8_t>(known.seen | bit);
    if (s == 0) known.index = static_cast<size_t>(source.rows);
    ++source.rows;
    known.waiting->lines[s] = source.reader.line();
    if (known.seen + 1u == 1u << sources_.size()) return Complete(at->first, known, s);
    // The text waits, not the tree: it is many times smaller.
    known.waiting->texts[s] = std::string(source.reader.text());
    return absl::OkStatus();
  }

  Status Complete(const std::string& id, Known& known, size_t last) {
    std::array<JsonValue, kMostFiles> parsed;
    std::array<const JsonValue*, kMostFiles> rows{};
    for (size_t s = 0; s < sources_.size(); ++s) {
      Source& source = sources_[s];
      if (s == last || source.id == id) {
        rows[s] = &source.row;
        continue;
      }
      PLINTH_ASSIGN_OR_RETURN(
          parsed[s], JsonLinesReader::Parse(known.waiting->texts[s], source.path, known.waiting->lines[s]));
      rows[s] = &parsed[s];
    }
    const auto row = [&](size_t s) { return Row(rows[s], &sources_[s].path, known.waiting->lines[s], &id); };
    Sample sample{id, known.index, row(0), row(1), row(sources_.size() > 2 ? 2 : 0), sources_.size() > 2, {}};
    for (size_t s = 0; s < sources_.size(); ++s) {
      for (const char* key : {"tags", "tag"}) {
        PLINTH_ASSIGN_OR_RETURN(std::vector<std::string> tags, row(s).Texts(key));
        for (std::string& tag : tags) sample.tags.push_back(std::move(tag));
      }
    }
    PLINTH_RETURN_IF_ERROR(add_(sample));
    known.waiting.reset();
    return absl::OkStatus();
  }

  // Names the first id, in the order of lines, that a file lacks.
  Status CheckComplete() const {
    const Known* first = nullptr;
    const std::string* id = nullptr;
    size_t incomplete = 0;
    for (const auto& [name, known] : known_) {
      if (known.waiting == nullptr) continue;
      ++incomplete;
      if (first != nullptr && (known.line > first->line || (known.line == first->line && name > *id)))
        continue;
      first = &known;
      id = &name;
    }
    if (first == nullptr) return absl::OkStatus();
    size_t has = 0, lacks = 0;
    while ((first->seen >> has & 1) == 0) ++has;
    while ((first->seen >> lacks & 1) != 0) ++lacks;
    return absl::InvalidArgumentError(
        StrCat(sources_[has].path, ": line ", first->waiting->lines[has], ": sample ", QuotedShort(*id),
               " is not in ", sources_[lacks].path, "; all files must hold the same ids (", incomplete,
               incomplete == 1 ? " id is" : " ids are", " not in all)"));
  }

  const std::function<Status(const Sample&)>& add_;
  std::vector<Source> sources_;
  std::unordered_map<std::string, Known> known_;
};

}  // namespace

bool ToNumber(const JsonValue& value, double* number) {
  if (const int64_t* integer = value.integer()) {
    *number = static_cast<double>(*integer);
    return true;
  }
  if (const double* real = value.real()) {
    *number = *real;
    return true;
  }
  return false;
}

const JsonValue* Row::Find(std::string_view key) const {
  const JsonValue* value = object_->Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Row Row::Inside(const JsonValue& object, std::string path) const {
  Row inside(&object, file_, line_, id_);
  inside.prefix_ = StrCat(prefix_, path, ".");
  return inside;
}

Status Row::Refuse(std::string_view message) const {
  return absl::InvalidArgumentError(
      StrCat(*file_, ": line ", line_, ": sample ", QuotedShort(*id_), ": ", message));
}

Status Row::Refuse(std::string_view path, const JsonValue* found, std::string_view wanted) const {
  return Refuse(StrCat("\"", prefix_, path, "\" is ", found == nullptr ? "missing" : ShortText(*found), "; ",
                       wanted, " is expected"));
}

StatusOr<std::string> Row::Text(std::string_view key) const {
  const JsonValue* value = object_->Find(key);
  if (value != nullptr && value->text() != nullptr) return *value->text();
  return Refuse(key, value, "text");
}

StatusOr<double> Row::Real(std::string_view key) const {
  const JsonValue* value = object_->Find(key);
  double number = 0;
  if (value != nullptr && ToNumber(*value, &number)) return number;
  return Refuse(key, value, "a finite number");
}

StatusOr<bool> Row::FlagOr(std::string_view key, bool fallback) const {
  const JsonValue* value = Find(key);
  if (value == nullptr) return fallback;
  if (const bool* flag = value->flag()) return *flag;
  if (value->integer() != nullptr && (*value->integer() == 0 || *value->integer() == 1))
    return *value->integer() == 1;
  return Refuse(key, value, "true or false");
}

StatusOr<std::vector<double>> Row::Reals(std::string_view key, bool gaps) const {
  const JsonValue* value = object_->Find(key);
  if (value == nullptr) return Refuse(key, value, "a list of numbers");
  return Reals(key, *value, gaps);
}

StatusOr<std::vector<double>> Row::Reals(std::string_view path, const JsonValue& value, bool gaps) const {
  const JsonValue::Array* array = value.array();
  if (array == nullptr) return Refuse(path, &value, "a list of numbers");
  std::vector<double> numbers(array->size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const JsonValue& element = (*array)[i];
    if (gaps && element.is_null()) {
      numbers[i] = std::numeric_limits<double>::quiet_NaN();
    } else if (!ToNumber(element, &numbers[i])) {
      return Refuse(StrCat(path, "[", i, "]"), &element,
                    gaps ? "a number, or null for a gap," : "a finite number");
    }
  }
  return numbers;
}

StatusOr<std::vector<std::string>> Row::Texts(std::string_view key) const {
  std::vector<std::string> texts;
  const JsonValue* value = Find(key);
  if (value == nullptr) return texts;
  if (value->text() != nullptr) return std::vector<std::string>{*value->text()};
  const JsonValue::Array* array = value->array();
  if (array == nullptr) return Refuse(key, value, "text or a list of texts");
  for (size_t i = 0; i < array->size(); ++i) {
    const std::string* text = (*array)[i].text();
    if (text == nullptr) return Refuse(StrCat(key, "[", i, "]"), &(*array)[i], "text");
    texts.push_back(*text);
  }
  return texts;
}

StatusOr<std::string> Row::Name(std::string_view key) const {
  const JsonValue* value = object_->Find(key);
  if (value != nullptr) {
    if (value->text() != nullptr) return *value->text();
    if (value->integer() != nullptr) return StrCat(*value->integer());
    if (value->flag() != nullptr) return std::string(*value->flag() ? "true" : "false");
  }
  return Refuse(key, value, "a class (text, an integer, true or false)");
}

StatusOr<SampleDigests> ForEachSample(const std::string& reference, const std::string& candidate,
                                      const std::string& labels,
                                      const std::function<Status(const Sample&)>& add) {
  Joiner joiner(add);
  PLINTH_RETURN_IF_ERROR(joiner.Open(reference));
  PLINTH_RETURN_IF_ERROR(joiner.Open(candidate));
  if (!labels.empty()) PLINTH_RETURN_IF_ERROR(joiner.Open(labels));
  return joiner.Run();
}

}  // namespace plinth::verify::metrics
