// The stages of a step, by which spans, kernel records and colours in the window are grouped.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "engine/model/fields.h"

namespace engine {

inline constexpr int kMaxGraphNodes = 1 << 20;  // of one captured graph
inline constexpr int kMaxGraphEdges = 1 << 22;

/// Numbers are in session files: a new stage goes to the end.
enum class Stage : std::uint8_t {
  Offsets,
  Amax,
  Quantize,
  Fprop,
  Memory,
  Check,
  Other,
  Dgrad,
  Wgrad,
  Bias,        // adding b to Y, and its gradient where it is not fused into quantize
  Dequantize,  // emulated products read dequantized operands
  Activation,  // of an expert layer, where it is not fused into quantize
  Permute,     // of an expert layer: tokens, or their gradients, to the rows of experts
  Unpermute,   // and rows back to tokens
};

constexpr auto enum_names(Stage) {
  return std::to_array<std::string_view>({"offsets", "amax", "quantize", "fprop", "memory", "check",
                                          "other", "dgrad", "wgrad", "bias", "dequantize",
                                          "activation", "permute", "unpermute"});
}
inline constexpr auto kStageNames = enum_names(Stage{});

constexpr std::string_view stage_name(Stage stage) { return name_of(stage); }

}  // namespace engine
