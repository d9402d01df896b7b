// The stages of a step: the label every span, kernel record and colour in the window is keyed by.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace engine {

enum class Stage : std::uint8_t { Offsets, Amax, Quantize, Fprop, Memory, Check, Other };

inline constexpr std::array<std::string_view, 7> kStageNames = {
    "offsets", "amax", "quantize", "fprop", "memory", "check", "other"};

constexpr std::string_view stage_name(Stage stage) {
  return kStageNames[static_cast<std::size_t>(stage)];
}

}  // namespace engine
