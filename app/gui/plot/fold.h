// Level of detail of a timeline row: spans narrower than a few pixels are folded into one block
// that keeps their count and the longest of them, so that an outlier stays visible at every zoom.
// Cost follows the pixels, not the spans. No ImGui calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "app/gui/plot/range.h"

namespace app::plot {

struct Span {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::uint32_t source = 0;  // index of the record it stands for
};

/// What is drawn: one span (count 1) or a fold of several.
struct Block {
  double begin_ns = 0.0;
  double end_ns = 0.0;
  std::uint32_t count = 0;
  std::uint32_t longest = 0;  // source of the longest span inside
  bool folded() const { return count > 1; }
};

/// Spans of one row that do not overlap, in order, with the longest of each group of 64 (and of 64
/// such groups, ...) known beforehand.
class FoldedRow {
 public:
  FoldedRow() = default;
  /// `spans` sorted by begin_ns and without overlap.
  explicit FoldedRow(std::vector<Span> spans);

  /// Blocks that touch the view, in order. A block grows until it is at least `fold_ns` long.
  std::vector<Block> blocks(Range view, double fold_ns) const;
  /// Index into spans() of the first one that ends after `time`.
  std::size_t first_ending_after(double time) const;
  std::size_t first_starting_at(double time) const;
  /// Index into spans() of the longest of [first, last).
  std::size_t longest(std::size_t first, std::size_t last) const;
  std::span<const Span> spans() const { return spans_; }

 private:
  std::int64_t length(std::size_t index) const {
    return spans_[index].end_ns - spans_[index].begin_ns;
  }
  std::vector<Span> spans_;
  std::vector<std::vector<std::uint32_t>> levels_;  // index of the longest of each group
};

/// Distributes spans (sorted by begin) over as few rows as keep them from overlapping; nested spans
/// land below the span that holds them. Rows beyond `most` share the last one, cut at its end.
std::vector<FoldedRow> stack_rows(std::span<const Span> spans, std::size_t most);

}  // namespace app::plot
