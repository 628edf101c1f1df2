// Gives the files of the dashboard, which are embedded in the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plinth::server {

struct Asset {
  std::string name;  // "page.js"; the page itself is "index.html"
  std::string content_type;
  std::string_view bytes;
  std::string etag;  // quoted, from the bytes' digest
};

std::span<const Asset> DashboardAssets();
// Null where there is none of that name.
const Asset* FindAsset(std::string_view name);

}  // namespace plinth::server
