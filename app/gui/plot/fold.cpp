// Folding of spans to pixels over a pyramid of longest spans.
#include "app/gui/plot/fold.h"

#include <algorithm>

namespace app::plot {
namespace {
constexpr std::size_t kFanOut = 64;
}

FoldedRow::FoldedRow(std::vector<Span> spans) : spans_(std::move(spans)) {
  std::vector<std::uint32_t> below;
  for (std::size_t group = 0; group < spans_.size(); group += kFanOut) {
    std::size_t best = group;
    const std::size_t end = std::min(group + kFanOut, spans_.size());
    for (std::size_t i = group; i < end; ++i) {
      if (length(i) > length(best)) best = i;
    }
    below.push_back(static_cast<std::uint32_t>(best));
  }
  while (below.size() > 1) {
    std::vector<std::uint32_t> above;
    for (std::size_t group = 0; group < below.size(); group += kFanOut) {
      const std::size_t end = std::min(group + kFanOut, below.size());
      std::uint32_t best = below[group];
      for (std::size_t i = group; i < end; ++i) {
        if (length(below[i]) > length(best)) best = below[i];
      }
      above.push_back(best);
    }
    levels_.push_back(std::move(below));
    below = std::move(above);
  }
  if (!below.empty()) levels_.push_back(std::move(below));
}

std::size_t FoldedRow::first_ending_after(double time) const {
  const auto found = std::ranges::partition_point(
      spans_, [time](const Span& span) { return static_cast<double>(span.end_ns) <= time; });
  return static_cast<std::size_t>(found - spans_.begin());
}

std::size_t FoldedRow::first_starting_at(double time) const {
  const auto found = std::ranges::partition_point(
      spans_, [time](const Span& span) { return static_cast<double>(span.begin_ns) < time; });
  return static_cast<std::size_t>(found - spans_.begin());
}

std::size_t FoldedRow::longest(std::size_t first, std::size_t last) const {
  std::size_t best = first;
  const auto consider = [&](std::size_t index) {
    if (length(index) > length(best)) best = index;
  };
  std::size_t i = first;
  while (i < last) {
    // Take the largest whole group that starts here and still fits.
    std::size_t step = 1;
    std::size_t level = 0;
    while (level < levels_.size() && i % (step * kFanOut) == 0 && i + step * kFanOut <= last) {
      step *= kFanOut;
      ++level;
    }
    consider(level == 0 ? i : levels_[level - 1][i / step]);
    i += step;
  }
  return best;
}

std::vector<Block> FoldedRow::blocks(Range view, double fold_ns) const {
  std::vector<Block> result;
  std::size_t i = first_ending_after(view.min);
  while (i < spans_.size() && static_cast<double>(spans_[i].begin_ns) < view.max) {
    const Span& span = spans_[i];
    const double begin = static_cast<double>(span.begin_ns);
    if (static_cast<double>(length(i)) >= fold_ns) {
      result.push_back({begin, static_cast<double>(span.end_ns), 1, span.source});
      ++i;
      continue;
    }
    // Stops before the next span that is long enough to stand for itself. first_starting_at() may
    // return i itself when fold_ns is 0, hence the max.
    std::size_t next = std::max(first_starting_at(begin + fold_ns), i + 1);
    if (next > i + 1) {
      const std::size_t widest = longest(i + 1, next);
      if (static_cast<double>(length(widest)) >= fold_ns) next = widest;
    }
    const double end = static_cast<double>(spans_[next - 1].end_ns);
    result.push_back(
        {begin, end, static_cast<std::uint32_t>(next - i), spans_[longest(i, next)].source});
    i = next;
  }
  return result;
}

std::vector<FoldedRow> stack_rows(std::span<const Span> spans, std::size_t most) {
  std::vector<std::vector<Span>> rows;
  for (Span span : spans) {
    std::size_t row = 0;
    while (row < rows.size() && rows[row].back().end_ns > span.begin_ns) ++row;
    if (row == rows.size() && rows.size() < most) rows.emplace_back();
    if (row == rows.size()) {
      row = rows.size() - 1;
      span.begin_ns = std::min(rows[row].back().end_ns, span.end_ns);
    }
    rows[row].push_back(span);
  }
  std::vector<FoldedRow> result;
  result.reserve(rows.size());
  for (std::vector<Span>& row : rows) result.emplace_back(std::move(row));
  return result;
}

}  // namespace app::plot
