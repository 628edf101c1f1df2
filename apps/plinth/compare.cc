// plinth compare: two captures or two safetensors files, tensor by tensor.
#include <algorithm>
#include <charconv>

#include "apps/plinth/command.h"
#include "plinth/base/clock.h"
#include "plinth/base/interrupt.h"
#include "plinth/verify/compare_files.h"

namespace plinth::app {
namespace {

using verify::CheckStatus;
using verify::CompareRow;

constexpr size_t kShown = 10;  // rows of the table without -v

struct CompareCommand : CommonOptions {
  verify::CompareOptions compare;
  verify::RuleOptions rules;
  std::string canary, k;
  bool verbose = false;
};

bool Good(const CompareRow& row, bool allow_extra) {
  return row.status == CheckStatus::kPassed || row.status == CheckStatus::kWarned ||
         row.status == CheckStatus::kUnproven || (allow_extra && row.status == CheckStatus::kExtra);
}

// How far a row is from its line: the rest of a table that shows the worst only.
double Severity(const CompareRow& row) {
  if (!row.compared) return 1e300;
  if (row.judged.has_value()) {
    // A warning is shown before all that passed.
    double share = row.status == CheckStatus::kPassed ? 0 : 1e200;
    for (const verify::RuleResult& rule : row.judged->verdict.rules) share = std::max(share, rule.share);
    return share;
  }
  if (row.limit > 0) return row.difference.rel_l2 / row.limit;
  return row.difference.rel_l2;
}

// Keeps the worst rows for people, or prints all as JSON as they come.
class Table {
 public:
  Table(const CompareCommand& o) : o_(o) {}  // NOLINT: short-lived

  void Take(const CompareRow& row) {
    if (!status_.ok()) return;
    if (o_.json || o_.verbose) {
      status_ = Print(StrCat(o_.json ? ToJson(row) : ToText(row), "\n"));
      return;
    }
    const bool good = Good(row, o_.compare.allow_extra);
    if (!good) ++bad_;
    if (good && row.status == CheckStatus::kPassed && !row.compared) return;
    rows_.push_back({good, Severity(row), ToText(row)});
    std::stable_sort(rows_.begin(), rows_.end(), [](const Line& x, const Line& y) {
      return x.good != y.good ? !x.good : x.severity > y.severity;
    });
    if (rows_.size() > kShown) rows_.pop_back();
  }

  StatusOr<int> Finish(const verify::CompareSummary& summary) {
    PLINTH_RETURN_IF_ERROR(status_);
    if (o_.json) {
      PLINTH_RETURN_IF_ERROR(Print(StrCat(ToJson(summary), "\n")));
    } else {
      std::string text;
      if (!o_.verbose) {
        const bool failed = summary.verdict() == "fail";
        if (summary.verdict() == "pass" && rows_.size() > 3) rows_.resize(3);
        if (!rows_.empty()) text += failed ? "worst tensors\n" : "nearest to their limits\n";
        for (const Line& line : rows_) {
          if (!failed || !line.good) StrAppend(&text, line.text, "\n");
        }
        if (bad_ > static_cast<int64_t>(kShown))
          StrAppend(&text, "and ", bad_ - static_cast<int64_t>(kShown), " more (-v shows all)\n");
      }
      PLINTH_RETURN_IF_ERROR(Print(StrCat(text, ToText(summary), "\n")));
    }
    return summary.verdict() == "fail" ? 1 : 0;
  }

