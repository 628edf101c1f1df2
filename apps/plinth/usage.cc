#include "apps/plinth/usage.h"

#include <string_view>
#include <vector>

#include "plinth/base/text.h"

namespace plinth::app {
namespace {

// "forecast, backtest, models": what may follow `app`.
std::string Commands(const CLI::App& app) {
  return Join(app.get_subcommands([](const CLI::App*) { return true; }), ", ",
              [](const CLI::App* command) { return command->get_name(); });
}

// A word that nothing takes is the cause of most other complaints, so it comes first.
std::string Unknown(const std::string& word, const CLI::App& at) {
  if (word.size() > 1 && word[0] == '-') return StrCat("unknown option ", word.substr(0, word.find('=')));
  const std::string commands = Commands(at);
  if (commands.empty()) return StrCat("unexpected argument \"", word, "\"");
  return StrCat("unknown command \"", word, "\"; there are ", commands);
}

std::string What(const CLI::ParseError& error, const CLI::App& at) {
  const std::string_view text = error.what();
  const bool required = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const bool extras = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::vector<std::string> rest = at.remaining();
  if ((required || extras) && !rest.empty()) return Unknown(rest.front(), at);
  if (required && text == "A subcommand is required") {
    return StrCat("a command is missing; there are ", Commands(at));
  }
  const std::string_view name = text.substr(0, text.find(':'));
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    if (text.ends_with(" missing")) return StrCat(name, " needs a value");
    if (text.find("At Most 1 ") != text.npos) return StrCat(name, " is given more than once");
  }
  constexpr std::string_view kConvert = "Could not convert: ";
  if (text.starts_with(kConvert)) return StrCat(text.substr(kConvert.size()), ": a number is expected");
  return std::string(text);
}

}  // namespace

std::string UsageMessage(const CLI::ParseError& error, const CLI::App& app) {
  const CLI::App* at = &app;
  std::string command = "plinth";
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().front();
    command += " " + at->get_name();
  }
  return StrCat(What(error, *at), "; see ", command, " --help");
}

}  // namespace plinth::app
