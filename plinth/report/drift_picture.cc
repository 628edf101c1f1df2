#include "plinth/report/drift_picture.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "plinth/base/text.h"
#include "plinth/report/markup.h"
#include "plinth/report/utf8.h"

namespace plinth {
namespace {

using Point = AcceptanceView::DriftPoint;

constexpr double kWidth = 960, kHeight = 364;
constexpr double kLeft = 64, kRight = 16, kTop = 14, kBottom = 86;
constexpr int kMostNames = 12;
// How far to the left a letter of a turned name reaches, and how many letters fit below the axis.
constexpr double kNameStep = 5.9, kMostLetters = 22;

std::string Fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1f", value);
  return text;
}

// Decades from below the smallest error to above the largest.
struct Scale {
  int low = -9, high = -3;
  double Y(double error) const {
    const double place = error > 0 ? std::clamp(std::log10(error), double(low), double(high)) : low;
    return kTop + (high - place) / (high - low) * (kHeight - kTop - kBottom);
  }
};

Scale ScaleOf(const std::vector<Point>& points, double limit) {
  double least = INFINITY, most = 0;
  const auto see = [&](double x) {
    if (!std::isfinite(x) || x <= 0) return;
    least = std::min(least, x);
    most = std::max(most, x);
  };
  for (const Point& p : points) see(p.free), see(p.local);
  see(limit);
  if (most == 0) return {};
  Scale scale{static_cast<int>(std::floor(std::log10(least))), static_cast<int>(std::ceil(std::log10(most)))};
  if (scale.high <= scale.low) scale.high = scale.low + 1;
  return scale;
}

double X(size_t i, size_t count) {
  const double span = kWidth - kLeft - kRight;
  return kLeft + (count < 2 ? span / 2 : span * static_cast<double>(i) / static_cast<double>(count - 1));
}

// A line through what is known, broken where nothing is; dots, with the name and value for the pointer.
std::string Line(const std::vector<Point>& points, double Point::*error, const Scale& scale,
                 const char* colour, const char* dash) {
  std::string path, dots;
  bool drawing = false;
  for (size_t i = 0; i < points.size(); ++i) {
    const double e = points[i].*error;
    if (!std::isfinite(e)) {
      drawing = false;
      continue;
    }
    const std::string x = Fixed(X(i, points.size())), y = Fixed(scale.Y(e));
    StrAppend(&path, drawing ? "L" : "M", x, " ", y);
    drawing = true;
    char value[32];
    std::snprintf(value, sizeof(value), "%.3g", e);
    StrAppend(&dots, "<circle cx=\"", x, "\" cy=\"", y, "\" r=\"2.6\" fill=\"", colour, "\"><title>",
              EscapeHtml(points[i].layer), ": ", value, "</title></circle>");
  }
  if (path.empty()) return "";
  return StrCat("<path d=\"", path, "\" fill=\"none\" stroke=\"", colour, "\" stroke-width=\"1.6\"",
                dash[0] == 0 ? "" : StrCat(" stroke-dasharray=\"", dash, "\""), "/>", dots, "\n");
}

std::string Grid(const Scale& scale) {
  std::string out;
  const int step = scale.high - scale.low > 9 ? 2 : 1;
  for (int decade = scale.low; decade <= scale.high; decade += step) {
    const std::string y = Fixed(scale.Y(std::pow(10.0, decade)));
    StrAppend(&out, "<path d=\"M", Fixed(kLeft), " ", y, "H", Fixed(kWidth - kRight),
              "\" stroke=\"var(--grid)\"/><text x=\"", Fixed(kLeft - 8), "\" y=\"", y,
              "\" dy=\"4\" text-anchor=\"end\">1e", decade, "</text>\n");
  }
  return out;
}

// The last `most` characters of a name, "…" before them where it is longer.
std::string LastLetters(std::string_view name, size_t most) {
  std::vector<size_t> starts;
  for (size_t at = 0; at < name.size();) {
    starts.push_back(at);
    NextCodePoint(name, &at);
  }
  if (starts.size() <= most) return std::string(name);
  return StrCat("…", name.substr(starts[starts.size() - most + 1]));
}

// Some names below the axis, evenly spread; the last part of each path is what differs.
std::string Names(const std::vector<Point>& points) {
  std::string out;
  const size_t step = std::max<size_t>(1, (points.size() + kMostNames - 1) / kMostNames);
  for (size_t i = 0; i < points.size(); i += step) {
    // Turned, it must not leave the picture on the left.
    const auto room = static_cast<size_t>(std::clamp(X(i, points.size()) / kNameStep, 6.0, kMostLetters));
    const std::string name = LastLetters(points[i].layer, room);
    const std::string x = Fixed(X(i, points.size())), y = Fixed(kHeight - kBottom + 14);
    StrAppend(&out, "<text x=\"", x, "\" y=\"", y, "\" text-anchor=\"end\" transform=\"rotate(-28 ", x, " ",
              y, ")\">", EscapeHtml(name), "</text>\n");
  }
  return out;
}

std::string Legend(bool free, bool local, bool limit, Language language) {
  std::string out;
  double x = kLeft + 10;
  const auto entry = [&](Message name, const char* colour, const char* dash) {
    const std::string text(Text(language, name));
    StrAppend(&out, "<path d=\"M", Fixed(x), " ", Fixed(kTop + 8), "h22\" stroke=\"", colour,
              "\" stroke-width=\"2\"", dash[0] == 0 ? "" : StrCat(" stroke-dasharray=\"", dash, "\""),
              "/><text x=\"", Fixed(x + 28), "\" y=\"", Fixed(kTop + 12), "\">", EscapeHtml(text),
              "</text>\n");
    x += 190;
  };
  if (free) entry(Message::kColumnFree, "var(--median)", "");
  if (local) entry(Message::kColumnLocal, "var(--actual)", "");
  if (limit) entry(Message::kDriftLimit, "var(--bad)", "6 4");
  return out;
}

}  // namespace

std::string DriftPicture(const std::vector<Point>& points, double limit, std::string_view first,
                         Language language) {
  const auto known = [&](double Point::*error) {
    return std::any_of(points.begin(), points.end(), [&](const Point& p) { return std::isfinite(p.*error); });
  };
  const bool free = known(&Point::free), local = known(&Point::local);
  if (!free && !local) return "";
  const Scale scale = ScaleOf(points, limit);
  std::string out =
      StrCat("<svg class=\"drift\" viewBox=\"0 0 ", kWidth, " ", kHeight, "\" role=\"img\" aria-label=\"",
             EscapeHtml(Text(language, Message::kDriftPicture)), "\">\n", Grid(scale));
  for (size_t i = 0; i < points.size(); ++i) {
    if (first.empty() || points[i].layer != first) continue;
    StrAppend(&out, "<path d=\"M", Fixed(X(i, points.size())), " ", Fixed(kTop), "V",
              Fixed(kHeight - kBottom), "\" stroke=\"var(--bad)\" stroke-width=\"1.2\"/>\n");
  }
  if (limit > 0) {
    StrAppend(&out, "<path d=\"M", Fixed(kLeft), " ", Fixed(scale.Y(limit)), "H", Fixed(kWidth - kRight),
              "\" stroke=\"var(--bad)\" stroke-width=\"1.4\" stroke-dasharray=\"6 4\"/>\n");
  }
  StrAppend(&out, Line(points, &Point::free, scale, "var(--median)", ""),
            Line(points, &Point::local, scale, "var(--actual)", ""), Names(points),
            Legend(free, local, limit > 0, language), "</svg>\n");
  return out;
}

}  // namespace plinth