 private:
  struct Line {
    bool good;
    double severity;
    std::string text;
  };
  const CompareCommand& o_;
  std::vector<Line> rows_;
  int64_t bad_ = 0;
  Status status_;
};

StatusOr<uint64_t> ParseCanary(std::string text) {
  const std::string whole = text;
  if (text.rfind("0x", 0) == 0) text = text.substr(2);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error == std::errc() && end == text.data() + text.size() && !text.empty()) return value;
  return absl::InvalidArgumentError(StrCat("--canary ", whole, ": up to 16 hexadecimal digits are expected"));
}

StatusOr<int> Compare(const CompareCommand& o) {
  verify::CompareOptions options = o.compare;
  if (!o.canary.empty()) {
    PLINTH_ASSIGN_OR_RETURN(options.canary, ParseCanary(o.canary));
  }
  if (!o.k.empty()) {
    const auto [end, error] = std::from_chars(o.k.data(), o.k.data() + o.k.size(), options.k);
    if (error != std::errc() || end != o.k.data() + o.k.size() || options.k < 1) {
      return absl::InvalidArgumentError(
          StrCat("--k ", o.k, ": the length of the reductions, 1 or more, is expected"));
    }
  }
  const verify::RuleOptions& r = o.rules;
  const std::string* const given[] = {&r.rules,      &options.truth, &r.incumbent,   &r.band,
                                      &r.write_band, &r.waivers,     &r.requirements};
  if (std::any_of(std::begin(given), std::end(given), [](const auto* text) { return !text->empty(); })) {
    options.rules = r;
    options.rules->today = verify::DayOf(Clock::System().Wall());
    if (!o.k.empty()) options.rules->terms = static_cast<double>(options.k);
  }
  PLINTH_ASSIGN_OR_RETURN(auto runtime, Runtime::Make(o));
  const InterruptGuard guard;
  options.interrupted = Interrupted;
  Table table(o);
  PLINTH_ASSIGN_OR_RETURN(const auto summary, CompareFiles(runtime->context(), options,
                                                           [&](const CompareRow& row) { table.Take(row); }));
  PLINTH_ASSIGN_OR_RETURN(const int code, table.Finish(summary));
  Notes notes;
  if (summary.rules.has_value()) {
    for (const std::string& note : summary.rules->notes) notes.Add(note);
  }
  notes.Print();
  return code;
}

void AddRuleOptions(CLI::App* command, verify::RuleOptions* r) {
  command->add_option("--rules", r->rules, "judge by the acceptance's rules: a file, or builtin");
  command->add_option("--incumbent", r->incumbent, "the trusted platform's values (default: REF)");
  command->add_option("--band", r->band, "folder with captures of the incumbent's repeats, or band.json");
  command->add_option("--write-band", r->write_band, "write the band of these repeats as band.json");
  command->add_option("--waivers", r->waivers, "records that take a warning upon somebody (TOML)");
  command->add_option("--requirements", r->requirements, "lines of a contract, reported beside the rules");
}

}  // namespace

void AddCompare(Program& program) {
  auto o = std::make_shared<CompareCommand>();
  CLI::App* command = program.Add("compare", "two captures or safetensors files, tensor by tensor");
  verify::CompareOptions& c = o->compare;
  command->add_option("reference", c.reference, "capture folder, safetensors file, or folder of either")
      ->required();
  command->add_option("candidate", c.candidate, "the same of the other side")->required();
  command->add_option("--truth", c.truth,
                      "the same values in double: each side's own error level, rules 2 and 3");
  AddRuleOptions(command, &o->rules);
  command->add_option("--class", c.class_name,
                      "limits of an operator class: A, A', B ... K (default: by type)");
  command->add_option("--k", o->k, "length of the reductions, for the classes that need it (default: 4096)");
  command->add_option("--map", c.map, "names and layouts of the candidate (TOML or JSON)");
  command->add_option("--only", c.only, "regular expression: only tensors with such a whole name");
  command->add_flag("--allow-extra", c.allow_extra, "tensors that only the candidate has are fine");
  command->add_flag("--allow-different", c.allow_different, "compare captures of different models or inputs");
  command->add_flag("--digest", c.digest, "SHA-256 of every tensor in the same pass");
  command->add_option("--canary", o->canary, "fill pattern that must not be left, in hexadecimal");
  command->add_flag("-v,--verbose", o->verbose, "show every tensor");
  program.AddCommon(command, o.get());
  Program::AddJson(command, o.get());
  program.Run(command, [o] { return Compare(*o); });
}

}  // namespace plinth::app
