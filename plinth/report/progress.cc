#include "plinth/report/progress.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "plinth/base/text.h"
#include "plinth/report/numbers.h"

namespace plinth {
namespace {

constexpr double kFirst = 0.5;    // seconds until the line appears
constexpr double kEvery = 0.1;    // seconds between two drawings
constexpr double kSmoothing = 3;  // seconds over which the rate is averaged
constexpr int kLeastBar = 8;
constexpr int kMostBar = 40;

}  // namespace

ProgressOptions StandardErrorProgress(std::string_view label, int64_t total, std::string_view unit) {
  const TerminalFacts facts = ReadTerminal(STDERR_FILENO);
  ProgressOptions options;
  options.enabled = facts.is_terminal && !facts.term.empty() && facts.term != "dumb";
  options.style = StyleFor(facts);
  options.language = LanguageFor(facts);
  options.label = label;
  options.total = total;
  options.unit = unit;
  options.seconds = [] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  };
  options.width = [] {
    const int columns = ReadTerminal(STDERR_FILENO).columns;
    return columns > 0 ? columns : 80;
  };
  options.write = [](std::string_view bytes) {
    // A progress line that cannot be written is not worth an error; the work goes on.
    while (!bytes.empty()) {
      const ssize_t written = ::write(STDERR_FILENO, bytes.data(), bytes.size());
      if (written <= 0) return;
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  };
  return options;
}

Progress::Progress(ProgressOptions options)
    : options_(std::move(options)),
      start_(options_.enabled ? options_.seconds() : 0),
      next_(start_ + kFirst) {
  rate_at_ = start_;
}

void Progress::Add(int64_t count) {
  done_.fetch_add(count, std::memory_order_relaxed);
  if (!options_.enabled) return;
  const double now = options_.seconds();
  if (now < next_.load(std::memory_order_relaxed)) return;
  // Whoever finds another thread drawing goes on with its work.
  const std::unique_lock<std::mutex> lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || finished_) return;
  if (now < next_.load(std::memory_order_relaxed)) return;
  next_.store(now + kEvery, std::memory_order_relaxed);
  Draw(now);
}

void Progress::Draw(double now) {
  const int64_t done = done_.load(std::memory_order_relaxed);
  if (const double passed = now - rate_at_; passed > 0) {
    const double current = static_cast<double>(done - rate_done_) / passed;
    // An exponential mean with a time constant, so that it does not depend on how often the line is drawn.
    const double weight = rate_at_ == start_ ? 1 : 1 - std::exp(-passed / kSmoothing);
    rate_ += weight * (current - rate_);
    rate_at_ = now;
    rate_done_ = done;
  }
  // One write: return, text, erase what the last line had more. No blank line in between, hence no flicker.
  options_.write(StrCat("\r", Line(now, std::max(1, options_.width() - 1)), "\x1b[K"));
  shown_ = true;
}

std::string Progress::Bar(int cells, double part) const {
  static constexpr std::array<std::string_view, 9> kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  const bool unicode = options_.style.glyphs == Glyphs::kUnicode;
  const int eighths = static_cast<int>(std::floor(part * cells * 8));
  std::string full, rest;
  int used = eighths / 8;
  for (int i = 0; i < used; ++i) full += unicode ? "█" : "#";
  if (unicode && eighths % 8 > 0) {
    full += kEighths[static_cast<size_t>(eighths % 8)];
    ++used;
  }
  for (int i = used; i < cells; ++i) rest += unicode ? "░" : ".";
  if (options_.style.colors == Colors::kNone) return full + rest;
  return StrCat("\x1b[34m", full, "\x1b[90m", rest, "\x1b[0m");
}

std::string Progress::Line(double now, int width) const {
  const Glyphs glyphs = options_.style.glyphs;
  // Chinese needs more than ASCII.
  const Language language = glyphs == Glyphs::kUnicode ? options_.language : Language::kEnglish;
  const int64_t done = rate_done_;
  const bool bounded = options_.total > 0;
  const double part =
      bounded ? std::clamp(static_cast<double>(done) / static_cast<double>(options_.total), 0.0, 1.0) : 0;
  const std::string label = Printable(options_.label, glyphs);
  std::string counts =
      bounded ? Text(language, Message::kProgressOf, {Count(done), Count(options_.total)}) : Count(done);
  const std::string rate = StrCat(HumanNumber(rate_), " ", options_.unit, "/s");
  std::string left;
  if (bounded && rate_ > 0 && done < options_.total) {
    left =
        Text(language, Message::kRemaining, {Duration(static_cast<double>(options_.total - done) / rate_)});
  } else if (!bounded) {
    left = Duration(now - start_);
  }
  // What does not fit is left out, from the least to the most important.
  std::string after = bounded ? StrCat(static_cast<int>(part * 100), " %") : "";
  const int reserved = DisplayWidth(label) + 2 + (bounded ? kLeastBar + 2 : 0);
  for (const std::string& piece : {counts, left, rate}) {
    if (piece.empty()) continue;
    const std::string longer = after.empty() ? piece : StrCat(after, "  ", piece);
    if (reserved + DisplayWidth(longer) > width) break;
    after = longer;
  }
  const int room = width - DisplayWidth(label) - DisplayWidth(after) - 4;
  if (!bounded || room < kLeastBar) return CutToWidth(StrCat(label, "  ", after), width, glyphs);
  return StrCat(label, "  ", Bar(std::min(room, kMostBar), part), "  ", after);
}

void Progress::ClearLocked() {
  if (shown_) options_.write("\r\x1b[K");
  shown_ = false;
}

void Progress::Clear() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearLocked();
}

void Progress::Finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ClearLocked();
  finished_ = true;
}

}  // namespace plinth
