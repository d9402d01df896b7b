// Folds scales one by one into the cells of a ScaleMap and into its summary, wherever they lie.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "engine/model/run_result.h"
#include "kernels/diagnostics/statistics.h"

namespace engine {

inline constexpr int kScaleMapCells = 512;  // most cells along either side of a ScaleMap

/// One scale and what became of the elements it covers.
struct FoldedScale {
  float scale_inv = 0.0F;
  std::int64_t row = 0;  // among the scales of the operand
  std::int64_t column = 0;
  std::int64_t elements = 0;  // that it covers: fewer at the edges
  kernels::BlockLosses losses = {0, 0};
};

class ScaleFolder {
 public:
  /// `geometry`: blocks, source sides and the experts' first rows; the rest is made here.
  /// `with_losses`: FoldedScale::losses were counted.
  ScaleFolder(ScaleMap geometry, bool with_losses);

  /// Scales that are not finite and above 0 count for nothing but their elements' losses.
  void add(const FoldedScale& scale);
  /// Call once, at the end.
  ScaleMap take();

 private:
  struct Cell {
    double sum = 0.0;      // of log2, less the pivot: equal scales deviate by exactly 0
    double squares = 0.0;  // of the same
    float pivot = 0.0F;
    std::int64_t scales = 0;
    std::int64_t elements = 0;
    std::uint64_t saturated = 0;
    std::uint64_t underflowed = 0;
  };
  static void add_exponent(float exponent, Cell& cell);
  static double mean(const Cell& cell);
  static double deviation(const Cell& cell);

  ScaleMap map_;
  bool with_losses_;
  std::vector<Cell> cells_;
  Cell all_;
  std::unordered_set<std::uint32_t> distinct_;  // bit patterns
};

}  // namespace engine
