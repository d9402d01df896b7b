// What was known of a hang when it was found, in a file beside the spool of its process: a wait
// that has not returned is in the spool itself, but not when somebody called it a hang, nor what
// the device was doing then.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "app/attach/hang_watch.h"
#include "engine/model/fields.h"

namespace app {

struct KeptHang {
  std::uint64_t since = 0;  // beginning of the wait; like `found` in nanoseconds on the
                            // CLOCK_MONOTONIC of the process's machine
  std::uint64_t found = 0;
  double deadline_seconds = 0;
  HangingDevice device = {};
  bool operator==(const KeptHang&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&KeptHang::since>(), engine::field<&KeptHang::found>(),
                      engine::field<&KeptHang::deadline_seconds>({.low = 0}),
                      engine::field<&KeptHang::device>()};
  }
};

/// `spool`: path of the process's file. Like it, what is kept is for the user alone. Where nothing
/// can be written, nothing is kept.
void keep_hang(const std::string& spool, const KeptHang& hang);
/// None if no hang was found, or what was kept of it cannot be read.
std::optional<KeptHang> kept_hang(const std::string& spool);

}  // namespace app
