#include "plinth/verify/metrics/pattern.h"

#include <re2/re2.h>

#include "plinth/formats/json.h"

namespace plinth::verify::metrics {

struct Pattern::Program {
  Program(std::string_view pattern, const RE2::Options& options)
      : expression(re2::StringPiece(pattern.data(), pattern.size()), options) {}
  RE2 expression;
};

StatusOr<Pattern> Pattern::Compile(std::string_view pattern) {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(16 << 20);
  Pattern result;
  auto program = std::make_shared<Program>(pattern, options);
  if (!program->expression.ok()) {
    return absl::InvalidArgumentError(
        StrCat("the pattern ", formats::QuotedShort(pattern), " is wrong: ", program->expression.error()));
  }
  result.program_ = std::move(program);
  return result;
}

bool Pattern::MatchesAll(std::string_view text) const {
  return RE2::FullMatch(re2::StringPiece(text.data(), text.size()), program_->expression);
}

bool Pattern::has_group() const { return program_->expression.NumberOfCapturingGroups() > 0; }

std::vector<std::string> Pattern::FirstGroups(std::string_view text) const {
  std::vector<std::string> groups;
  if (!has_group()) return groups;
  const re2::StringPiece all(text.data(), text.size());
  re2::StringPiece matches[2];
  size_t from = 0;
  while (from <= text.size() &&
         program_->expression.Match(all, from, text.size(), RE2::UNANCHORED, matches, 2)) {
    if (matches[1].data() != nullptr) groups.emplace_back(matches[1].data(), matches[1].size());
    const auto end = static_cast<size_t>(matches[0].data() - text.data()) + matches[0].size();
    from = matches[0].empty() ? end + 1 : end;
  }
  return groups;
}

}  // namespace plinth::verify::metrics
