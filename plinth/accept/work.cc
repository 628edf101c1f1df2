#include "plinth/accept/work.h"

#include <algorithm>
#include <cstdio>

#include "plinth/base/check.h"
#include "plinth/base/text.h"
#include "plinth/formats/json_writer.h"
#include "plinth/report/check_result.h"

namespace plinth::accept {

using verify::CheckStatus;
using Answer = AcceptanceView::Answer;

std::string ToJson(const Record& record) {
  std::string out;
  formats::JsonWriter w(&out);
  w.BeginObject();
  w.Key("question"), w.String(record.question);
  w.Key("name"), w.String(record.name);
  w.Key("status"), w.String(verify::StatusName(record.status));
  w.Key("measured"), w.Number(record.measured);
  w.Key("limit"), w.Number(record.limit);
  if (!record.detail.empty()) w.Key("detail"), w.String(record.detail);
  if (!record.reproduce.empty()) w.Key("reproduce"), w.String(record.reproduce);
  w.Key("seconds"), w.Number(record.seconds);
  if (record.resumed) w.Key("resumed"), w.Bool(true);
  w.EndObject();
  return out;
}

std::string_view AskId(Ask ask) {
  constexpr std::string_view kIds[kAsks] = {"environment", "inputs",      "operators",    "layers",
                                            "task",        "performance", "repeatability"};
  return kIds[static_cast<size_t>(ask)];
}

void Work::Add(Ask ask, Record record) {
  record.question = AskId(ask);
  Answer& answer = at(ask).answer;
  switch (record.status) {
    case CheckStatus::kPassed:
    case CheckStatus::kRefused:
      if (answer == Answer::kUnproven) answer = Answer::kYes;
      break;
    case CheckStatus::kWarned:
    case CheckStatus::kExtra:
      if (answer != Answer::kNo) answer = Answer::kWarned;
      break;
    case CheckStatus::kFailed:
    case CheckStatus::kUnimplemented:
    case CheckStatus::kMissing:
    case CheckStatus::kMistrusted:
      answer = Answer::kNo;
      break;
    case CheckStatus::kUnproven:
      unproven[static_cast<size_t>(ask)] += !record.aside;
      break;
  }
  const auto now = std::chrono::steady_clock::now();
  record.seconds = std::chrono::duration<double>(now - mark).count();
  mark = now;
  records.push_back(std::move(record));
}

void Work::Say(Ask ask, Message message, std::vector<std::string> arguments) {
  at(ask).reasons.push_back({message, std::move(arguments)});
}

void Work::SayWrong(Ask ask, Message message, std::vector<std::string> arguments) {
  if (!at(ask).why.has_value()) at(ask).why = Phrase{message, arguments};
  Say(ask, message, std::move(arguments));
}

void Work::Settle() {
  for (int i = 0; i < kAsks; ++i) {
    const Ask ask = static_cast<Ask>(i);
    AcceptanceView::Question& question = at(ask);
    const int64_t open = unproven[static_cast<size_t>(i)];
    if (open > 0 && question.answer != Answer::kNo && question.answer != Answer::kUnproven) {
      question.answer = Answer::kUnproven;
      Say(ask, Message::kPartsUnproven, {StrCat(open)});
    }
    const auto left = std::find_if(records.begin(), records.end(), [&](const Record& r) {
      return r.question == question.id && r.status == CheckStatus::kUnproven && !r.aside;
    });
    if (question.answer == Answer::kUnproven && question.reasons.empty() && left != records.end()) {
      Say(ask, Message::kTaskUndecided, {left->name, left->detail});
    }
    if (question.answer != Answer::kNo || question.why.has_value()) continue;
    // No step put it into a sentence of its own: the first record that failed does.
    const auto bad = std::find_if(records.begin(), records.end(), [&](const Record& r) {
      return r.question == question.id && OutcomeOf(r.status) == CheckOutcome::kFailed;
    });
    if (bad != records.end()) SayWrong(ask, Message::kRecordFailed, {bad->name, bad->detail});
  }
}

Status Work::CheckInterrupted() const {
  return interrupted && interrupted() ? absl::CancelledError("interrupted") : absl::OkStatus();
}

bool Work::Failed() const {
  return std::any_of(view.questions.begin(), view.questions.end(),
                     [](const AcceptanceView::Question& q) { return q.answer == Answer::kNo; });
}

void AddRequirement(Work& work, Ask ask, const verify::RequirementResult& result, const std::string& tensor) {
  Record record;
  record.name = StrCat("requirement ", result.name, tensor.empty() ? "" : StrCat(": ", tensor));
  record.status = result.status == "passed"   ? CheckStatus::kPassed
                  : result.status == "failed" ? CheckStatus::kFailed
                                              : CheckStatus::kUnproven;
  record.detail = result.detail;
  if (record.status == CheckStatus::kFailed) {
    work.SayWrong(ask, Message::kRecordFailed, {record.name, result.detail});
  } else if (record.status == CheckStatus::kUnproven) {
    work.Say(ask, Message::kTaskUndecided, {record.name, result.detail});
  }
  // A contract's line that holds proves nothing by itself.
  const Answer before = work.at(ask).answer;
  const bool held = record.status == CheckStatus::kPassed;
  work.Add(ask, std::move(record));
  if (held) work.at(ask).answer = before;
}

std::string OneLine(const verify::CheckRow& row) {
  std::vector<std::string> words;
  for (const std::string& word : {row.op, row.case_name, row.output, row.dtype}) {
    if (!word.empty()) words.push_back(word);
  }
  return StrCat(Join(words, " "), ": ",
                row.detail.empty() ? std::string(verify::StatusName(row.status)) : row.detail);
}

std::string Short(double value) {
  if (!std::isfinite(value)) return "-";
  const bool plain = std::abs(value) >= 1000 && std::abs(value) < 1e7;
  char text[32];
  std::snprintf(text, sizeof(text), plain ? "%.0f" : "%.3g", value);
  return text;
}

}  // namespace plinth::accept
