// Figures and units.
#include "profiling/document/quantity.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <iterator>

namespace profiling {
namespace {

using engine::four_digits;
using engine::kRoundsToOne;

/// From this part of a prefix on, three digits round to one of it.
constexpr double kThreeDigitsRoundToOne = 0.9995;

}  // namespace

Quantity duration(double nanoseconds) {
  if (std::isnan(nanoseconds)) return {.figure = "n/a", .unit = ""};
  const TimeUnit unit = time_unit(nanoseconds);
  return {engine::time_figure(nanoseconds, unit), unit.name, nanoseconds, "ns"};
}

std::string duration_text(double nanoseconds) { return engine::time_text(nanoseconds); }

RateUnit rate_unit(double flop_per_second) {
  if (flop_per_second >= kRoundsToOne * 1e12) return {1e12, "TFLOP/s"};
  if (flop_per_second >= kRoundsToOne * 1e9) return {1e9, "GFLOP/s"};
  return {};
}

Quantity flop_rate(double flop_per_second) {
  if (!std::isfinite(flop_per_second)) return {.figure = "n/a", .unit = ""};
  const RateUnit unit = rate_unit(flop_per_second);
  return {four_digits(flop_per_second / unit.flop_per_second), unit.name, flop_per_second,
          "FLOP/s"};
}

std::string byte_rate_text(double bytes_per_second) {
  return bytes_per_second >= kThreeDigitsRoundToOne * 1e12
             ? fmt::format("{:.3g} TB/s", bytes_per_second / 1e12)
             : fmt::format("{:.3g} GB/s", bytes_per_second / 1e9);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "n/a";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size != 0.0 && (size < 1e-3 || size >= 1e5)) return fmt::format("{:.2e}", value);
  return four_digits(value);
}

std::string si_text(double value) {
  static constexpr std::array<std::pair<double, const char*>, 6> kPrefixes = {
      {{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [size, prefix] : kPrefixes) {
    if (std::abs(value) >= kThreeDigitsRoundToOne * size)
      return fmt::format("{:.3g}{}", value / size, prefix);
  }
  return fmt::format("{:.3g}", value);
}

std::string flop_text(double flop) {
  const std::string text = si_text(flop);
  const bool prefixed = !text.empty() && text.back() >= 'A';
  return prefixed ? fmt::format("{} {}FLOP", text.substr(0, text.size() - 1), text.back())
                  : text + " FLOP";
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (value >= 1023.95 && unit + 1 < std::size(units)) {
    value /= 1024.0;
    ++unit;
  }
  // Of few GiB, a tenth is a hundred MiB.
  return unit == 3 && value < 10 ? fmt::format("{:.2f} {}", value, units[unit])
                                 : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string decibel_text(double decibel) {
  if (std::isnan(decibel)) return "n/a";
  if (std::isinf(decibel)) return decibel > 0 ? "exact" : "-inf";
  return fmt::format("{:.1f}", decibel);
}

std::string extent_text(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  if (z != 1) return fmt::format("{} x {} x {}", x, y, z);
  return y != 1 ? fmt::format("{} x {}", x, y) : std::to_string(x);
}

Quantity decibels(double decibel) {
  return {decibel_text(decibel), std::isfinite(decibel) ? "dB" : ""};
}

namespace {

/// Without the sign of a number that rounds to zero.
std::string unsigned_zero(std::string text) {
  const bool zero = text.find_first_of("123456789") == std::string::npos;
  if (zero && (text.starts_with('-') || text.starts_with('+'))) text.erase(0, 1);
  return text;
}

}  // namespace

std::string percent_change(double ratio, int digits) {
  return unsigned_zero(fmt::format("{:+.{}f}", 100.0 * (ratio - 1.0), digits));
}

std::string power_text(double exponent, int digits) {
  return "2^" + unsigned_zero(fmt::format("{:.{}f}", exponent, digits));
}

std::string log2_text(double exponent) {
  if (std::isnan(exponent)) return "n/a";
  if (exponent == std::floor(exponent)) {
    return fmt::format("2^{:.0f} ({})", exponent, number_text(std::exp2(exponent)));
  }
  return fmt::format("2^{:.2f} ({})", exponent, number_text(std::exp2(exponent)));
}

std::string share_text(double part, double whole) {
  if (!(whole > 0.0)) return "n/a";
  const double percent = 100.0 * part / whole;
  if (part == 0.0) return "0 %";
  if (percent < 0.01) return "< 0.01 %";
  return fmt::format("{:.{}f} %", percent, percent < 10.0 ? 2 : 1);
}

}  // namespace profiling
