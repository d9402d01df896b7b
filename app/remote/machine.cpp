#include "app/remote/machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

#include "engine/model/text.h"
#include "profiling/document/quantity.h"

namespace app {
namespace {

// The C++ library that the bundle's programs were built with needs these.
constexpr std::string_view kNeededGlibc = "2.35";
constexpr std::string_view kNeededGlibcxx = "3.4.30";
constexpr std::string_view kGlibcOfOwnCxxLibrary = "2.36";  // Debian 12's

std::vector<int> version_parts(std::string_view text) {
  std::vector<int> parts;
  while (!text.empty()) {
    int part = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), part);
    if (error != std::errc()) break;
    parts.push_back(part);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (!text.empty()) text.remove_prefix(1);
  }
  return parts;
}

bool at_least_version(std::string_view have, std::string_view needed) {
  return version_parts(have) >= version_parts(needed);
}

template <class Number>
Number number_of(std::string_view text) {
  Number number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// "0, NVIDIA H200, 143771 MiB, 580.95.05"
GpuFacts parse_gpu(std::string_view line) {
  std::vector<std::string> cells;
  while (true) {
    const std::size_t comma = line.find(", ");
    cells.emplace_back(line.substr(0, comma));
    if (comma == std::string_view::npos) break;
    line.remove_prefix(comma + 2);
  }
  cells.resize(4);
  return {
      .index = number_of<int>(cells[0]), .name = cells[1], .memory = cells[2], .driver = cells[3]};
}

}  // namespace

engine::Result<MachineFacts> parse_machine(std::string_view text) {
  MachineFacts machine;
  bool complete = false;
  const std::map<std::string_view, std::string MachineFacts::*> texts = {
      {"machine", &MachineFacts::architecture}, {"system", &MachineFacts::system},
      {"glibc", &MachineFacts::glibc},          {"driver", &MachineFacts::driver},
      {"toolkit", &MachineFacts::toolkit},      {"python", &MachineFacts::python},
      {"cache", &MachineFacts::cache},          {"cannot", &MachineFacts::cannot}};
  const std::map<std::string_view, std::vector<std::string> MachineFacts::*> lists = {
      {"cublaslt", &MachineFacts::cublaslt},
      {"bundle", &MachineFacts::bundles},
      {"in_use", &MachineFacts::in_use}};
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view name = line.substr(0, equals);
    const std::string value = engine::shown_text(line.substr(equals + 1));
    if (const auto one = texts.find(name); one != texts.end()) {
      machine.*one->second = value;
    } else if (const auto list = lists.find(name); list != lists.end()) {
      (machine.*list->second).emplace_back(value);
    } else if (name == "gpu") {
      machine.gpus.push_back(parse_gpu(value));
    } else if (name == "glibcxx" && at_least_version(value, machine.glibcxx)) {
      machine.glibcxx = value;
    } else if (name == "cores") {
      machine.cores = number_of<int>(value);
    } else if (name == "free_kib") {
      constexpr std::int64_t kMostKib = std::int64_t{1} << 50;
      const auto kib = number_of<std::int64_t>(value);
      if (kib > 0 && kib < kMostKib) machine.free_bytes = kib * 1024;
    } else if (name == "has_bundle") {
      machine.has_bundle = value == "yes";
    } else if (name == "end") {
      complete = true;
    }
  }
  if (!complete || !machine.cache.starts_with('/')) {
    return engine::Error{engine::ErrorCode::Protocol,
                         "the machine did not answer what it has; its login shell may print or "
                         "start something else when no terminal is there"};
  }
  if (machine.driver.empty() && !machine.gpus.empty()) machine.driver = machine.gpus.front().driver;
  return machine;
}

BundleFit bundle_fit(const MachineFacts& machine) {
  if (machine.architecture != "x86_64") {
    return {.refused =
                fmt::format("it is {}; the worker is built for x86_64", machine.architecture)};
  }
  if (machine.glibc.empty() || !at_least_version(machine.glibc, kNeededGlibc)) {
    return {.refused = fmt::format(
                "its C library is {}; the worker needs glibc {} or newer, as Ubuntu 22.04, 24.04 "
                "and Debian 12 have",
                machine.glibc.empty() ? "not glibc" : "glibc " + machine.glibc, kNeededGlibc)};
  }
  if (!machine.glibcxx.empty() && at_least_version(machine.glibcxx, kNeededGlibcxx)) return {};
  if (at_least_version(machine.glibc, kGlibcOfOwnCxxLibrary))
    return {.refused = {}, .own_cxx_library = true};
  return {.refused = fmt::format(
              "its libstdc++ {}, and the one that could be sent needs glibc {}, not {}: install "
              "libstdc++6 12 or newer there",
              machine.glibcxx.empty()
                  ? std::string("is missing")
                  : fmt::format("has GLIBCXX_{} but not {}", machine.glibcxx, kNeededGlibcxx),
              kGlibcOfOwnCxxLibrary, machine.glibc)};
}

std::string machine_words(const MachineFacts& machine) {
  std::string words;
  for (std::size_t i = 0; i < machine.gpus.size();) {
    std::size_t same = i;
    while (same < machine.gpus.size() && machine.gpus[same].name == machine.gpus[i].name) ++same;
    words += same - i > 1 ? fmt::format("{} x {}, ", same - i, machine.gpus[i].name)
                          : machine.gpus[i].name + ", ";
    i = same;
  }
  if (machine.gpus.empty()) words += "no NVIDIA GPU, ";
  if (!machine.driver.empty()) words += fmt::format("driver {}, ", machine.driver);
  if (!machine.toolkit.empty()) words += fmt::format("CUDA {}, ", machine.toolkit);
  words += machine.system;
  if (!machine.glibc.empty()) words += ", glibc " + machine.glibc;
  words += fmt::format(", {} cores", machine.cores);
  if (machine.free_bytes < 0) return words;
  return words + fmt::format(", {} free",
                             profiling::bytes_text(static_cast<std::uint64_t>(machine.free_bytes)));
}

}  // namespace app
