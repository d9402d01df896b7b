#include "profiling/hazards/model/names.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "engine/model/counted.h"
#include "engine/model/projections.h"
#include "engine/model/time_text.h"

namespace profiling {

std::string size_text(std::uint64_t bytes) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
  constexpr std::uint64_t kKiB = std::uint64_t{1} << 10;
  constexpr std::uint64_t kMostBytes = 10'000;  // that a person reads as a number
  if (bytes != 0 && bytes % kMiB == 0) return fmt::format("{} MiB", bytes / kMiB);
  if (bytes != 0 && bytes % kKiB == 0) return fmt::format("{} KiB", bytes / kKiB);
  if (bytes < kMostBytes) return fmt::format("{} bytes", bytes);
  const bool mebi = bytes >= kMiB;
  return fmt::format("{:.1f} {}",
                     static_cast<double>(bytes) / static_cast<double>(mebi ? kMiB : kKiB),
                     mebi ? "MiB" : "KiB");
}

std::string allocation_name(const engine::Allocation& memory) {
  return memory.owner.empty() ? fmt::format("allocation {}", memory.id) : memory.owner;
}

std::string step_title(const engine::RunRequest& request) {
  return fmt::format("{}, {}, {}, n {}, k {}, {}",
                     engine::is_expert_layer(request) ? "expert layer" : "grouped linear step",
                     engine::counted(request.shape.num_experts, "expert"),
                     engine::counted(request.shape.rows, "row"), request.shape.n, request.shape.k,
                     engine::counted(request.layers, "layer"));
}

std::string deadline_text(const Stall& stall) {
  std::string text = fmt::format("deadline {:.3g} s", stall.deadline_seconds);
  if (stall.p99_seconds > 0.0) {
    text += fmt::format("; 99 % of the previous replays took {} or less",
                        engine::time_text(1e9 * stall.p99_seconds));
  }
  return text;
}

namespace {

void erase_all(std::string& text, std::string_view part) {
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at)) {
    text.erase(at, part.size());
  }
}

/// Removes a trailing parameter list, if any.
void cut_parameters(std::string& text) {
  if (text.empty() || text.back() != ')') return;
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    if (text[i] == ')') ++depth;
    if (text[i] == '(' && --depth == 0) {
      text.erase(i);
      return;
    }
  }
}

}  // namespace

std::string readable_kernel_name(const char* symbol) {
  if (symbol == nullptr) return "unnamed kernel";
  std::string name = symbol;
  // Without this check the demangler reads the names of C kernels as types: "f" would be "float".
  if (name.starts_with("_Z")) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> demangled(
        abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
    if (status == 0 && demangled) name = demangled.get();
  }
  erase_all(name, "(anonymous namespace)::");
  cut_parameters(name);
  if (name.starts_with("void ")) name.erase(0, 5);
  return name;
}

}  // namespace profiling
