// Bin edges and densities.
#include "app/gui/plot/bins.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "profiling/document/columns.h"
#include "profiling/document/quantity.h"

namespace app::plot {

namespace {

/// People see a whole number in full, and a share rounded.
profiling::Cell counted_cell(double count) {
  if (count != std::floor(count) || !(count < 1e15)) return count;
  return profiling::worded(count, profiling::count_text(static_cast<std::uint64_t>(count)));
}

}  // namespace

Range Bins::range() const {
  std::size_t first = 0;
  std::size_t last = counts.size();
  while (first < last && counts[first] == 0.0) ++first;
  while (last > first && counts[last - 1] == 0.0) --last;
  if (first == last) return {};
  return {edges[first], edges[last]};
}

double Bins::total() const {
  double sum = 0.0;
  for (const double count : counts) sum += count;
  return sum;
}

double Bins::density(std::size_t bin) const {
  const double width = edges[bin + 1] - edges[bin];
  return width > 0.0 ? counts[bin] / width : 0.0;
}

double Bins::peak(Range view) const {
  double highest = 0.0;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    if (edges[bin + 1] > view.min && edges[bin] < view.max) {
      highest = std::max(highest, density(bin));
    }
  }
  return highest;
}

int Bins::find(double value) const {
  if (counts.empty() || value < edges.front() || value >= edges.back()) return -1;
  const auto above = std::ranges::upper_bound(edges, value);
  return static_cast<int>(above - edges.begin()) - 1;
}

Range Bins::whole_bins(Range range) const {
  Range whole;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    if (!range.contains(0.5 * (edges[bin] + edges[bin + 1]))) continue;
    if (whole.empty()) whole.min = edges[bin];
    whole.max = edges[bin + 1];
  }
  return whole;
}

double Bins::counted(Range range) const {
  double sum = 0.0;
  for (std::size_t bin = 0; bin < counts.size(); ++bin) {
    if (range.contains(0.5 * (edges[bin] + edges[bin + 1]))) sum += counts[bin];
  }
  return sum;
}

profiling::Table bins_table(const char* key, std::vector<NamedBins> all, const BinEdges& edges,
                            const char* counts) {
  using profiling::column;
  using profiling::Measure;
  return {
      .name = "bins",
      .columns = {column(key), column(fmt::format("from{}", edges.suffix), edges.measure, "from"),
                  column(fmt::format("to{}", edges.suffix), edges.measure, "to"),
                  column(counts, Measure::Number)},
      .rows = [all = std::move(all)](const profiling::RowSink& sink) {
        for (const auto& [name, bins] : all) {
          for (std::size_t i = 0; i < bins->counts.size(); ++i) {
            if (bins->counts[i] == 0.0) continue;
            sink({.cells = profiling::cells_of(name, bins->edges[i], bins->edges[i + 1],
                                               counted_cell(bins->counts[i]))});
          }
          for (const auto& [what, count] : {std::pair{"zeros", bins->zeros},
                                            {"infinities", bins->infinities},
                                            {"nans", bins->nans}}) {
            if (count == 0) continue;
            sink({.cells = profiling::cells_of(name, what, profiling::Cell(),
                                               counted_cell(static_cast<double>(count)))});
          }
        }
      }};
}

double magnitude_edge_log2(int bin) {
  const int exponent = bin >> 2;
  const double quarter = 0.25 * (bin & 3);
  if (exponent > 0) return exponent - 127 + std::log2(1.0 + quarter);
  // Subnormals: quarters of 2^-126; the lowest bin starts at the smallest subnormal.
  return quarter > 0.0 ? -126.0 + std::log2(quarter) : -149.0;
}

Bins magnitude_bins(const engine::MagnitudeHistogram& histogram) {
  Bins bins;
  bins.zeros = histogram.zeros;
  bins.infinities = histogram.infinities;
  bins.nans = histogram.nans;
  if (histogram.counts.empty()) return bins;
  for (std::size_t i = 0; i <= histogram.counts.size(); ++i) {
    bins.edges.push_back(magnitude_edge_log2(histogram.first_bin + static_cast<int>(i)));
  }
  for (const std::uint64_t count : histogram.counts) {
    bins.counts.push_back(static_cast<double>(count));
  }
  return bins;
}

Bins linear_bins(std::span<const double> samples) {
  Bins bins;
  double low = 0.0;
  double high = 0.0;
  std::size_t finite = 0;
  for (const double sample : samples) {
    if (!std::isfinite(sample)) continue;
    low = finite == 0 ? sample : std::min(low, sample);
    high = finite == 0 ? sample : std::max(high, sample);
    ++finite;
  }
  if (finite == 0) return bins;
  constexpr double kMostBins = 80.0;
  const double wanted =
      std::clamp(std::ceil(2.0 * std::sqrt(static_cast<double>(finite))), 8.0, kMostBins);
  const auto count = static_cast<std::size_t>(wanted);
  // All samples equal: one bin's width around them keeps the value readable.
  const double width = high > low ? (high - low) / wanted : std::max(std::abs(low) * 0.01, 1.0);
  for (std::size_t i = 0; i <= count; ++i) {
    bins.edges.push_back(low + width * static_cast<double>(i));
  }
  bins.counts.assign(count, 0.0);
  for (const double sample : samples) {
    if (!std::isfinite(sample)) continue;
    const auto bin = static_cast<std::size_t>((sample - low) / width);
    bins.counts[std::min(bin, count - 1)] += 1.0;
  }
  return bins;
}

}  // namespace app::plot
