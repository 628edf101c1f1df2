// Normalises transcripts by rules that are data, and cuts them into words and characters.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/verify/metrics/unicode_text.h"

namespace plinth::verify::metrics {

// One table of a rule file (`schema = "plinth.asr-rules/1"`); docs/metrics.md describes the keys.
class TranscriptRules {
 public:
  // Errors: FileError; InvalidArgument for bad syntax, unknown keys, and a file without the table `language`.
  static StatusOr<TranscriptRules> Load(const std::string& path, const std::string& language);
  // The shipped file, cases/asr_rules.toml.
  static StatusOr<TranscriptRules> Shipped(const std::string& language);

  struct Symbols {
    std::vector<std::string> words;
    std::vector<uint32_t> characters;  // code points
  };
  // `text` is UTF-8.
  Symbols Cut(std::string_view text) const;
  const std::string& digest() const { return digest_; }

 private:
  static StatusOr<TranscriptRules> Parse(std::string_view text, const std::string& where,
                                         const std::string& language);

  NormalForm form_ = NormalForm::kAsIs;
  bool lower_ = false, remove_punctuation_ = false;
  bool any_space_ = true;     // every white space separates words; else as jiwer
  bool mixed_ = false;        // each Chinese or Japanese character is a word
  bool space_counts_ = true;  // among characters
  std::u32string keep_;       // of punctuation
  std::vector<std::pair<std::string, std::string>> replace_;
  std::map<std::string, std::string> replace_words_;  // by nothing: removed
  std::string digest_;
};

}  // namespace plinth::verify::metrics
