// Holds what an acceptance shows to people, without a language: terminal and page turn it into sentences.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plinth/report/languages.h"

namespace plinth {

// A sentence of the table with what fills its placeholders.
struct Phrase {
  Message message;
  std::vector<std::string> arguments;
};
// Fixed sentences among the arguments are said in the language too (sentences.h).
std::string Text(Language language, const Phrase& phrase);

struct AcceptanceView {
  enum class Answer : uint8_t { kYes, kWarned, kNo, kUnproven };
  enum class Verdict : uint8_t { kPass, kWarn, kFail };

  struct Question {
    std::string id;  // "environment", "inputs", "operators", "layers", "task", "performance", "repeatability"
    Message question;  // "Do all layers agree with the reference?"
    Answer answer = Answer::kUnproven;
    std::vector<Phrase> reasons;  // the most important one first
    std::optional<Phrase> why;    // of one that is answered with no: one sentence
  };
  // Drift over depth: one layer, in execution order. Relative L2 errors; NaN where it was not measured.
  struct DriftPoint {
    std::string layer, op;
    double free = 0;   // with all that came before
    double local = 0;  // with the reference's inputs
  };
  struct Table {
    Message title;
    std::vector<Message> columns;
    std::vector<std::vector<std::string>> rows;
    std::vector<int> marked;  // rows to show as failed
  };

  Verdict verdict = Verdict::kFail;
  std::string model;
  std::string identity;  // digest
  std::string created;   // as the reader should see it
  std::string version;   // of Plinth
  std::string commit;    // that it was built from; empty: not shown
  std::string signer;    // key id, or empty
  bool self_attested = true;
  std::vector<std::pair<Message, std::string>> facts;  // further names and values, as machine and data
  std::vector<Question> questions;                     // the seven, in order
  std::vector<DriftPoint> drift;
  double drift_limit = 0;              // relative L2 that a layer may have
  std::string first_drift;             // name of the first layer beyond it; empty: none
  std::vector<Table> tables;           // operators, layers, metrics, speed, environment findings, identity
  std::vector<Phrase> standing;        // earlier failures that this acceptance does not lift
  std::vector<Phrase> limits;          // known limits
  std::vector<std::string> reproduce;  // commands
};

}  // namespace plinth
