#include "profiling/hazards/snapshot/input_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <variant>

#include "profiling/hazards/model/names.h"
#include "profiling/hazards/snapshot/accesses.h"

namespace profiling {
namespace {

using engine::Allocation;
using engine::AllocationRole;

constexpr std::uint32_t kDescriptorBytes = 128;  // sizeof(CUtensorMap)

const Allocation* holder(std::span<const Allocation> inputs, std::uint64_t word) {
  const auto found =
      std::ranges::find_if(inputs, [word](const Allocation& input) { return input.holds(word); });
  return found == inputs.end() ? nullptr : &*found;
}

/// Words half a word off from where pointers lie: only a packed structure has addresses there, and
/// patching a word that is not an address would break correct values.
std::string packed_address(const KernelNode& kernel, const ParameterSlot& slot,
                           std::span<const Allocation> inputs) {
  std::string reason;
  const auto is_address = [&](std::uint64_t at, std::uint64_t word) {
    const Allocation* input = holder(inputs, word);
    if (input == nullptr) return false;
    reason = fmt::format(
        "parameter byte {} seems to hold an address in \"{}\" where no pointer is aligned", at,
        input->owner);
    return true;
  };
  any_word(kernel.parameters, is_address, slot.offset + kAddressBytes / 2,
           std::uint64_t{slot.offset} + slot.bytes);
  return reason;
}

std::string immovable_kernel_reason(const KernelNode& kernel, std::span<const Allocation> inputs,
                                    bool plain_descriptors) {
  if (!kernel.parameters.empty() && kernel.slots.empty()) {
    return "the layout of its parameters is unknown";
  }
  for (const ParameterSlot& slot : kernel.slots) {
    if (!plain_descriptors && slot.bytes >= kDescriptorBytes) {
      return "its parameters may hold a TMA descriptor, and this driver does not keep a "
             "descriptor's address as a plain word";
    }
    if (std::string packed = packed_address(kernel, slot, inputs); !packed.empty()) return packed;
  }
  return {};
}

}  // namespace

bool is_input(const Allocation& allocation) {
  return allocation.live() && allocation.space == engine::MemorySpace::Device &&
         engine::is_input(allocation.role);
}

std::string immovable_inputs_reason(const GraphSnapshot& graph, std::span<const Allocation> inputs,
                                    bool plain_descriptors) {
  for (std::size_t n = 0; n < graph.nodes.size(); ++n) {
    const SnapshotNode& node = graph.nodes[n];
    std::string why;
    switch (node.type) {
      case NodeType::Kernel:
        if (const auto* kernel = std::get_if<KernelNode>(&node.parameters)) {
          why = immovable_kernel_reason(*kernel, inputs, plain_descriptors);
        }
        break;
      case NodeType::Host:
      case NodeType::SignalSemaphore:
      case NodeType::WaitSemaphore:
      case NodeType::BatchMemOp:
      case NodeType::Conditional:
      case NodeType::Unknown:
        why = "its addresses cannot be read";
        break;
      default:
        break;
    }
    if (!why.empty()) return fmt::format("node {} ({}): {}", n, name_of(node.type), why);
  }
  return {};
}

}  // namespace profiling
