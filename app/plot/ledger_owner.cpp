#include "app/plot/ledger_owner.h"

namespace app {
namespace {

constexpr std::string_view kPart = ": ";
constexpr std::string_view kLayer = ", ";

/// Up to `separator`, which is taken off `text` with it; nothing where it is not there.
std::optional<std::string_view> taken(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view before = text.substr(0, at);
  text.remove_prefix(at + separator.size());
  return before;
}

}  // namespace

std::optional<LedgerOwner> ledger_owner(std::string_view owner) {
  LedgerOwner parts;
  if (owner.starts_with("micro-batch ")) parts.micro_batch = taken(owner, kPart).value_or("");
  std::optional<std::string_view> name = taken(owner, kPart);
  if (!name) return std::nullopt;
  parts.part = owner;
  parts.operand = taken(*name, kLayer).value_or(*name);
  if (parts.operand != *name) parts.layer = *name;
  return parts;
}

}  // namespace app
