#include "plinth/evidence/product_table.h"

#include <algorithm>

#include "plinth/evidence/pci.h"

namespace plinth::evidence {
namespace {

// From vendor tools and boards that were measured; no list has been published. 6370 was measured on a board
// called BW100, for which nobody states a gfx.
constexpr Product kProducts[] = {
    {0x54b7, "Z100", "gfx906"},    {0x55b7, "Z100L", "gfx906"},   {0x62b7, "K100", "gfx926"},
    {0x6210, "K100_AI", "gfx928"}, {0x6211, "K100_AI", "gfx928"}, {0x6320, "BW1000", "gfx936"},
    {0x6370, "BW100", ""},
};

}  // namespace

const Product* FindProduct(int vendor, int device) {
  if (vendor != kVendorHygon) return nullptr;
  const auto product = std::find_if(std::begin(kProducts), std::end(kProducts),
                                    [&](const Product& p) { return p.device == device; });
  return product == std::end(kProducts) ? nullptr : product;
}

}  // namespace plinth::evidence
