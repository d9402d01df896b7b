#include "app/plot/kept_room.h"

#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "app/plot/ledger_owner.h"
#include "profiling/document/quantity.h"

namespace app {
namespace {

/// Of layer 0 in the first micro-batch.
bool is_kept_copy(std::string_view owner, std::string_view symbol) {
  const std::optional<LedgerOwner> parts = ledger_owner(owner);
  if (!parts) return false;
  const bool first = parts->micro_batch.empty() || parts->micro_batch == "micro-batch 1";
  const bool here = parts->layer.empty() || parts->layer == "layer 0";
  return first && here && parts->operand == symbol && parts->part.starts_with("columnwise ");
}

/// Bytes allocated for the copy of this tensor that backward reads.
std::int64_t allocated_for(const profiling::RecordedRun& run, engine::StepTensor tensor) {
  const std::string_view symbol = engine::traits_of(tensor).symbol;
  std::int64_t bytes = 0;
  for (const engine::Allocation& memory : run.snapshot.ledger) {
    if (memory.role != engine::AllocationRole::Quantized) continue;
    if (is_kept_copy(memory.owner, symbol)) bytes += static_cast<std::int64_t>(memory.bytes);
  }
  return bytes;
}

}  // namespace

std::int64_t kept_room(const profiling::RecordedRun& run, const engine::TensorResult& tensor) {
  if (tensor.saved_bytes <= 0) return 0;
  const std::int64_t room = allocated_for(run, tensor.tensor);
  const auto text = [](std::int64_t bytes) {
    return profiling::bytes_text(static_cast<std::uint64_t>(bytes));
  };
  // A few bytes of padding are no difference that a reader could see.
  return room > tensor.saved_bytes && text(room) != text(tensor.saved_bytes) ? room : 0;
}

std::string kept_room_text(const profiling::RecordedRun& run) {
  std::string text;
  for (const engine::TensorResult& one : run.result.tensors) {
    const std::int64_t room = kept_room(run, one);
    if (room == 0) continue;
    text +=
        fmt::format("{}{} {}", text.empty() ? "allocated for it, with room for any splits: " : ", ",
                    engine::traits_of(one.tensor).symbol,
                    profiling::bytes_text(static_cast<std::uint64_t>(room)));
  }
  return text;
}

}  // namespace app
