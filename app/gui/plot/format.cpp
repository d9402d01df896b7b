// Figures and units.
#include "app/gui/plot/format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include "kernels/common/formats.h"

namespace app::plot {
namespace {

/// Four significant digits without an exponent for values in [0.001, 10000).
std::string four_digits(double value) {
  const double size = std::abs(value);
  if (size == 0.0) return "0";
  if (size >= 999.95) return fmt::format("{:.0f}", value);
  if (size >= 99.995) return fmt::format("{:.1f}", value);
  if (size >= 9.9995) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

TimeUnit time_unit(double nanoseconds) {
  const double size = std::abs(nanoseconds);
  if (size >= 1e9) return {1e9, "s"};
  if (size >= 1e6) return {1e6, "ms"};
  if (size >= 1e3) return {1e3, "\u00b5s"};
  return {1.0, "ns"};
}

Quantity duration(double nanoseconds) {
  if (std::isnan(nanoseconds)) return {.figure = "n/a", .unit = ""};
  const TimeUnit unit = time_unit(nanoseconds);
  const double value = nanoseconds / unit.nanoseconds;
  const bool whole_ns = unit.nanoseconds == 1.0 && value == std::floor(value);
  return {whole_ns ? fmt::format("{:.0f}", value) : four_digits(value), unit.name, nanoseconds,
          "ns"};
}

std::string duration_text(double nanoseconds) { return duration(nanoseconds).text(); }

Quantity flop_rate(double flop_per_second) {
  if (!std::isfinite(flop_per_second)) return {.figure = "n/a", .unit = ""};
  if (flop_per_second >= 1e12)
    return {four_digits(flop_per_second / 1e12), "TFLOP/s", flop_per_second, "FLOP/s"};
  if (flop_per_second >= 1e9)
    return {four_digits(flop_per_second / 1e9), "GFLOP/s", flop_per_second, "FLOP/s"};
  return {four_digits(flop_per_second / 1e6), "MFLOP/s", flop_per_second, "FLOP/s"};
}

std::string number_text(double value) {
  if (std::isnan(value)) return "n/a";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size != 0.0 && (size < 1e-3 || size >= 1e5)) return fmt::format("{:.2e}", value);
  return four_digits(value);
}

std::string si_text(double value) {
  static constexpr std::array<std::pair<double, const char*>, 4> kPrefixes = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [size, prefix] : kPrefixes) {
    if (std::abs(value) >= size) return fmt::format("{:.3g}{}", value / size, prefix);
  }
  return fmt::format("{:.3g}", value);
}

std::string count_text(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string result;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) result += ' ';
    result += digits[i];
  }
  return result;
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes);
  const char* const units[] = {"B", "KiB", "MiB", "GiB"};
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < std::size(units)) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, units[unit]);
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

namespace {

/// "Nvfp4Worker" of "kernels::tiles::Nvfp4Worker".
std::string_view without_scopes(std::string_view name) {
  const std::size_t scope = name.rfind("::");
  return scope == std::string_view::npos ? name : name.substr(scope + 2);
}

/// "E4M3" of "(kernels::Fp8Format)0", as demanglers write an enumerator. Only the format that is
/// written: what a kernel reads is the same for a whole run, and numbers mean nothing to a reader.
std::string format_name(std::string_view type, std::string_view number) {
  constexpr auto kNames = enum_names(kernels::Fp8Format{});
  if (without_scopes(type) != "Fp8Format" || number.size() != 1) return {};
  const auto index = static_cast<std::size_t>(number[0] - '0');
  if (index >= kNames.size()) return {};
  std::string upper(kNames[index]);
  std::ranges::transform(upper, upper.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return upper;
}

/// What tells the instances of a template apart: class templates, formats of codes, and plain
/// numbers such as sizes of tiles. Types, flags and other enumerators are left out.
void add_arguments(std::string_view list, std::vector<std::string>& kept) {
  std::size_t i = 0;
  while (i < list.size()) {
    if (list[i] == '(') {
      const std::size_t close = list.find(')', i);
      if (close == std::string_view::npos) return;
      std::size_t end = close + 1;
      while (end < list.size() && is_word(list[end])) ++end;
      if (std::string name = format_name(list.substr(i + 1, close - i - 1),
                                         list.substr(close + 1, end - close - 1));
          !name.empty()) {
        kept.push_back(std::move(name));
      }
      i = end;
      continue;
    }
    if (!is_word(list[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < list.size() && (is_word(list[end]) || list[end] == ':')) ++end;
    const std::string_view word = list.substr(i, end - i);
    const bool number = word.find_first_not_of("0123456789") == std::string_view::npos;
    const bool class_template = end < list.size() && list[end] == '<';
    if (number || class_template) kept.emplace_back(without_scopes(word));
    i = end;
  }
}

/// "nvjet_sm90_qqtst_..." -> "nvjet_qqtst_...": the device is the same for all of a run.
std::string without_architecture(std::string_view name) {
  const std::size_t at = name.find("_sm");
  if (at == std::string_view::npos) return std::string(name);
  std::size_t end = at + 3;
  while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
  if (end == at + 3 || end == name.size() || name[end] != '_') return std::string(name);
  return std::string(name.substr(0, at)) + std::string(name.substr(end));
}

}  // namespace

std::string short_kernel_name(std::string_view name) {
  // Template arguments and parameters are removed first: they may contain spaces, colons and
  // brackets.
  std::string flat;
  std::string_view arguments;
  std::size_t opened = 0;
  int depth = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with("(anonymous namespace)")) {
      i += std::string_view("(anonymous namespace)").size() - 1;
      continue;
    }
    const char c = name[i];
    if (c == '<' && ++depth == 1) opened = i + 1;
    if (depth == 0 && c == '(') break;
    if (depth == 0 && c == ':') arguments = {};  // those were of an enclosing class
    if (depth == 0) flat += c;
    if (c == '>' && depth > 0 && --depth == 0) arguments = name.substr(opened, i - opened);
  }
  while (!flat.empty() && flat.back() == ' ') flat.pop_back();
  // Only a name that looks like a C++ one is cut at its last scope or blank.
  const std::size_t scope = flat.rfind("::");
  if (scope != std::string::npos) {
    flat = flat.substr(scope + 2);
  } else if (flat.starts_with("void ")) {
    flat = flat.substr(5);
  }
  if (flat.empty() || !is_word(flat.front())) return std::string(name);
  constexpr std::string_view kKernel = "_kernel";
  if (flat.size() > kKernel.size() && flat.ends_with(kKernel)) {
    flat.resize(flat.size() - kKernel.size());
  }
  std::vector<std::string> kept;
  add_arguments(arguments, kept);
  constexpr std::size_t kMostArguments = 3;
  if (kept.size() > kMostArguments) kept.resize(kMostArguments);
  flat = without_architecture(flat);
  return kept.empty() ? flat : fmt::format("{}<{}>", flat, fmt::join(kept, ", "));
}

std::string work_name(std::string_view operation, std::string_view kernel) {
  if (operation.empty()) return short_kernel_name(kernel);
  std::string name(operation);
  if (!kernel.empty() && kernel != operation) name += "  " + short_kernel_name(kernel);
  return name;
}

}  // namespace app::plot
