// Carries one acceptance through its steps: what they work on, and what they found.
#pragma once

#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/accept/inputs.h"
#include "plinth/accept/journal.h"
#include "plinth/accept/recipe.h"
#include "plinth/accept/subject.h"
#include "plinth/base/context.h"
#include "plinth/engine/session.h"
#include "plinth/report/acceptance_view.h"
#include "plinth/verify/requirements.h"
#include "plinth/verify/rows.h"

namespace plinth::accept {

// One checked thing; a line of records.jsonl and a case of the test reports.
struct Record {
  std::string question;  // id of the checklist item it answers
  std::string name;      // "softmax", "encoder.block.3", "mase"
  verify::CheckStatus status = verify::CheckStatus::kUnproven;
  double measured = std::numeric_limits<double>::quiet_NaN();
  double limit = std::numeric_limits<double>::quiet_NaN();
  std::string detail;     // one line
  std::string reproduce;  // a command
  double seconds = 0;     // since the record before it, or the beginning of its step
  bool aside = false;     // nobody asked for it: where it is unproven, its question is none the worse
  bool resumed = false;   // an earlier process of the same acceptance found it
};
std::string ToJson(const Record& record);

// The seven questions, in the order in which they are answered.
enum class Ask : uint8_t { kEnvironment, kInputs, kOperators, kLayers, kTask, kPerformance, kRepeatability };
inline constexpr int kAsks = 7;
std::string_view AskId(Ask ask);

struct Work {
  const Context* context = nullptr;
  const Recipe* recipe = nullptr;
  std::string program = "plinth";              // how reproduce lines call it
  std::string folder;                          // for files on the way; exists
  std::function<bool()> interrupted;           // asked between pieces of work
  std::function<void(std::string_view)> tell;  // "operators: softmax"; may be empty
  engine::Session* session = nullptr;          // null where only captures are compared
  const Subject* subject = nullptr;
  Journal* journal = nullptr;

  AcceptanceView view;
  std::vector<Record> records;
  std::string performance_json;                  // for the statement; empty: not measured
  std::vector<evidence::NamedDigest> reference;  // what was held against
  std::vector<evidence::Waiver> waivers;
  std::vector<evidence::AskedItem> asked;
  std::array<int64_t, kAsks> unproven{};  // records of each question that were asked for and stayed unproven
  std::chrono::steady_clock::time_point mark = std::chrono::steady_clock::now();

  AcceptanceView::Question& at(Ask ask) { return view.questions[static_cast<size_t>(ask)]; }
  // Adds a record and lets the question's answer sink to it: a failed one makes it "no", a warning "warned",
  // a good one "yes" where nothing worse is known; unproven ones are counted for Settle.
  void Add(Ask ask, Record record);
  // What follows is timed from now on.
  void BeginStep() { mark = std::chrono::steady_clock::now(); }
  // Once all records are there: a question is answered with yes, or yes with a warning, only where nothing
  // that was asked stayed unproven; one that is answered with no says why.
  void Settle();
  // The sentence that says why a question fails: the first one stays.
  void SayWrong(Ask ask, Message message, std::vector<std::string> arguments = {});
  void Say(Ask ask, Message message, std::vector<std::string> arguments = {});
  void Tell(std::string_view what) const {
    if (tell) tell(what);
  }
  // Cancelled once the user asked for it.
  Status CheckInterrupted() const;
  // Whether some question is answered with no.
  bool Failed() const;
};

// Reports a line of the customer's own contract beside the rules. tensor: what it speaks of; empty for a
// task's.
void AddRequirement(Work& work, Ask ask, const verify::RequirementResult& result, const std::string& tensor);

// "softmax n17 y0 f32: 3 of 17 elements are outside": a checked output and what is wrong with it, on one
// line.
std::string OneLine(const verify::CheckRow& row);

// "0.00123", "1.5e-07", "1820": three significant digits, whole numbers from a thousand on; "-" for what is
// not finite.
std::string Short(double value);

}  // namespace plinth::accept
