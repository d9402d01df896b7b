// Tick positions and labels.
#include "app/plot/ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiling/document/quantity.h"

namespace app::plot {
namespace {

int decimals_of(double step) {
  return std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
}

std::string label_of(AxisKind kind, double value, double step, double reach) {
  switch (kind) {
    case AxisKind::Log2:
      return fmt::format("2^{}", static_cast<long long>(std::llround(value)));
    case AxisKind::Log10Count:
      return profiling::si_text(std::pow(10.0, value));
    case AxisKind::Integer:
      return profiling::si_text(std::round(value));
    case AxisKind::Decibel:
      return fmt::format("{:.{}f}", value, decimals_of(step));
    case AxisKind::Nanoseconds: {
      // One unit for the whole axis: the largest value in view determines it, the step determines
      // the decimals.
      const profiling::TimeUnit unit = profiling::time_unit(reach);
      return fmt::format("{:.{}f}", value / unit.nanoseconds, decimals_of(step / unit.nanoseconds));
    }
    case AxisKind::Number:
      break;
  }
  if (reach >= 10000.0) return profiling::si_text(value);
  if (reach < 1e-3) return fmt::format("{:.1e}", value);
  return fmt::format("{:.{}f}", value, decimals_of(step));
}

constexpr double kMostWholeNumber = 0x1p53;  // beyond it adding 1 changes nothing

/// Values that no device measures, of a hostile worker for example, have no ticks: there would be
/// no end of them.
bool is_countable(Range view) {
  return std::isfinite(view.min) && std::isfinite(view.max) && std::isfinite(view.span());
}

std::vector<Tick> ticks_within_a_decade(Range view, int most) {
  std::vector<Tick> result;
  if (std::max(std::abs(view.min), std::abs(view.max)) >= kMostWholeNumber) return result;
  for (double power = std::floor(view.min); power <= view.max; power += 1.0) {
    for (const double multiple : {1.0, 2.0, 5.0}) {
      const double at = power + std::log10(multiple);
      if (at < view.min - 1e-9 || at > view.max + 1e-9) continue;
      result.push_back({at, profiling::si_text(multiple * std::pow(10.0, power))});
    }
  }
  if (result.size() <= static_cast<std::size_t>(most)) return result;
  const auto is_power = [](const Tick& one) { return one.value == std::floor(one.value); };
  // One label is no axis: without two powers, its ends say more.
  if (most > 1 && std::ranges::count_if(result, is_power) < 2) {
    return {result.front(), result.back()};
  }
  std::erase_if(result, [&](const Tick& one) { return !is_power(one); });
  return result;
}

}  // namespace

double nice_step(double span, int most) {
  if (!(span > 0.0) || !std::isfinite(span)) return 1.0;
  const double least = span / std::max(most, 1);
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double multiple : {1.0, 2.0, 5.0, 10.0}) {
    if (multiple * power >= least * (1.0 - 1e-9)) return multiple * power;
  }
  return 10.0 * power;
}

std::vector<Tick> ticks(AxisKind kind, Range view, int most) {
  std::vector<Tick> result;
  if (view.empty() || most < 1 || !is_countable(view)) return result;
  // A single power of ten, or none, in view is too little: use 1, 2, 5 of each.
  if (kind == AxisKind::Log10Count && std::floor(view.max) - std::ceil(view.min) < 1.0) {
    return ticks_within_a_decade(view, most);
  }
  double step = nice_step(view.span(), most);
  if (kind == AxisKind::Log2) {
    step = 1.0;  // exponents of powers of two: 1, 2, 4, 8 keep the labels whole
    while (view.span() / step > most) step *= 2.0;
  }
  if (kind == AxisKind::Integer || kind == AxisKind::Log10Count) {
    step = std::max(1.0, std::round(step));
  }
  const double reach = std::max(std::abs(view.min), std::abs(view.max));
  const auto first_of = [&view](double one) { return std::ceil(view.min / one - 1e-9); };
  const auto last_of = [&view](double one) { return std::floor(view.max / one + 1e-9); };
  // Two labels are what makes an axis; a narrow view may fall between the multiples of a wide step.
  const bool whole_decades = kind == AxisKind::Log10Count;
  const bool real = kind == AxisKind::Nanoseconds || kind == AxisKind::Number;
  const auto is_axis = [&](double one) { return last_of(one) - first_of(one) >= 1.0; };
  const bool narrowed = (whole_decades || real) && most > 1 && !is_axis(step);
  for (int more = 2; narrowed && !is_axis(step) && more < 8; ++more) {
    step = nice_step(view.span(), more);
    if (whole_decades) step = std::max(1.0, std::round(step));
  }
  const double first = first_of(step);
  const double last = last_of(step);
  // The view is so narrow for its place that the multiples of its step can no longer be
  // distinguished.
  if (!(std::max(std::abs(first), std::abs(last)) < kMostWholeNumber)) return result;
  for (double i = first; i <= last; i += 1.0) {
    // Adding zero turns the -0 of ceil() into 0.
    result.push_back({i * step + 0.0, label_of(kind, i * step + 0.0, step, reach)});
  }
  // A narrower step has more labels than there is room for: its ends say most.
  if (narrowed && result.size() > static_cast<std::size_t>(most)) {
    return {result.front(), result.back()};
  }
  return result;
}

double tick_origin(Range view) {
  constexpr double kTiny = 5e-4;
  const double reach = std::max(std::abs(view.min), std::abs(view.max));
  if (view.empty() || !is_countable(view) || view.span() > kTiny * reach) return 0.0;
  const double round = std::pow(10.0, std::ceil(std::log10(view.span())));
  return std::floor(view.min / round) * round;
}

AxisTitle axis_title(AxisKind kind, std::string_view label, Range view) {
  if (kind != AxisKind::Nanoseconds) return {.text = std::string(label)};
  const double reach = std::max(std::abs(view.min), std::abs(view.max));
  const double origin = tick_origin(view);
  const char* unit = profiling::time_unit(origin == 0.0 ? reach : view.span()).name;
  if (origin != 0.0) return {fmt::format("{} after {:.9f} s", unit, origin * 1e-9), origin};
  return {fmt::format("{}{}{}", label, label.empty() ? "" : ", ", unit), origin};
}

std::string unit_of_title(std::string_view title) {
  if (const std::size_t after = title.find(" after "); after != title.npos) {
    return std::string(title.substr(0, after));
  }
  const std::size_t comma = title.rfind(", ");
  return comma == title.npos ? std::string() : std::string(title.substr(comma + 2));
}

}  // namespace app::plot
