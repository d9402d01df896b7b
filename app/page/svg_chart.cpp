#include "app/page/svg_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace app {
namespace {

constexpr double kWidth = 720;
constexpr double kHeight = 200;
constexpr double kLeft = 64;
constexpr double kRight = 8;
constexpr double kTop = 10;
constexpr double kBottom = 22;
constexpr double kInside = kWidth - kLeft - kRight;
constexpr const char* kBlue = "#1f6fd1";
constexpr const char* kGrey = "#8a94a3";
constexpr const char* kOrange = "#d97a0b";

/// Both ends of the finite values; low above high: there are none.
struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
};

std::string figure(double value, const char* unit) {
  return unit[0] == '\0' ? fmt::format("{:.4g}", value) : fmt::format("{:.4g} {}", value, unit);
}

class Chart {
 public:
  /// Equal values get some room above them.
  Chart(double low, double high)
      : low_(low), high_(high > low ? high : low + std::max(1.0, std::fabs(low) * 1e-3)) {}

  double y(double value) const {
    // In halves: the difference of the largest numbers is not finite.
    return kTop +
           (kHeight - kTop - kBottom) * (1 - (value / 2 - low_ / 2) / (high_ / 2 - low_ / 2));
  }
  void add(const std::string& element) { body_ += element; }
  void label_ends(const char* unit) {
    label(kLeft - 6, y(low_), figure(low_, unit));
    label(kLeft - 6, y(high_) + 8, figure(high_, unit));
  }
  void label(double x, double y, const std::string& text, const char* anchor = "end") {
    add(fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>)", x, y, anchor,
                    text));
  }
  std::string finish() const {
    return fmt::format(R"(<svg viewBox="0 0 {0} {1}" role="img"><path d="M{2} {3}V{4}H{5}" )"
                       R"(fill="none" stroke="currentColor" stroke-opacity="0.5"/>{6}</svg>)",
                       kWidth, kHeight, kLeft, kTop, kHeight - kBottom, kWidth - kRight, body_);
  }

 private:
  double low_;
  double high_;
  std::string body_;
};

}  // namespace

std::string bar_chart(std::span<const double> values, const char* unit) {
  Range range;
  for (const double value : values) range.add(value);
  if (range.empty()) return {};
  Chart chart(std::min(range.low, 0.0), std::max(range.high, 0.0));
  const double step = kInside / static_cast<double>(values.size());
  const double width = std::max(step * 0.8, 0.5);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    const double top = chart.y(std::max(values[i], 0.0));
    chart.add(
        fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>)",
                    kLeft + static_cast<double>(i) * step + (step - width) / 2, top, width,
                    std::max(chart.y(std::min(values[i], 0.0)) - top, 0.5), kBlue));
  }
  chart.label_ends(unit);
  chart.label(kLeft + step / 2, kHeight - 6, "0", "middle");
  chart.label(kWidth - kRight - step / 2, kHeight - 6, fmt::to_string(values.size() - 1), "middle");
  return chart.finish();
}

std::string line_chart(std::span<const double> values, const char* unit,
                       const std::vector<bool>& marked) {
  Range range;
  for (const double value : values) range.add(value);
  if (range.empty()) return {};
  constexpr std::size_t kParts = 600;
  const std::size_t parts = std::min(values.size(), kParts);
  Chart chart(range.low, range.high);
  std::string points;
  std::string marks;
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t begin = part * values.size() / parts;
    const std::size_t end = std::max((part + 1) * values.size() / parts, begin + 1);
    Range inside;
    Range inside_marked;
    for (std::size_t i = begin; i < end; ++i) {
      inside.add(values[i]);
      if (!marked.empty() && marked[i]) inside_marked.add(values[i]);
    }
    if (inside.empty()) continue;
    const double x =
        kLeft + kInside * (static_cast<double>(part) + 0.5) / static_cast<double>(parts);
    points += fmt::format("{:.1f},{:.1f} ", x, chart.y(inside.low));
    if (inside.high > inside.low) points += fmt::format("{:.1f},{:.1f} ", x, chart.y(inside.high));
    if (inside_marked.empty()) continue;
    marks += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="2.5" fill="{}"/>)", x,
                         chart.y(inside_marked.high), kOrange);
  }
  chart.add(fmt::format(R"(<polyline points="{}" fill="none" stroke="{}" stroke-width="1.5"/>)",
                        points, kBlue));
  chart.add(marks);
  chart.label_ends(unit);
  chart.label(kLeft, kHeight - 6, "0", "start");
  chart.label(kWidth - kRight, kHeight - 6, fmt::to_string(values.size() - 1));
  return chart.finish();
}

std::string histogram_chart(const Log2Histogram& before, const Log2Histogram& after,
                            int per_octave) {
  int low = std::numeric_limits<int>::max();
  int high = std::numeric_limits<int>::min();
  double most = 0;
  for (const Log2Histogram& one : {before, after}) {
    for (std::size_t i = 0; i < one.counts.size(); ++i) {
      if (one.counts[i] <= 0) continue;
      low = std::min(low, one.first + static_cast<int>(i));
      high = std::max(high, one.first + static_cast<int>(i) + 1);
      most = std::max(most, one.counts[i]);
    }
  }
  if (most <= 0) return {};
  Chart chart(0, std::log10(most) + 0.1);
  const auto x = [&](int bin) {
    return kLeft + kInside * static_cast<double>(bin - low) / static_cast<double>(high - low);
  };
  const auto outline = [&](const Log2Histogram& one, const char* color, const char* fill) {
    std::string path = fmt::format("M{:.1f} {:.1f}", x(low), chart.y(0));
    for (int bin = low; bin < high; ++bin) {
      const int at = bin - one.first;
      const bool held = at >= 0 && at < static_cast<int>(one.counts.size());
      const double count = held ? one.counts[static_cast<std::size_t>(at)] : 0;
      // A count of 1 is drawn above none.
      const double height = chart.y(count > 0 ? std::log10(count) + 0.1 : 0);
      path += fmt::format("V{:.1f}H{:.1f}", height, x(bin + 1));
    }
    chart.add(fmt::format(R"(<path d="{}V{:.1f}" fill="{}" fill-opacity="0.35" stroke="{}"/>)",
                          path, chart.y(0), fill, color));
  };
  outline(before, kGrey, kGrey);
  outline(after, kBlue, "none");
  chart.label(kLeft - 6, chart.y(0.1), "1");
  chart.label(kLeft - 6, kTop + 8, fmt::format("{:.4g}", most));
  const auto power = [&](int bin) {
    return fmt::format("2^{:.4g}", static_cast<double>(bin) / per_octave);
  };
  chart.label(kLeft, kHeight - 6, power(low), "start");
  chart.label(kWidth - kRight, kHeight - 6, power(high));
  return chart.finish();
}

}  // namespace app
