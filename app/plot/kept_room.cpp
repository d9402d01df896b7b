#include "app/plot/kept_room.h"

#include <fmt/format.h>

#include <string_view>

#include "profiling/document/quantity.h"

namespace app {
namespace {

/// Owners are called "X: columnwise codes", "A, layer 0: columnwise scales", and in several
/// micro-batches "micro-batch 1: X: columnwise codes".
bool is_kept_copy(std::string_view owner, std::string_view symbol) {
  for (const std::string_view first : {"micro-batch 1: ", ""}) {
    if (!owner.starts_with(first)) continue;
    const std::string_view rest = owner.substr(first.size());
    const std::size_t scope = rest.find(": ");
    if (scope == std::string_view::npos) return false;
    const std::string_view name = rest.substr(0, scope);
    const bool here = name == symbol || name == std::string(symbol) + ", layer 0";
    return here && rest.substr(scope + 2).starts_with("columnwise ");
  }
  return false;
}

}  // namespace

std::int64_t kept_room(const profiling::RecordedRun& run, engine::StepTensor tensor) {
  const std::string_view symbol = engine::traits_of(tensor).symbol;
  std::int64_t bytes = 0;
  for (const engine::Allocation& memory : run.snapshot.ledger) {
    if (memory.role != engine::AllocationRole::Quantized) continue;
    if (is_kept_copy(memory.owner, symbol)) bytes += static_cast<std::int64_t>(memory.bytes);
  }
  return bytes;
}

std::string kept_room_text(const profiling::RecordedRun& run) {
  std::string text;
  for (const engine::TensorResult& one : run.result.tensors) {
    if (one.saved_bytes == 0) continue;
    const std::string kept = profiling::bytes_text(static_cast<std::uint64_t>(one.saved_bytes));
    const std::string room =
        profiling::bytes_text(static_cast<std::uint64_t>(kept_room(run, one.tensor)));
    // A few bytes of padding are no difference that a reader could see.
    if (kept_room(run, one.tensor) <= one.saved_bytes || room == kept) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "allocated for it, with room for any splits: " : ", ",
                    engine::traits_of(one.tensor).symbol, room);
  }
  return text;
}

}  // namespace app
