// Holds the one list of statuses that everything Plinth checks ends in (docs/commands.md).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace plinth {

// Unimplemented and missing count as failed.
enum class CheckStatus : uint8_t {
  kPassed,
  kWarned,
  kFailed,
  kUnimplemented,
  kRefused,     // Plinth said no where its documentation says so
  kMistrusted,  // the comparison itself did not notice a planted fault
  kUnproven,
  kMissing,
  kExtra,
};

// In the order of the list; these are the words of every file and message.
inline constexpr std::array<std::string_view, 9> kCheckStatusNames = {
    "passed", "warned", "failed", "unimplemented", "refused", "mistrusted", "unproven", "missing", "extra"};

constexpr std::string_view CheckStatusName(CheckStatus status) {
  return kCheckStatusNames[static_cast<size_t>(status)];
}

}  // namespace plinth
