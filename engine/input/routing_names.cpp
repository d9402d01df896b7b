#include "engine/input/routing_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace engine {
namespace {

struct NameWord {
  std::string_view word;
  RoutingNumbers numbers;
  bool chooses = false;  // this name means the routing, whatever other lists the file has
  bool of_files = true;  // also says it in the name of a file
};

// The first that a name contains decides, so "split" of a "layer" is a count.
constexpr std::array kWords = {
    NameWord{"logical_count", RoutingNumbers::Counts, true},
    NameWord{"tokens_per_expert", RoutingNumbers::Counts, true},
    NameWord{"count", RoutingNumbers::Counts},
    NameWord{"split", RoutingNumbers::Counts},
    NameWord{"routed_experts", RoutingNumbers::Vllm, true},
    NameWord{"sglang", RoutingNumbers::Counts},
    NameWord{"vllm", RoutingNumbers::Vllm},
    NameWord{"megatron", RoutingNumbers::Megatron},
    NameWord{"router", RoutingNumbers::Megatron, false, false},
    NameWord{"replay", RoutingNumbers::Megatron, false, false},
    NameWord{"recorded", RoutingNumbers::Megatron, false, false},
    NameWord{"layer", RoutingNumbers::Megatron, false, false},
};

const NameWord* word_of(std::string_view name, bool of_file = false) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const auto found = std::ranges::find_if(kWords, [&](const NameWord& one) {
    return (one.of_files || !of_file) && lower.find(one.word) != std::string::npos;
  });
  return found == kWords.end() ? nullptr : &*found;
}

}  // namespace

RoutingNumbers numbers_by_name(std::string_view name) {
  const NameWord* const word = word_of(name);
  return word == nullptr ? RoutingNumbers::Detect : word->numbers;
}

RoutingNumbers numbers_by_file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const NameWord* const word =
      word_of(path.substr(slash == std::string_view::npos ? 0 : slash + 1), true);
  return word == nullptr ? RoutingNumbers::Detect : word->numbers;
}

std::optional<std::size_t> meant_by_name(std::span<const std::string_view> names) {
  for (const NameWord& word : kWords) {
    if (!word.chooses) continue;
    const auto has_it = [&](std::string_view name) { return word_of(name) == &word; };
    const auto found = std::ranges::find_if(names, has_it);
    if (found == names.end()) continue;
    if (std::any_of(found + 1, names.end(), has_it)) return std::nullopt;
    return static_cast<std::size_t>(found - names.begin());
  }
  return std::nullopt;
}

}  // namespace engine
