#include "plinth/evidence/system_tree.h"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>

#include "plinth/base/files.h"
#include "plinth/base/text.h"
#include "plinth/evidence/text_fields.h"
#include "plinth/formats/json.h"

namespace plinth::evidence {
namespace {

constexpr size_t kMostNames = 10'000;
constexpr int kMostLinks = 40;  // as Linux

std::string ReadLink(const std::string& path) {
  char target[4096];
  const ssize_t length = readlink(path.c_str(), target, sizeof(target));
  return length <= 0 || length == sizeof(target) ? "" : std::string(target, static_cast<size_t>(length));
}

std::string Joined(const std::vector<std::string>& parts) {
  std::string path;
  for (const std::string& part : parts) StrAppend(&path, "/", part);
  return path.empty() ? "/" : path;
}

// What this process may do with a node of this machine. Opening is the only answer that sees a control
// group's list of devices; it is done where an open has no effect, which is not so for a GPU's own NVIDIA
// node (it may start the card).
std::string AccessTo(const std::string& path) {
  if (path == "/dev/kfd" || path.starts_with("/dev/dri/renderD")) {
    const Handle handle(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
    if (handle.get() >= 0) return "rw";
    if (errno == EACCES || errno == EPERM) return "none";
  }
  const bool r = faccessat(AT_FDCWD, path.c_str(), R_OK, AT_EACCESS) == 0;
  const bool w = faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) == 0;
  return r && w ? "rw" : r ? "r" : w ? "w" : "none";
}

std::string ModeText(mode_t mode) {
  std::string text = S_ISCHR(mode) ? "c" : S_ISBLK(mode) ? "b" : S_ISDIR(mode) ? "d" : "-";
  for (int shift = 6; shift >= 0; shift -= 3) {
    const unsigned bits = (mode >> shift) & 7;
    text += bits & 4 ? 'r' : '-';
    text += bits & 2 ? 'w' : '-';
    text += bits & 1 ? 'x' : '-';
  }
  return text;
}

Node NodeOfThisMachine(const std::string& path) {
  Node node;
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return node;
  node.mode = ModeText(info.st_mode);
  // Numbers, not names: looking names up may ask a network.
  node.owner = StrCat(info.st_uid, ":", info.st_gid);
  node.access = AccessTo(path);
  return node;
}

// One line of nodes.txt: ACCESS MODE OWNER GROUP PATH.
StatusOr<std::pair<std::string, Node>> ManifestLine(std::string_view line, const std::string& where) {
  const auto words = Words(line);
  const bool good = words.size() == 5 && words[4].starts_with('/') &&
                    (words[0] == "rw" || words[0] == "r" || words[0] == "w" || words[0] == "none");
  if (!good) {
    return absl::InvalidArgumentError(
        StrCat(where, ": ", formats::QuotedShort(line),
               " is not \"ACCESS MODE OWNER GROUP /PATH\" with access rw, r, w or none"));
  }
  return std::pair(std::string(words[4]),
                   Node{std::string(words[1]), StrCat(words[2], ":", words[3]), std::string(words[0])});
}

}  // namespace

StatusOr<SystemTree> SystemTree::Open(const std::string& root) {
  SystemTree tree;
  if (root.empty() || root == "/") return tree;
  struct stat info;
  if (stat(root.c_str(), &info) != 0) return FileError(root, "opened", errno);
  if (!S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(
        StrCat(root, ": is a file; a folder with a recorded system is expected"));
  }
  tree.root_ = root;
  while (tree.root_.size() > 1 && tree.root_.ends_with('/')) tree.root_.pop_back();
  PLINTH_RETURN_IF_ERROR(tree.ReadManifest());
  return tree;
}

Status SystemTree::ReadManifest() {
  constexpr size_t kLimit = 1 << 20;
  const std::string path = StrCat(kRecordedFolder, "/nodes.txt");
  const auto text = Read(path, kLimit);
  if (!text.has_value()) return absl::OkStatus();
  int64_t number = 0;
  for (const std::string_view line : Lines(*text)) {
    ++number;
    if (Trim(line).empty() || Trim(line).starts_with('#')) continue;
    PLINTH_ASSIGN_OR_RETURN(auto entry, ManifestLine(line, StrCat(root_, path, ": line ", number)));
    manifest_.insert(std::move(entry));
  }
  return absl::OkStatus();
}

std::string SystemTree::Resolve(std::string_view path) const {
  if (path.find('\0') != path.npos) return "";
  if (!recorded()) {
    char* real = realpath(std::string(path).c_str(), nullptr);
    std::string text = real == nullptr ? "" : real;
    free(real);
    return text;
  }
  std::vector<std::string> done;
  std::deque<std::string> rest;
  for (const std::string_view part : Words(path, "/")) rest.emplace_back(part);
  for (int links = 0; !rest.empty();) {
    const std::string part = std::move(rest.front());
    rest.pop_front();
    if (part == ".") continue;
    if (part == "..") {
      if (!done.empty()) done.pop_back();
      continue;
    }
    done.push_back(part);
    struct stat info;
    const std::string host = HostPath(Joined(done));
    if (lstat(host.c_str(), &info) != 0) return "";
    if (!S_ISLNK(info.st_mode)) continue;
    const std::string target = ReadLink(host);
    if (target.empty() || ++links > kMostLinks) return "";
    target.starts_with('/') ? done.clear() : done.pop_back();
    const auto parts = Words(target, "/");
    rest.insert(rest.begin(), parts.begin(), parts.end());
  }
  return Joined(done);
}

bool SystemTree::MayRead(const std::string& resolved) const {
  const auto entry = manifest_.find(resolved);
  return entry == manifest_.end() || entry->second.access.find('r') != std::string::npos;
}

std::optional<std::string> SystemTree::Read(std::string_view path, size_t limit) const {
  const std::string resolved = recorded() ? Resolve(path) : std::string(path);
  if (resolved.empty()) return std::nullopt;
  const Handle handle(open(HostPath(resolved).c_str(),
                           O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (recorded() ? O_NOFOLLOW : 0)));
  if (handle.get() < 0 && (errno == ENOENT || errno == ENOTDIR)) return std::nullopt;
  struct stat info;
  if (handle.get() < 0 || fstat(handle.get(), &info) != 0 || !MayRead(resolved)) {
    troubles_.insert(StrCat(path, ": cannot be read"));
    return std::nullopt;
  }
  if (!S_ISREG(info.st_mode)) return std::nullopt;
  std::string text(limit + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = read(handle.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && size == 0) {
      troubles_.insert(StrCat(path, ": cannot be read"));
      return std::nullopt;
    }
    if (got <= 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > limit) troubles_.insert(StrCat(path, ": only its first ", limit, " bytes were read"));
  text.resize(std::min(size, limit));
  return text;
}

std::string SystemTree::ReadLine(std::string_view path) const { return FirstLine(Read(path).value_or("")); }

std::vector<std::string> SystemTree::List(std::string_view path) const {
  const std::string resolved = recorded() ? Resolve(path) : std::string(path);
  if (resolved.empty()) return {};
  auto names = ListFolder(HostPath(resolved));
  if (!names.ok()) {
    if (names.status().code() == absl::StatusCode::kPermissionDenied) {
      troubles_.insert(StrCat(path, ": cannot be read"));
    }
    return {};
  }
  if (names->size() > kMostNames) {
    troubles_.insert(StrCat(path, ": only ", kMostNames, " of its ", names->size(), " names were read"));
    names->resize(kMostNames);
  }
  return *std::move(names);
}

bool SystemTree::Exists(std::string_view path) const { return !Resolve(path).empty(); }

bool SystemTree::IsFolder(std::string_view path) const {
  const std::string resolved = Resolve(path);
  return !resolved.empty() && plinth::IsFolder(HostPath(resolved));
}

std::string SystemTree::LinkTarget(std::string_view path) const {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return "";
  const std::string folder = Resolve(path.substr(0, std::max<size_t>(slash, 1)));
  return folder.empty() ? "" : ReadLink(HostPath(JoinPath(folder, path.substr(slash + 1))));
}

std::map<std::string, Node> SystemTree::Nodes(const std::vector<std::string>& prefixes) const {
  std::map<std::string, Node> nodes;
  const auto wanted = [&](const std::string& path) {
    return std::any_of(prefixes.begin(), prefixes.end(), [&](const auto& p) { return path.starts_with(p); });
  };
  for (const auto& [path, node] : manifest_) {
    if (wanted(path)) nodes.emplace(path, node);
  }
  if (recorded()) return nodes;
  for (const std::string folder : {"/dev", "/dev/dri"}) {
    for (const std::string& name : List(folder)) {
      const std::string path = JoinPath(folder, name);
      struct stat info;
      if (!wanted(path) || stat(path.c_str(), &info) != 0) continue;
      if (S_ISCHR(info.st_mode)) nodes.emplace(path, NodeOfThisMachine(path));
    }
  }
  return nodes;
}

}  // namespace plinth::evidence
