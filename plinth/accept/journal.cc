#include "plinth/accept/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "plinth/base/text.h"
#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"

namespace plinth::accept {
namespace {

constexpr char kSchema[] = "plinth.journal/1";
constexpr int64_t kMostBytes = 256 << 20;

std::string Line(std::string_view first_key, std::string_view first, std::string_view second_key,
                 std::string_view second) {
  std::string line;
  formats::JsonWriter w(&line);
  w.BeginObject();
  w.Key(first_key), w.String(first);
  w.Key(second_key), w.String(second);
  w.EndObject();
  w.EndLine();
  return line;
}

// The pieces of a journal of that key, and how many bytes of it are whole; nothing where it is another's.
struct Found {
  std::map<std::string, std::string> pieces;
  size_t whole = 0;
};

Found ReadPieces(std::string_view text, const std::string& key) {
  Found found;
  bool header = true;
  for (size_t begin = 0;;) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return found;
    const auto value = formats::ParseJson(text.substr(begin, end - begin), "journal");
    if (!value.ok()) return found;
    const auto text_of = [&](const char* name) {
      const formats::JsonValue* member = value->Find(name);
      return member == nullptr ? nullptr : member->text();
    };
    const std::string* first = text_of(header ? "schema" : "piece");
    const std::string* second = text_of(header ? "key" : "result");
    if (first == nullptr || second == nullptr) return found;
    if (header && (*first != kSchema || *second != key)) return found;
    if (!header) found.pieces[*first] = *second;
    header = false;
    found.whole = begin = end + 1;
  }
}

Status WriteDurably(const Handle& handle, const std::string& path, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(handle.get(), text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(path, "written", errno);
    text.remove_prefix(static_cast<size_t>(n));
  }
  return fdatasync(handle.get()) == 0 ? absl::OkStatus() : FileError(path, "written", errno);
}

}  // namespace

StatusOr<Journal> Journal::Open(const std::string& path, const std::string& key) {
  Journal journal;
  journal.path_ = path;
  Found found;
  if (FileExists(path)) {
    PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMostBytes));
    found = ReadPieces(text, key);
  }
  journal.handle_ = Handle(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (journal.handle_.get() < 0) return FileError(path, "written", errno);
  if (ftruncate(journal.handle_.get(), static_cast<off_t>(found.whole)) != 0 ||
      lseek(journal.handle_.get(), 0, SEEK_END) < 0) {
    return FileError(path, "written", errno);
  }
  if (found.whole == 0) {
    PLINTH_RETURN_IF_ERROR(WriteDurably(journal.handle_, path, Line("schema", kSchema, "key", key)));
  }
  journal.pieces_ = std::move(found.pieces);
  journal.resumed_ = journal.pieces_.size();
  return journal;
}

const std::string* Journal::Find(const std::string& piece) const {
  const auto at = pieces_.find(piece);
  return at == pieces_.end() ? nullptr : &at->second;
}

Status Journal::Add(const std::string& piece, const std::string& result) {
  PLINTH_RETURN_IF_ERROR(WriteDurably(handle_, path_, Line("piece", piece, "result", result)));
  pieces_[piece] = result;
  return absl::OkStatus();
}

void Journal::Remove() {
  handle_.Close();
  static_cast<void>(unlink(path_.c_str()));
}

}  // namespace plinth::accept
