#include "profiling/attach/observed/stack_words.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>

#include "engine/model/path_text.h"
#include "profiling/hazards/model/names.h"

namespace profiling {
namespace {

using engine::file_name;

constexpr std::size_t kMostCalls = 3;

std::string joined(const std::vector<std::string>& calls) {
  std::string words;
  for (std::size_t i = 0; i < calls.size() && i < kMostCalls; ++i) {
    if (i > 0) words += ", called by ";
    words += calls[i];
  }
  return words;
}

/// The part of PyTorch's backward pass that this is a call of, "AddmmBackward0"; empty = of none.
std::string_view backward_node(std::string_view call) {
  constexpr std::string_view kNamespace = "torch::autograd::";
  constexpr std::string_view kGenerated = "generated::";
  constexpr std::string_view kApply = "::apply";
  const std::size_t begin = call.find(kNamespace);
  if (begin == std::string_view::npos) return {};
  std::string_view name = call.substr(begin + kNamespace.size());
  if (name.starts_with(kGenerated)) name.remove_prefix(kGenerated.size());
  const std::size_t end = name.find("::");
  if (end == std::string_view::npos || !name.substr(end).starts_with(kApply)) return {};
  return name.substr(0, end);
}

}  // namespace

std::string python_words(std::string_view python) {
  std::vector<std::string> all;
  std::vector<std::string> of_author;
  while (!python.empty()) {
    const std::size_t end = std::min(python.find('\n'), python.size());
    const std::string_view line = python.substr(0, end);
    python.remove_prefix(std::min(end + 1, python.size()));
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view file = line.substr(0, colon);
    std::string call = fmt::format("{}{}", file_name(file), line.substr(colon));
    const bool library = file.find("/torch/") != std::string_view::npos || file.starts_with('<');
    if (!library) of_author.push_back(call);
    all.push_back(std::move(call));
  }
  return joined(of_author.empty() ? all : of_author);
}

std::string native_call(std::string_view module, std::string_view symbol,
                        unsigned long long offset) {
  constexpr std::array<std::string_view, 4> kBetween = {"libcuda.so", "libcudart.so",
                                                        "libexpertscope-attach.so", "libc.so.6"};
  const std::string_view file = file_name(module);
  for (const std::string_view between : kBetween) {
    if (file.starts_with(between)) return {};
  }
  if (symbol.empty()) return fmt::format("{}+{:#x}", file, offset);
  return fmt::format("{} in {}", readable_kernel_name(std::string(symbol).c_str()), file);
}

std::string native_words(const std::vector<std::string>& calls) {
  std::vector<std::string> known;
  for (const std::string& call : calls) {
    if (const std::string_view node = backward_node(call); !node.empty())
      return fmt::format("{} in autograd's backward pass", node);
    if (!call.empty()) known.push_back(call);
  }
  return joined(known);
}

}  // namespace profiling
