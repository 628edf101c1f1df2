#include "plinth/engine/item_reader.h"

#include <charconv>
#include <utility>

#include "plinth/base/interrupt.h"
#include "plinth/formats/json.h"
#include "plinth/series/categories.h"

namespace plinth::engine {
namespace {

constexpr int64_t kMostBytesInMemory = int64_t{1} << 30;
constexpr size_t kMostCategories = 1 << 20;

std::string_view Trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

std::string LabelOf(std::string_view cell, formats::CellKind kind, double value, bool numbers) {
  if (numbers && kind == formats::CellKind::kNumber) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof(text), value == 0 ? 0.0 : value).ptr};
  }
  if (cell == "true" || cell == "TRUE") return "True";
  if (cell == "false" || cell == "FALSE") return "False";
  return std::string(cell);
}

}  // namespace

StatusOr<CsvSource> CsvSource::Open(const std::string& path) {
  CsvSource source;
  source.path_ = path == "-" ? "standard input" : path;
  PLINTH_ASSIGN_OR_RETURN(InputFile input, path == "-" ? InputFile::StandardInput() : InputFile::Open(path));
  if (input.size() == 0) {
    PLINTH_ASSIGN_OR_RETURN(source.text_, ReadAll(input, kMostBytesInMemory));
  }
  return source;
}

StatusOr<formats::CsvReader> CsvSource::Reader() const {
  return text_ ? formats::CsvReader::FromText(*text_, path_) : formats::CsvReader::Open(path_);
}

StatusOr<int32_t> CategoryCodes::Of(std::string_view cell, bool comma, bool numbers) {
  const std::string_view text = Trim(cell);
  double value;
  const formats::CellKind kind = formats::ParseNumber(text, comma, &value);
  if (kind == formats::CellKind::kGap) return series::kMissingCategory;
  const auto [at, fresh] =
      codes_.emplace(LabelOf(text, kind, value, numbers), static_cast<int32_t>(labels_.size()));
  if (!fresh) return at->second;
  if (labels_.size() == kMostCategories) {
    return absl::ResourceExhaustedError(
        StrCat("holds more than ", kMostCategories, " different texts; a covariate of categories has few"));
  }
  labels_.push_back(at->first);
  return at->second;
}

StatusOr<ItemReader> ItemReader::Open(const CsvSource& source, FoundColumns columns, series::TimeReader time,
                                      std::vector<CategoryCodes*> codes) {
  PLINTH_ASSIGN_OR_RETURN(formats::CsvReader reader, source.Reader());
  ItemReader items(std::move(reader), std::move(columns), std::move(time), std::move(codes));
  PLINTH_ASSIGN_OR_RETURN(items.has_row_, items.reader_.Next());
  return items;
}

std::string ItemReader::Cell(int column) const {
  return column < 0 ? "" : std::string(reader_.row()[static_cast<size_t>(column)]);
}

void ItemReader::Begin(ItemRows* rows) const {
  *rows = {};
  rows->item = Cell(columns_.item);
  rows->group = Cell(columns_.group);
  rows->targets.resize(columns_.targets.size());
  rows->covariates.resize(columns_.covariates.size());
}

Status ItemReader::Advance() {
  if (reader_.line() % 4096 == 0) PLINTH_RETURN_IF_ERROR(CheckInterrupted());
  PLINTH_ASSIGN_OR_RETURN(has_row_, reader_.Next());
  return absl::OkStatus();
}

Status ItemReader::AddCovariate(size_t c, CovariateValues* values) {
  const CovariateColumn& covariate = columns_.covariates[c];
  if (covariate.categorical) {
    const std::string_view cell = reader_.row()[static_cast<size_t>(covariate.column)];
    const auto code = codes_[c]->Of(cell, reader_.delimiter() != ',', covariate.declared);
    if (!code.ok()) {
      return Prepend(code.status(),
                     StrCat(reader_.where(), ": column ", formats::QuotedShort(covariate.name)));
    }
    values->codes.push_back(*code);
    return absl::OkStatus();
  }
  const auto value = reader_.Number(covariate.column);
  if (value.ok()) {
    values->numbers.push_back(*value);
    return absl::OkStatus();
  }
  double unused;
  const std::string_view cell = reader_.row()[static_cast<size_t>(covariate.column)];
  if (formats::ParseNumber(cell, reader_.delimiter() != ',', &unused) != formats::CellKind::kText) {
    return value.status();
  }
  return Status(value.status().code(), StrCat(std::string(value.status().message()),
                                              "; the column counts as one of numbers: if they "
                                              "are names, list it in --categorical"));
}

// Takes the reader's current row.
Status ItemReader::AddRow(ItemRows* rows) {
  if (columns_.time >= 0) {
    auto time = time_.Read(reader_.row()[static_cast<size_t>(columns_.time)]);
    if (!time.ok()) {
      return Prepend(time.status(), StrCat(reader_.where(), ": line ", reader_.line(), ": column \"",
                                           reader_.header()[static_cast<size_t>(columns_.time)], "\""));
    }
    rows->times.push_back(*time);
  }
  rows->lines.push_back(reader_.line());
  for (size_t t = 0; t < columns_.targets.size(); ++t) {
    PLINTH_ASSIGN_OR_RETURN(const double value, reader_.Number(columns_.targets[t]));
    rows->targets[t].push_back(value);
  }
  for (size_t c = 0; c < columns_.covariates.size(); ++c) {
    PLINTH_RETURN_IF_ERROR(AddCovariate(c, &rows->covariates[c]));
  }
  return absl::OkStatus();
}

StatusOr<bool> ItemReader::Next(ItemRows* rows) {
  if (!has_row_) return false;
  Begin(rows);
  while (has_row_) {
    if (columns_.item >= 0 && reader_.row()[static_cast<size_t>(columns_.item)] != rows->item) break;
    PLINTH_RETURN_IF_ERROR(AddRow(rows));
    PLINTH_RETURN_IF_ERROR(Advance());
  }
  return true;
}

StatusOr<std::vector<ItemRows>> ItemReader::All() {
  std::vector<ItemRows> all;
  std::unordered_map<std::string, size_t> index;
  while (has_row_) {
    const auto [at, fresh] = index.emplace(Cell(columns_.item), all.size());
    if (fresh) Begin(&all.emplace_back());
    PLINTH_RETURN_IF_ERROR(AddRow(&all[at->second]));
    PLINTH_RETURN_IF_ERROR(Advance());
  }
  return all;
}

}  // namespace plinth::engine
