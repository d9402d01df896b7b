// Who captured a node.
#include "profiling/attach/observed/observed_process.h"

#include <cstring>
#include <utility>

#include "profiling/attach/observed/stack_words.h"

namespace profiling {
namespace {

constexpr std::size_t kMostStacks = 1 << 18;

}  // namespace

void ObservedProcess::take_address(const SpoolFrame& frame) {
  spool::Address address{};
  if (!frame.read(address) || addresses_.size() >= kMostStacks) return;
  addresses_[address.address] = native_call(
      frame.text_after(sizeof address, 0, address.module_bytes),
      frame.text_after(sizeof address, address.module_bytes, address.symbol_bytes), address.offset);
}

void ObservedProcess::take_stack(const SpoolFrame& frame) {
  spool::Stack stack{};
  if (!frame.read(stack)) return;
  if (stacks_.size() >= kMostStacks)
    stacks_.clear();  // of captures whose graphs were read long ago
  const std::size_t address_bytes = std::size_t{stack.addresses} * sizeof(std::uint64_t);
  std::string words =
      python_words(frame.text_after(sizeof stack, address_bytes, stack.python_bytes));
  if (words.empty()) {
    std::vector<std::string> calls;
    const std::span<const std::byte> addresses = frame.after(sizeof stack, 0, address_bytes);
    for (std::size_t at = 0; at < addresses.size(); at += sizeof(std::uint64_t)) {
      std::uint64_t address = 0;
      std::memcpy(&address, addresses.data() + at, sizeof address);
      if (const auto known = addresses_.find(address); known != addresses_.end())
        calls.push_back(known->second);
    }
    words = native_words(calls);
  }
  stacks_[stack.node] = std::move(words);
}
}  // namespace profiling
