// Numbers for people: a figure of about four digits and its unit, never one without the other.
#pragma once

#include <cstdint>
#include <limits>
#include <string>

#include "engine/model/count_text.h"
#include "engine/model/time_text.h"

namespace profiling {

using engine::time_unit;
using engine::TimeUnit;

/// Figure and unit separately, so that the unit can be dimmed. NaN gives "n/a" and no unit.
struct Quantity {
  std::string figure;
  std::string unit;
  double exact = std::numeric_limits<double>::quiet_NaN();  // unrounded, in `exact_unit`
  std::string exact_unit{};
  std::string text() const { return unit.empty() ? figure : figure + " " + unit; }
};

Quantity duration(double nanoseconds);
std::string duration_text(double nanoseconds);
/// "3.62 TB/s", "43.1 GB/s": wherever people read how fast bytes move.
std::string byte_rate_text(double bytes_per_second);
struct RateUnit {
  double flop_per_second = 1e6;
  const char* name = "MFLOP/s";
};
/// The unit of a rate of this size, wherever it is shown: "GFLOP/s" below 1e12.
RateUnit rate_unit(double flop_per_second);
/// Rate in FLOP/s with the prefix that fits.
Quantity flop_rate(double flop_per_second);
/// Four significant digits; infinities as words.
std::string number_text(double value);
/// 1234567 -> "1.23M".
std::string si_text(double value);
/// "17.3 TFLOP".
std::string flop_text(double flop);
using engine::count_text;  // of every count in a text for people
/// 3221225472 -> "3.0 GiB".
std::string bytes_text(std::uint64_t bytes);
/// "132", "132 x 2", "132 x 2 x 4": a grid of blocks, or a block of threads.
std::string extent_text(std::uint32_t x, std::uint32_t y, std::uint32_t z);
inline constexpr int kSnrDecimals = 1;  // for engine::snr_text()
/// A ratio of powers: "41.2" and "dB"; without the unit where decibel_text() is a word.
Quantity decibels(double decibel);
/// "41.2", "exact" for +inf (nothing was lost), "n/a" for NaN. Without the unit.
std::string decibel_text(double decibel);
/// "+1.5" or "-0.3" of a ratio of 1.015 or 0.997, in percent; "0.0" where it rounds to that.
std::string percent_change(double ratio, int digits = 1);
/// "2^-7.4"; "2^0.0", never "2^-0.0".
std::string power_text(double exponent, int digits = 1);
/// "2^-7.42 (0.00583)".
std::string log2_text(double exponent);
/// "0.13 %"; "0 %" only for exactly none, "< 0.01 %" for a trace.
std::string share_text(double part, double whole);

}  // namespace profiling
