// plinth relate: which columns of a CSV lead which others, and by how many rows.
#include "plinth/detect/relate.h"

#include <cstdio>

#include "apps/plinth/command.h"
#include "apps/plinth/series_options.h"
#include "apps/plinth/subcommands.h"
#include "plinth/base/interrupt.h"
#include "plinth/engine/series_file.h"
#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"

namespace plinth::app {
namespace {

struct Options : CommonOptions {
  std::string data;
  engine::SeriesColumns columns;
  detect::RelateOptions relate;
};

// One item's relations beside the item.
struct Related {
  const engine::SeriesItem& item;
  const detect::Relations& relations;
  const std::vector<std::string>& names;
};

const std::string& Name(const Related& r, int64_t column) { return r.names[static_cast<size_t>(column)]; }

void WriteJson(const Related& r, double level, formats::JsonWriter& w) {
  w.BeginObject();
  w.Key("item");
  r.item.item.empty() ? w.Null() : w.String(r.item.item);
  w.Key("freq"), w.String(r.item.FrequencyName());
  w.Key("rows"), w.Int(r.relations.rows);
  w.Key("most_lag"), w.Int(r.relations.most_lag);
  w.Key("level"), w.Number(level);
  w.Key("tested"), w.Int(r.relations.tested);
  w.Key("silent");
  w.BeginArray();
  for (const int64_t column : r.relations.silent) w.String(Name(r, column));
  w.EndArray();
  w.Key("relations");
  w.BeginArray();
  for (const detect::Relation& relation : r.relations.found) {
    w.BeginObject();
    w.Key("leader"), w.String(Name(r, relation.leader));
    w.Key("follower"), w.String(Name(r, relation.follower));
    w.Key("lag"), w.Int(relation.lag);
    w.Key("correlation"), w.Number(relation.correlation);
    w.Key("p_value"), w.Number(relation.p_value);
    w.EndObject();
  }
  w.EndArray();
  w.EndObject();
  w.EndLine();
}

std::string Text(const Related& r, double level) {
  std::string text;
  if (!r.item.item.empty()) StrAppend(&text, "item ", formats::QuotedShort(r.item.item), "\n");
  const size_t count = r.relations.found.size();
  StrAppend(&text, r.relations.rows, " rows of ", r.item.FrequencyName(), ", lags up to ",
            r.relations.most_lag, ", ", count, " of ", r.relations.tested, " relations found at the level ",
            level, "\n");
  for (const detect::Relation& relation : r.relations.found) {
    char numbers[64];
    std::snprintf(numbers, sizeof(numbers), "  r %+.3f  p %.2g\n", relation.correlation, relation.p_value);
    if (relation.lag == 0) {
      StrAppend(&text, "  ", Name(r, relation.leader), " and ", Name(r, relation.follower), " move together",
                numbers);
    } else {
      StrAppend(&text, "  ", Name(r, relation.leader), " leads ", Name(r, relation.follower), " by ",
                relation.lag, relation.lag == 1 ? " row" : " rows", numbers);
    }
  }
  return text;
}

StatusOr<int> Run(const Options& o) {
  InterruptGuard interrupt;
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  PLINTH_ASSIGN_OR_RETURN(engine::SeriesFile file, engine::SeriesFile::Open(o.data, o.columns));
  std::string out;
  formats::JsonWriter json(&out);
  Notes notes;
  if (!file.note().empty()) notes.Add(StrCat(file.path(), ": ", file.note()));
  engine::SeriesItem item;
  while (true) {
    PLINTH_ASSIGN_OR_RETURN(const bool more, file.Next(&item));
    if (!more) break;
    PLINTH_RETURN_IF_ERROR(CheckInterrupted());
    const std::vector<std::span<const double>> columns(item.values.begin(), item.values.end());
    const auto relations = detect::Relate(std::span<const std::span<const double>>(columns), o.relate,
                                          runtime->threads(), &Interrupted);
    const std::string where =
        item.item.empty() ? file.path() : StrCat(file.path(), ": item ", formats::QuotedShort(item.item));
    if (!relations.ok()) return Prepend(relations.status(), where);
    const Related related{item, *relations, file.targets()};
    if (o.json) {
      WriteJson(related, o.relate.level, json);
    } else {
      out += Text(related, o.relate.level);
    }
    for (const int64_t column : relations->silent) {
      notes.Add(StrCat(where, ": column ", formats::QuotedShort(Name(related, column)),
                       " is constant, or its past explains all of it; it relates to nothing"));
    }
    for (const std::string& note : item.notes) notes.Add(note);
  }
  PLINTH_RETURN_IF_ERROR(Print(out));
  PLINTH_RETURN_IF_ERROR(FlushOutput());
  notes.Print();
  return 0;
}

}  // namespace

void AddRelate(Program& program) {
  auto o = std::make_shared<Options>();
  CLI::App* command = program.Add("relate", "which columns of a CSV file lead which others");
  AddColumnOptions(command, &o->data, &o->columns);
  command->add_option("--max-lag", o->relate.most_lag, "rows; at most an eighth of the rows")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--level", o->relate.level, "share of false relations among those found")
      ->capture_default_str();
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return Run(*o); });
}

}  // namespace plinth::app
