// Reads files of this machine, or of a recorded tree without ever leaving it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::evidence {

// Folder of a recorded tree that holds what files cannot: outputs of tools, variables, permissions.
inline constexpr std::string_view kRecordedFolder = "/plinth-recorded";

// A device node, as `ls -l` shows it, and what this user may do with it.
struct Node {
  std::string mode;    // "crw-rw----"; empty: not known
  std::string owner;   // "root:video"; empty: not known
  std::string access;  // "rw", "r", "w" or "none"
};

// Paths are those of the recorded machine ("/proc/cpuinfo"). Symbolic links are followed as that machine
// would: an absolute target begins at the tree's root, and ".." ends there. Only regular files are opened, so
// a pipe or a device in a tree blocks nobody.
class SystemTree {
 public:
  // root: "" and "/" are this machine. Errors: NotFound, PermissionDenied; InvalidArgument for anything but a
  // folder and for a broken manifest of permissions.
  static StatusOr<SystemTree> Open(const std::string& root);

  bool recorded() const { return !root_.empty(); }
  const std::string& root() const { return root_; }

  // At most `limit` bytes of the file. Nothing where it is missing or cannot be read; the latter, and files
  // that were cut, are remembered in `troubles`.
  std::optional<std::string> Read(std::string_view path, size_t limit = 64 << 10) const;
  // The first line, trimmed and printable; empty where there is none.
  std::string ReadLine(std::string_view path) const;
  // Sorted names in a folder, at most 10 000; empty where there is none.
  std::vector<std::string> List(std::string_view path) const;
  bool Exists(std::string_view path) const;
  bool IsFolder(std::string_view path) const;
  // What the link says; empty where it is no link.
  std::string LinkTarget(std::string_view path) const;
  // The path with every link resolved, inside the tree; empty where nothing is there, or links go round.
  std::string Resolve(std::string_view path) const;
  // Where a path that Resolve gave lies on this machine.
  std::string HostPath(std::string_view resolved) const { return root_ + std::string(resolved); }

  // Device nodes below /dev whose path begins with one of `prefixes`, by path.
  std::map<std::string, Node> Nodes(const std::vector<std::string>& prefixes) const;

  // "PATH: cannot be read (permission)", "PATH: only the first N bytes were read"; sorted.
  const std::set<std::string>& troubles() const { return troubles_; }

 private:
  SystemTree() = default;
  Status ReadManifest();
  bool MayRead(const std::string& resolved) const;

  std::string root_;
  std::map<std::string, Node> manifest_;  // of a recorded tree
  mutable std::set<std::string> troubles_;
};

}  // namespace plinth::evidence
