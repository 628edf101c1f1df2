// Records what a machine and its software stack are: each fact with its value and where it was read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plinth/base/status.h"
#include "plinth/base/threads.h"

namespace plinth::evidence {

inline constexpr std::string_view kEnvironmentSchema = "plinth.environment/1";
// The file that holds a record, in captures and evidence folders.
inline constexpr std::string_view kEnvironmentFile = "environment.json";

using FactValue = std::variant<std::string, int64_t, bool, std::vector<std::string>>;

// What is unknown has no fact: nothing is guessed.
struct Fact {
  std::string section;  // "cpu", "devices", ...; docs/environment.md lists them
  std::string item;  // which one of several ("0" in devices, a path in libraries); empty: the section has one
  std::string name;  // "model"
  FactValue value;
  std::vector<std::string> sources;  // files, tools ("tool rocminfo"), variables ("variable HIP_PATH")

  // "devices.0.gfx"; "cpu.model".
  std::string Path() const;
};

// The value as text: numbers in decimal, true or false, lists joined by ", ".
std::string FactText(const FactValue& value);

enum class Severity : uint8_t { kNote, kWarning, kError };
std::string_view SeverityName(Severity severity);  // "note", "warning", "error"

// Sources that contradict each other, or a state in which a run would fail or mean something else.
struct Finding {
  std::string id;  // stable, as "hip-override-set"; docs/environment.md lists them
  Severity severity = Severity::kNote;
  std::string sentence;  // what was found
  std::string resolve;   // what would resolve it
};

struct Environment {
  std::string time;               // RFC 3339, UTC; of the recording where a recorded tree tells it
  std::string root;               // the recorded tree; empty: this machine
  std::vector<Fact> facts;        // sections together, items of a section together
  std::vector<Finding> findings;  // worst first

  // Null where it is unknown.
  const Fact* Find(std::string_view section, std::string_view item, std::string_view name) const;
  // FactText of it; empty where it is unknown.
  std::string Text(std::string_view section, std::string_view item, std::string_view name) const;
  // The items of a section, in order.
  std::vector<std::string> Items(std::string_view section) const;

  // Adds the fact, or `source` to one that is there with the same value. A second value for the same name is
  // kept under "NAME (SOURCE)" with its own source, so that both are seen.
  void Add(std::string_view section, std::string_view item, std::string_view name, FactValue value,
           std::string_view source);
};

struct EnvironmentOptions {
  std::string root;                    // a recorded tree to read instead of this machine; empty: this machine
  std::string python;                  // interpreter whose packages to list; empty: Python is not asked
  std::vector<std::string> libraries;  // files, and folders to search, for the GPU targets of their code
  std::string model;                   // model folder to digest; empty: none
  std::vector<std::string> inputs;     // files to digest
  bool digest_program = true;          // digest this program and the libraries it has mapped
  bool run_tools = true;               // ask the vendors' tools that are installed
  double tool_seconds = 10;            // after which a tool is stopped, all running side by side
  Threads* threads = nullptr;          // must be set
};

// Collects every fact that can be had and holds them against each other. Missing and broken sources only
// leave facts out, with a finding. Errors: NotFound, InvalidArgument, PermissionDenied for what the options
// name and cannot be read; InvalidArgument for --python, model or inputs together with a root, which belong
// to another machine; Cancelled.
StatusOr<Environment> CollectEnvironment(const EnvironmentOptions& options);

// One JSON object on one line, schema kEnvironmentSchema, read back by ParseEnvironment without loss.
std::string ToJson(const Environment& environment);

// Reads what ToJson wrote; keys it does not know beside the schema's own are passed over. `where` begins
// every message. Errors: InvalidArgument for bad JSON, another schema, a fact of another shape.
StatusOr<Environment> ParseEnvironment(std::string_view text, std::string_view where);

}  // namespace plinth::evidence
