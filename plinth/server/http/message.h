// Holds one request and one answer of HTTP as endpoints see them: whole, decoded, without a socket.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plinth/base/status.h"

namespace plinth::server::http {

using Fields = std::vector<std::pair<std::string, std::string>>;

struct Request {
  std::string method;  // as sent: "GET"
  std::string target;  // as sent: "/v2/models/a%20b?x=1"
  std::string path;    // the target up to '?', still encoded (segments are decoded one by one)
  Fields query;        // decoded, in order
  Fields fields;       // names in lower case, in order
  std::string body;
  std::string peer;         // the client's address, without its port
  std::string certificate;  // subject of the client's verified certificate; empty without mutual TLS
  bool secure = false;      // came through TLS
  // Set by the service.
  std::string id;           // of the request: the client's, or a fresh one
  std::string traceparent;  // W3C trace context of this request's own span
  std::string key;          // name of the API key; empty: none was needed

  // The first field of that name (lower case), or empty.
  std::string_view Field(std::string_view name) const;
  // The first value of that name in the query, or nullptr.
  const std::string* Query(std::string_view name) const;
};

struct Response {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  Fields fields;  // further ones, such as retry-after
};

// "Not Found" of 404; empty for a status that nothing here sends.
std::string_view ReasonPhrase(int status);

// {"error": ..., "code": ..., "field": ...}; `field` is left out where it is empty.
Response ErrorResponse(int status, std::string_view code, std::string_view message,
                       std::string_view field = {});

// Undoes %XX; `plus` also turns + into a space, as in a query. Error: InvalidArgument for a broken escape, a
// NUL, and bytes that are no UTF-8.
StatusOr<std::string> DecodePercent(std::string_view text, bool plus = false);

// Splits `request->target` into path and query. Error: InvalidArgument for a target that does not begin with
// '/' or whose query does not decode.
Status SplitTarget(Request* request);

}  // namespace plinth::server::http
