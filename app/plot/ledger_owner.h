// What the ledger calls the owner of an operand's memory, in its parts: "X: columnwise codes",
// "A, layer 0: columnwise scales", and with several micro-batches in flight "micro-batch 1: X:
// columnwise codes".
#pragma once

#include <optional>
#include <string_view>

namespace app {

struct LedgerOwner {
  std::string_view operand;        // "X"
  std::string_view layer;          // "layer 0"; empty = all layers share it
  std::string_view micro_batch{};  // "micro-batch 1"; empty = only one is in flight
  std::string_view part;           // "columnwise codes"
};

/// Views into `owner`; empty for memory that is no part of anything.
std::optional<LedgerOwner> ledger_owner(std::string_view owner);

}  // namespace app
