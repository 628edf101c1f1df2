// Finds who answers a request by its method and path.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "plinth/server/http/exchange.h"

namespace plinth::server::http {

// What a key must allow for a request to be answered.
enum class Scope : uint8_t { kPublic, kRead, kInfer, kAdmin };
std::string_view ScopeName(Scope scope);  // "public", "read", "infer", "admin"

// Parts of the path that stand for names, decoded, in order.
using PathNames = std::vector<std::string>;
using Handler = std::function<void(Request request, const PathNames& names, ExchangePtr exchange)>;

struct Route {
  std::string method;   // "GET" also answers HEAD
  std::string pattern;  // "/v2/models/{model}/infer": a part in braces matches any one part
  Scope scope;
  Handler handler;
};

struct Found {
  const Route* route = nullptr;  // null: see below
  PathNames names;
  std::string
      allow;  // methods of this path, where another method was asked for: 405 (OPTIONS: 204); else 404
  std::string wrong;  // why the path cannot be decoded: 400
};

class Router {
 public:
  explicit Router(std::vector<Route> routes);
  Found Find(std::string_view method, std::string_view path) const;
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
  std::vector<std::vector<std::string>> parts_;  // of each pattern
};

}  // namespace plinth::server::http
