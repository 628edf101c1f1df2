#include "plinth/formats/json_lines.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace plinth::formats {
namespace {

constexpr size_t kBufferBytes = 256 << 10;

bool Blank(std::string_view text) { return text.find_first_not_of(" \t\r") == text.npos; }

// What Python writes for a float that is not finite; a message says so where the line is refused.
bool HoldsNonFinite(std::string_view text) {
  return text.find("NaN") != text.npos || text.find("Infinity") != text.npos || text.find("nan") != text.npos;
}

}  // namespace

StatusOr<JsonLinesReader> JsonLinesReader::Open(const std::string& path, const JsonLinesLimits& limits) {
  JsonLinesReader reader;
  reader.where_ = path;
  reader.limits_ = limits;
  PLINTH_ASSIGN_OR_RETURN(reader.file_, InputFile::Open(path));
  return reader;
}

JsonLinesReader JsonLinesReader::FromText(std::string_view text, std::string where,
                                          const JsonLinesLimits& limits) {
  JsonLinesReader reader;
  reader.where_ = std::move(where);
  reader.limits_ = limits;
  reader.buffer_.reserve(text.size() + 1);  // never a null pointer, also for no text
  reader.buffer_.assign(text.begin(), text.end());
  reader.end_ = text.size();
  reader.digest_.Update(text);
  return reader;
}

// Moves what is left to the front of the buffer and reads more behind it; false at the end of the file.
StatusOr<bool> JsonLinesReader::Fill() {
  if (!file_.has_value()) return false;
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  // Twice what is there: a long line is then moved and scanned a bounded number of times.
  if (buffer_.size() < 2 * end_ || buffer_.empty()) buffer_.resize(std::max(kBufferBytes, 2 * end_));
  const size_t space = buffer_.size() - end_;
  PLINTH_ASSIGN_OR_RETURN(const size_t got, file_->Read(buffer_.data() + end_, space));
  digest_.Update(std::string_view(buffer_.data() + end_, got));
  end_ += got;
  if (got < space) file_.reset();
  return got > 0;
}

// Sets line_text_ to the next line, blank or not.
StatusOr<bool> JsonLinesReader::NextLine() {
  size_t scan = begin_;
  ++line_;
  while (true) {
    const char* from = buffer_.data() + scan;
    const auto* stop =
        end_ == scan ? nullptr : static_cast<const char*>(std::memchr(from, '\n', end_ - scan));
    const size_t length = (stop == nullptr ? end_ : static_cast<size_t>(stop - buffer_.data())) - begin_;
    if (length > static_cast<size_t>(limits_.line_bytes)) {
      return absl::InvalidArgumentError(StrCat(where_, ": line ", line_, ": is longer than ",
                                               limits_.line_bytes,
                                               " bytes; one JSON object per line is expected"));
    }
    if (stop == nullptr) {
      const size_t had = begin_;
      scan = end_;
      PLINTH_ASSIGN_OR_RETURN(const bool more, Fill());
      scan -= had - begin_;
      if (more) continue;
      if (begin_ == end_) return false;
      line_text_ = {buffer_.data() + begin_, end_ - begin_};
      begin_ = end_;
    } else {
      line_text_ = {buffer_.data() + begin_, length};
      begin_ += length + 1;
    }
    if (line_text_.ends_with('\r')) line_text_.remove_suffix(1);
    return true;
  }
}

StatusOr<bool> JsonLinesReader::Next() {
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, NextLine());
    if (!more) return false;
    if (std::exchange(at_start_, false)) {
      if (line_text_.starts_with("\xff\xfe") || line_text_.starts_with("\xfe\xff")) {
        return absl::InvalidArgumentError(StrCat(where_, ": is UTF-16; UTF-8 is expected"));
      }
      if (line_text_.starts_with("\xef\xbb\xbf")) line_text_.remove_prefix(3);
    }
    if (!Blank(line_text_)) return true;
  }
}

StatusOr<JsonValue> JsonLinesReader::Parse(std::string_view text, std::string_view where, int64_t line) {
  const std::string place = StrCat(where, ": line ", line);
  auto value = ParseJson(text, place);
  if (value.ok()) return value;
  // The parser counts lines of its own text, which is one.
  std::string message(value.status().message());
  const std::string inner = StrCat(place, ": line 1: ");
  if (message.starts_with(inner)) message.replace(0, inner.size(), StrCat(place, ": "));
  if (HoldsNonFinite(text)) message += "; JSON has no NaN and no Infinity: null is a missing number";
  return absl::InvalidArgumentError(message);
}

}  // namespace plinth::formats
