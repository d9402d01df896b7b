// The device between runs, as the status bar says it: its clock, power and temperature, or why
// there are none. Rounded, so that the words change when the device does and not with noise.
#pragma once

#include <string>

#include "app/gui/view.h"

namespace app {

struct DeviceWords {
  std::string line;  // "345 MHz · 118 W · 41 °C", "no GPU: ..."; empty = nothing is known yet
  std::string tooltip;
  bool operator==(const DeviceWords&) const = default;
};

/// Empty while an order is under way: nothing is read then.
DeviceWords device_words(const LinkStatus& link, const std::optional<WorkerHello>& hello);

}  // namespace app
