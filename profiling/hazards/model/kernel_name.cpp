#include "profiling/hazards/model/kernel_name.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "kernels/common/formats.h"

namespace profiling {
namespace {

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

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

std::string work_label(std::string_view operation, std::string_view kernel) {
  if (operation.empty()) return short_kernel_name(kernel);
  const bool prepares = kernel.starts_with("memset") || kernel.starts_with("memcpy");
  return prepares ? fmt::format("{} for {}", kernel, operation) : std::string(operation);
}

std::string work_name(std::string_view operation, std::string_view kernel) {
  if (std::string label = work_label(operation, kernel); label != operation) return label;
  std::string name(operation);
  if (!kernel.empty() && kernel != operation) name += "  " + short_kernel_name(kernel);
  return name;
}

}  // namespace profiling
