#include "app/plot/colors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

namespace app::plot {
namespace {

// Seventeen samples of viridis: perceptually uniform, readable in grey and by colour-blind people.
constexpr std::array<Rgb, 17> kSequential = {
    0x440154, 0x48186A, 0x472D7B, 0x424086, 0x3B528B, 0x33638D, 0x2C728E, 0x26828E, 0x21918C,
    0x1FA088, 0x28AE80, 0x3FBC73, 0x5EC962, 0x84D44B, 0xADDC30, 0xD8E219, 0xFDE725};

}  // namespace

std::optional<Rgb> stage_color(engine::Stage stage) {
  switch (stage) {
    case engine::Stage::Offsets:
      return 0x999999;
    case engine::Stage::Amax:
      return 0x56B4E9;
    case engine::Stage::Quantize:
      return 0x0072B2;
    case engine::Stage::Fprop:
      return 0xE69F00;
    case engine::Stage::Memory:
      return 0xF0E442;
    case engine::Stage::Dgrad:
      return 0xD55E00;
    case engine::Stage::Wgrad:
      return 0xCC79A7;
    case engine::Stage::Bias:
      return 0x009E73;
    case engine::Stage::Dequantize:
      return 0x7A6FD0;
    case engine::Stage::Activation:
      return 0xA3B42E;
    case engine::Stage::Permute:
      return 0x4FB3BF;
    case engine::Stage::Unpermute:
      return 0x1F7480;
    case engine::Stage::Check:
      return 0x8C6D46;
    case engine::Stage::Other:
      break;
  }
  return std::nullopt;
}

Rgb sequential_color(float t) {
  const float part_of_all = std::isnan(t) ? 0.0F : std::clamp(t, 0.0F, 1.0F);
  const float position = part_of_all * static_cast<float>(kSequential.size() - 1);
  const std::size_t low = std::min(static_cast<std::size_t>(position), kSequential.size() - 2);
  const float part = position - static_cast<float>(low);
  const auto mix = [&](unsigned shift) {
    const auto from = static_cast<float>((kSequential[low] >> shift) & 0xFFU);
    const auto to = static_cast<float>((kSequential[low + 1] >> shift) & 0xFFU);
    return static_cast<Rgb>(std::lround(from + (to - from) * part)) << shift;
  };
  return mix(16) | mix(8) | mix(0);
}

}  // namespace app::plot
