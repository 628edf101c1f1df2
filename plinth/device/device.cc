#include "plinth/device/device.h"

#include <algorithm>
#include <charconv>

namespace plinth {

std::string Device::ToString() const {
  if (kind == DeviceKind::kCpu) return "cpu";
  return StrCat(kind == DeviceKind::kCuda ? "cuda:" : "hip:", index);
}

StatusOr<Device> ParseDevice(std::string_view text) {
  if (text == "cpu") return Device{};
  for (const auto& [prefix, kind] :
       {std::pair<std::string_view, DeviceKind>{"cuda:", DeviceKind::kCuda}, {"hip:", DeviceKind::kHip}}) {
    if (!text.starts_with(prefix)) continue;
    const std::string_view digits = text.substr(prefix.size());
    int index = -1;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
    if (error == std::errc() && end == digits.data() + digits.size() && index >= 0)
      return Device{kind, index};
  }
  return absl::InvalidArgumentError(
      StrCat("device \"", text, "\" is unknown; it can be cpu, cuda:N or hip:N"));
}

std::vector<Device> AvailableDevices() { return {Device{}}; }

StatusOr<Device> FindDevice(std::string_view text) {
  PLINTH_ASSIGN_OR_RETURN(const Device device, ParseDevice(text));
  const std::vector<Device> there = AvailableDevices();
  if (std::find(there.begin(), there.end(), device) != there.end()) return device;
  return absl::UnavailableError(StrCat("no such device: ", device.ToString(), "; this installation has ",
                                       Join(there, ", ", [](const Device& d) { return d.ToString(); })));
}

}  // namespace plinth
