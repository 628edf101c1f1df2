// Reads generated answers by rules that are data: what is the same, a refusal, a citation, a format.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/formats/config.h"
#include "plinth/verify/metrics/pattern.h"
#include "plinth/verify/metrics/unicode_text.h"

namespace plinth::verify::metrics {

// A format that an answer can be asked to have.
class AnswerFormat {
 public:
  // A table [formats.NAME]. Errors: InvalidArgument for unknown keys, patterns and schemas that are wrong.
  static StatusOr<AnswerFormat> Read(const formats::Config& table);
  bool Adheres(std::string_view answer) const;

 private:
  // kind = "pattern": all of the answer matches.
  std::shared_ptr<const Pattern> pattern_;
  // kind = "json": the answer is JSON that fits the schema.
  bool unfence_ = false;
  formats::JsonValue schema_;
};

// Whether a JSON value fits a schema, the part of JSON Schema (draft 2020-12) that says what a value holds:
// type, enum, const, properties, required, additionalProperties (true or false), items, minItems, maxItems,
// minLength, maxLength, minimum, maximum, pattern.
bool FitsSchema(const formats::JsonValue& value, const formats::JsonValue& schema);
// Whether FitsSchema knows every word of it. Error: InvalidArgument naming the first that it does not.
Status CheckSchema(const formats::JsonValue& schema, const std::string& path);

// A rule file (`schema = "plinth.generation-rules/1"`); docs/metrics.md describes the keys.
class AnswerRules {
 public:
  // Errors: FileError; InvalidArgument.
  static StatusOr<AnswerRules> Load(const std::string& path);
  // The shipped file, cases/generation_rules.toml.
  static StatusOr<AnswerRules> Shipped();

  // An answer in the form in which it is compared with an expected one.
  std::string Comparable(std::string_view answer) const;
  bool Refuses(std::string_view answer) const;
  // What an answer cites, each once, in order.
  std::vector<std::string> Citations(std::string_view answer) const;
  // Null where there is no such format.
  const AnswerFormat* Format(std::string_view name) const;
  std::vector<std::string> FormatNames() const;
  const std::string& digest() const { return digest_; }

 private:
  static StatusOr<AnswerRules> Parse(std::string_view text, const std::string& where);
  Status ReadExactMatch(const formats::Config& table);
  Status ReadRefusal(const formats::Config& table);
  Status ReadCitation(const formats::Config& table);

  struct Form {
    NormalForm form = NormalForm::kAsIs;
    bool lower = false;
  };
  static StatusOr<Form> ReadForm(const formats::Config& table);

  Form match_form_, refusal_form_;
  bool collapse_spaces_ = false;
  std::u32string strip_;
  int64_t refusal_within_ = 0;  // characters; 0: the whole answer
  std::vector<std::string> refusals_;
  std::vector<Pattern> citations_;
  std::map<std::string, AnswerFormat, std::less<>> formats_;
  std::string digest_;
};

}  // namespace plinth::verify::metrics
