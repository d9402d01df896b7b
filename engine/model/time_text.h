// A time as people read it: about four digits in the unit of its size. Files have plain numbers.
#pragma once

#include <string>
#include <string_view>

namespace engine {

struct TimeUnit {
  double nanoseconds = 1.0;
  const char* name = "ns";
};
/// From this part of a unit on, four digits round to one of it: 999.95 us are 1.000 ms.
inline constexpr double kRoundsToOne = 0.99995;
/// The unit in which a time of this size has one to three digits before the decimal point, also
/// after rounding.
TimeUnit time_unit(double nanoseconds);

/// Four significant digits without an exponent; 999.95 and more as a whole number.
std::string four_digits(double value);

/// The time in this unit: "12.50", "17" for whole ns.
std::string time_figure(double nanoseconds, const TimeUnit& unit);
/// "12.50 µs", "17 ns"; "n/a" for NaN.
std::string time_text(double nanoseconds);
/// "298.0 to 310.0 ms": one unit for both where both are of its size.
std::string time_range_text(double low_ns, double high_ns, std::string_view between = " to ");

}  // namespace engine
