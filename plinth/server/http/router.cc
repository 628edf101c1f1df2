#include "plinth/server/http/router.h"

#include <algorithm>

namespace plinth::server::http {
namespace {

std::vector<std::string> Split(std::string_view path) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t end = std::min(path.find('/', begin + 1), path.size());
    parts.emplace_back(path.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  // "/v2/" is "/v2".
  if (!parts.empty() && parts.back().empty()) parts.pop_back();
  return parts;
}

bool IsName(const std::string& part) { return part.size() > 1 && part.front() == '{'; }

bool Matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  return std::equal(
      pattern.begin(), pattern.end(), path.begin(), path.end(),
      [](const std::string& p, const std::string& q) { return IsName(p) ? !q.empty() : p == q; });
}

}  // namespace

std::string_view ScopeName(Scope scope) {
  constexpr std::string_view kNames[] = {"public", "read", "infer", "admin"};
  return kNames[static_cast<size_t>(scope)];
}

Router::Router(std::vector<Route> routes) : routes_(std::move(routes)) {
  for (const Route& route : routes_) parts_.push_back(Split(route.pattern));
}

Found Router::Find(std::string_view method, std::string_view path) const {
  Found found;
  std::vector<std::string> parts = Split(path);
  for (std::string& part : parts) {
    StatusOr<std::string> decoded = DecodePercent(part);
    if (!decoded.ok()) {
      found.wrong = std::string(decoded.status().message());
      return found;
    }
    part = *std::move(decoded);
  }
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (size_t r = 0; r < routes_.size(); ++r) {
    if (!Matches(parts_[r], parts)) continue;
    if (routes_[r].method != wanted) {
      if (found.allow.find(routes_[r].method) == found.allow.npos) {
        StrAppend(&found.allow, found.allow.empty() ? "" : ", ", routes_[r].method);
      }
      continue;
    }
    found.route = &routes_[r];
    for (size_t p = 0; p < parts.size(); ++p) {
      if (IsName(parts_[r][p])) found.names.push_back(std::move(parts[p]));
    }
    return found;
  }
  return found;
}

}  // namespace plinth::server::http
