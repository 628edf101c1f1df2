// Counts the cards in what nvidia-smi, rocm-smi and hy-smi print, and reads nvidia-smi's table of cards.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plinth::evidence {

// Rows of the table whose heading begins with DCU, HCU, GPU or Device, as rocm-smi and hy-smi print it: those
// that begin with a number. 0 where the tool says that it sees none; nothing where the text has neither.
std::optional<int64_t> CountSmiRows(std::string_view text);

// A row of `nvidia-smi --query-gpu=pci.bus_id,name,driver_version,compute_cap,vbios_version,memory.total`.
struct NvidiaCard {
  std::string address;  // "0000:19:00.0"
  std::string name, driver_version, compute_capability, vbios;
  int64_t memory_mib = 0;
};
// Lines of another shape are passed over.
std::vector<NvidiaCard> ParseNvidiaCards(std::string_view text);

}  // namespace plinth::evidence
