// Writes what GET /v1/status answers: the service as a person looks at it, in one document.
#pragma once

#include <string>

namespace plinth::server {

class Service;

// JSON as docs/dashboard.md describes it. Bounded, and cheap enough to be asked for every second.
std::string StatusDocument(Service& service);

}  // namespace plinth::server
