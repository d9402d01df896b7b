// Where a kernel that hangs was, as a debugger reads it in a core dump of the device.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/model/fields.h"

namespace profiling {

inline constexpr int kMaxHardwareIndex = 1 << 20;  // of an SM, a warp or a lane

struct CorePlace {
  std::string kernel = {};  // "spin_kernel"; empty = not read, `missing` says why
  std::string launch = {};  // "<<<(1,1,1),(32,1,1)>>>"
  std::string block = {};   // "(0,0,0)"
  std::string thread = {};  // "(31,0,0)"
  int sm = -1;              // -1 = not known, like the next two
  int warp = -1;            // on that SM
  int lane = -1;
  std::uint64_t pc = 0;          // 0 = not known
  std::string instruction = {};  // "BAR.SYNC.DEFER_BLOCKING 0x0"
  std::string source = {};       // "spin.cu:12"
  std::string missing = {};      // why nothing was read
  bool operator==(const CorePlace&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&CorePlace::kernel>(),
                      engine::field<&CorePlace::launch>(),
                      engine::field<&CorePlace::block>(),
                      engine::field<&CorePlace::thread>(),
                      engine::field<&CorePlace::sm>({.low = -1, .high = kMaxHardwareIndex}),
                      engine::field<&CorePlace::warp>({.low = -1, .high = kMaxHardwareIndex}),
                      engine::field<&CorePlace::lane>({.low = -1, .high = kMaxHardwareIndex}),
                      engine::field<&CorePlace::pc>(),
                      engine::field<&CorePlace::instruction>(),
                      engine::field<&CorePlace::source>(),
                      engine::field<&CorePlace::missing>()};
  }
};

/// What an instruction waits for: "a barrier of its thread block"; empty if it is none that waits.
/// A loop that polls memory consists of other instructions.
std::string_view wait_words(std::string_view instruction);

/// "spin_kernel<<<(1,1,1),(32,1,1)>>>, block (0,0,0), warp 3 on SM 14, at BAR.SYNC 0x0 (waits for a
/// barrier of its thread block), spin.cu:12", as far as known; else why not.
std::string core_place_text(const CorePlace& place);

}  // namespace profiling
