// Gives each request an id and its place in a distributed trace (W3C Trace Context, level 1).
#pragma once

#include <string>
#include <string_view>

namespace plinth::server {

// A client's id where it is 1 to 128 visible ASCII characters, else a fresh one of 32 hex digits.
std::string RequestId(std::string_view from_client);

// "00-TRACE-SPAN-FLAGS" with a span of our own: within the client's trace where its traceparent is valid,
// else a trace of our own. Versions above 00 are read as far as they are known.
std::string TraceParent(std::string_view from_client);

}  // namespace plinth::server
