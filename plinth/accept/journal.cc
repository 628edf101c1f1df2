#include "plinth/accept/journal.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <initializer_list>
#include <utility>

#include "plinth/base/text.h"
#include "plinth/formats/json.h"
#include "plinth/formats/json_writer.h"

namespace plinth::accept {
namespace {

constexpr char kSchema[] = "plinth.journal/2";
constexpr int64_t kMostBytes = 256 << 20;

std::string Hex(const unsigned char* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// HMAC-SHA256 (RFC 2104) over the parts, each with its length before it, so that no two lists have the same
// text.
StatusOr<std::string> Mac(const std::string& secret, std::initializer_list<std::string_view> parts) {
  std::string message;
  for (const std::string_view part : parts) StrAppend(&message, part.size(), ":", part);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  if (HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
           reinterpret_cast<const unsigned char*>(message.data()), message.size(), digest.data(),
           &size) == nullptr) {
    return absl::UnavailableError("the crypto library refuses to compute an HMAC");
  }
  return Hex(digest.data(), size);
}

bool SameText(const std::string& a, const std::string& b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string Line(std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  std::string line;
  formats::JsonWriter w(&line);
  w.BeginObject();
  for (const auto& [key, value] : members) w.Key(key), w.String(value);
  w.EndObject();
  w.EndLine();
  return line;
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

StatusOr<std::string> ReadHandle(const Handle& handle, const std::string& path) {
  struct stat info;
  if (fstat(handle.get(), &info) != 0) return FileError(path, "read", errno);
  if (!S_ISREG(info.st_mode) || info.st_size > kMostBytes) {
    return absl::InvalidArgumentError(StrCat(path, ": is no journal of at most ", kMostBytes, " bytes"));
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  for (size_t have = 0; have < text.size();) {
    const ssize_t n = pread(handle.get(), text.data() + have, text.size() - have, static_cast<off_t>(have));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return FileError(path, "read", errno);
    if (n == 0) text.resize(have);
    have += static_cast<size_t>(n);
  }
  return text;
}

// The members of one line that are texts.
struct Entry {
  std::map<std::string, std::string> texts;
  const std::string& at(const char* name) const {
    static const std::string kNone;
    const auto found = texts.find(name);
    return found == texts.end() ? kNone : found->second;
  }
};

Entry ReadEntry(std::string_view line) {
  Entry entry;
  const auto value = formats::ParseJson(line, "journal");
  if (!value.ok() || value->object() == nullptr) return entry;
  for (const auto& [name, member] : *value->object()) {
    if (member.text() != nullptr) entry.texts[name] = *member.text();
  }
  return entry;
}

}  // namespace

StatusOr<Journal> Journal::Open(const std::string& path, const Owner& owner) {
  Journal journal;
  journal.path_ = path;
  journal.owner_ = owner;
  // A link in its place would have something else overwritten.
  journal.handle_ = Handle(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600));
  if (journal.handle_.get() < 0) return FileError(path, "written", errno);
  PLINTH_ASSIGN_OR_RETURN(const std::string text, ReadHandle(journal.handle_, path));
  PLINTH_RETURN_IF_ERROR(journal.Read(text));
  if (ftruncate(journal.handle_.get(), static_cast<off_t>(journal.whole_)) != 0 ||
      lseek(journal.handle_.get(), 0, SEEK_END) < 0) {
    return FileError(path, "written", errno);
  }
  if (journal.whole_ == 0) PLINTH_RETURN_IF_ERROR(journal.Begin());
  journal.resumed_ = journal.pieces_.size();
  return journal;
}

// Takes the pieces; whole_ stays 0 where the journal is not to be gone on with.
Status Journal::Read(std::string_view text) {
  int64_t number = 0;
  for (size_t begin = 0;;) {
    const size_t end = text.find('\n', begin);
    if (end == std::string_view::npos) return absl::OkStatus();
    const Entry entry = ReadEntry(text.substr(begin, end - begin));
    StatusOr<std::string> mac = std::string();
    if (++number == 1) {
      // Of another acceptance: nothing is wrong with it.
      if (entry.at("schema") != kSchema || entry.at("key") != owner_.key) return absl::OkStatus();
      mac = Mac(owner_.secret, {"run", owner_.key, entry.at("run")});
      run_ = entry.at("run");
    } else {
      mac = Mac(owner_.secret, {"piece", last_mac_, entry.at("piece"), entry.at("result")});
    }
    PLINTH_RETURN_IF_ERROR(mac.status());
    if (!SameText(*mac, entry.at("mac"))) {
      broken_ = StrCat(path_, ": line ", number,
                       " is not what this machine's key wrote there: the journal was changed; all of its "
                       "pieces are done again");
      pieces_.clear();
      whole_ = 0;
      return absl::OkStatus();
    }
    if (number > 1) pieces_[entry.at("piece")] = entry.at("result");
    last_mac_ = *std::move(mac);
    whole_ = begin = end + 1;
  }
}

Status Journal::Begin() {
  std::array<unsigned char, 16> id;
  if (RAND_bytes(id.data(), static_cast<int>(id.size())) != 1) {
    return absl::UnavailableError("the crypto library refuses to give random bytes");
  }
  run_ = Hex(id.data(), id.size());
  PLINTH_ASSIGN_OR_RETURN(last_mac_, Mac(owner_.secret, {"run", owner_.key, run_}));
  return WriteDurably(handle_, path_,
                      Line({{"schema", kSchema}, {"key", owner_.key}, {"run", run_}, {"mac", last_mac_}}));
}

const std::string* Journal::Find(const std::string& piece) const {
  const auto at = pieces_.find(piece);
  return at == pieces_.end() ? nullptr : &at->second;
}

Status Journal::Add(const std::string& piece, const std::string& result) {
  PLINTH_ASSIGN_OR_RETURN(std::string mac, Mac(owner_.secret, {"piece", last_mac_, piece, result}));
  PLINTH_RETURN_IF_ERROR(
      WriteDurably(handle_, path_, Line({{"piece", piece}, {"result", result}, {"mac", mac}})));
  last_mac_ = std::move(mac);
  pieces_[piece] = result;
  return absl::OkStatus();
}

Status Journal::StartOver(std::string why) {
  pieces_.clear();
  resumed_ = whole_ = 0;
  broken_ = std::move(why);
  if (ftruncate(handle_.get(), 0) != 0 || lseek(handle_.get(), 0, SEEK_SET) < 0) {
    return FileError(path_, "written", errno);
  }
  return Begin();
}

void Journal::Remove() {
  handle_.Close();
  static_cast<void>(unlink(path_.c_str()));
}

}  // namespace plinth::accept
