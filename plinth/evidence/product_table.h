// Names Hygon's products by their PCI ids, as far as they are known.
#pragma once

#include <string_view>

namespace plinth::evidence {

struct Product {
  int device;             // PCI id below vendor 1d94
  std::string_view name;  // "BW1000"
  std::string_view gfx;   // what its code is built for; empty: not stated anywhere
};

// Null for an id that is not in the table: a product is never guessed.
const Product* FindProduct(int vendor, int device);

}  // namespace plinth::evidence
