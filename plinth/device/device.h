// Names the devices that plans can run on and says which are there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plinth/base/status.h"

namespace plinth {

enum class DeviceKind : uint8_t { kCpu, kCuda, kHip };

struct Device {
  DeviceKind kind = DeviceKind::kCpu;
  int index = 0;
  // "cpu", "cuda:0", "hip:1".
  std::string ToString() const;
  friend bool operator==(const Device&, const Device&) = default;
};

// Reads "cpu", "cuda:N" or "hip:N". Error: InvalidArgument for anything else.
StatusOr<Device> ParseDevice(std::string_view text);

// The devices of this installation. GPUs come with plug-ins; without one there is the CPU alone.
std::vector<Device> AvailableDevices();

// Parses, and checks that the device is there. Error: Unavailable, listing those that are.
StatusOr<Device> FindDevice(std::string_view text);

}  // namespace plinth
