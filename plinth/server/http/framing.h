// Refuses headers that two programs could read in two ways, which is how requests are smuggled past a proxy.
#pragma once

#include <string>
#include <string_view>

#include "plinth/server/http/message.h"

namespace plinth::server::http {

// Stricter than the parser, which has taken `header` (from the request line to the empty one) apart into
// `fields`: lines are not continued on the next (RFC 9112, 5.2); the length of a body is told once, by one
// content-length or by "transfer-encoding: chunked" alone and in HTTP/1.1 only (6.1, 6.3); the target has
// visible ASCII alone. Gives what is wrong, or nothing.
std::string CheckFraming(std::string_view header, std::string_view target, const Fields& fields, bool old);

}  // namespace plinth::server::http
