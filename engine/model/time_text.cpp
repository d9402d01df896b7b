#include "engine/model/time_text.h"

#include <fmt/format.h>

#include <cmath>

namespace engine {

TimeUnit time_unit(double nanoseconds) {
  const double size = std::abs(nanoseconds);
  if (size >= kRoundsToOne * 1e9) return {1e9, "s"};
  if (size >= kRoundsToOne * 1e6) return {1e6, "ms"};
  if (size >= kRoundsToOne * 1e3) return {1e3, "\u00b5s"};
  return {1.0, "ns"};
}

std::string four_digits(double value) {
  const double size = std::abs(value);
  if (size == 0.0) return "0";
  if (size >= 999.95) return fmt::format("{:.0f}", value);
  if (size >= 99.995) return fmt::format("{:.1f}", value);
  if (size >= 9.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string time_figure(double nanoseconds, const TimeUnit& unit) {
  const double value = nanoseconds / unit.nanoseconds;
  const bool whole_ns = unit.nanoseconds == 1.0 && value == std::floor(value);
  return whole_ns ? fmt::format("{:.0f}", value) : four_digits(value);
}

std::string time_text(double nanoseconds) {
  if (std::isnan(nanoseconds)) return "n/a";
  const TimeUnit unit = time_unit(nanoseconds);
  return time_figure(nanoseconds, unit) + " " + unit.name;
}

std::string time_range_text(double low_ns, double high_ns, std::string_view between) {
  const TimeUnit unit = time_unit(low_ns);
  const bool same = unit.nanoseconds == time_unit(high_ns).nanoseconds;
  return fmt::format("{}{}{}", same ? time_figure(low_ns, unit) : time_text(low_ns), between,
                     time_text(high_ns));
}

}  // namespace engine
