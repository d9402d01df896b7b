// Element formats and their limits. No CUDA: the value types of engine/model are built on these.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "kernels/common/host_device.h"

namespace kernels {

enum class InputType { Bf16, Fp16, Fp32 };
constexpr auto enum_names(InputType) {
  return std::to_array<std::string_view>({"bf16", "fp16", "fp32"});
}

KERNELS_HOST_DEVICE constexpr std::int64_t element_bytes(InputType type) {
  return type == InputType::Fp32 ? 4 : 2;
}

enum class Fp8Format { E4m3, E5m2 };
constexpr auto enum_names(Fp8Format) { return std::to_array<std::string_view>({"e4m3", "e5m2"}); }

/// Which amax delayed scaling derives its next scale from.
enum class AmaxAlgorithm {
  MostRecent,  // this step's
  Max,         // the largest of the history, this step's included
};
constexpr auto enum_names(AmaxAlgorithm) {
  return std::to_array<std::string_view>({"most-recent", "max"});
}

constexpr float fp8_max(Fp8Format format) { return format == Fp8Format::E4m3 ? 448.0F : 57344.0F; }

}  // namespace kernels
