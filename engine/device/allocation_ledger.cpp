#include "engine/device/allocation_ledger.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace engine {
namespace {

thread_local AllocationLabel current_scope;

}  // namespace

AllocationLabel in_scope(AllocationLabel label) {
  if (label.role == AllocationRole::Unknown) label.role = current_scope.role;
  if (label.owner.empty()) {
    label.owner = current_scope.owner;
  } else if (!current_scope.owner.empty()) {
    label.owner = current_scope.owner + ": " + label.owner;
  }
  return label;
}

AllocationScope::AllocationScope(AllocationLabel label)
    : outer_(std::exchange(current_scope, std::move(label))) {}

AllocationScope::~AllocationScope() { current_scope = std::move(outer_); }

struct AllocationLedger::State {
  struct Namesakes {
    int live = 0;
    int last = 0;  // last number given; restarts when none is live
  };

  mutable std::mutex mutex;
  std::uint64_t clock = 0;
  std::uint64_t last_id = 0;
  std::unordered_map<std::uint64_t, Allocation> live;        // by address
  std::unordered_map<std::uint64_t, std::string> requested;  // by address: owner before numbering
  std::unordered_map<std::string, Namesakes> namesakes;      // by owner before numbering
  std::deque<Allocation> released;

  void name(Allocation& allocation, AllocationLabel label) {
    Namesakes& same = namesakes[label.owner];
    ++same.live;
    const int number = ++same.last;
    allocation.role = label.role;
    allocation.owner = number == 1 ? label.owner : label.owner + " #" + std::to_string(number);
    requested[allocation.address] = std::move(label.owner);
  }

  void forget_name(const Allocation& allocation) {
    const auto found = requested.find(allocation.address);
    const auto same = namesakes.find(found->second);
    if (--same->second.live == 0) namesakes.erase(same);
    requested.erase(found);
  }
};

AllocationLedger::AllocationLedger() : state_(new State) {}
AllocationLedger::~AllocationLedger() { delete state_; }

AllocationLedger& AllocationLedger::of_process() {
  // Never destroyed: buffers of static storage may outlive any order of destruction.
  static auto* const ledger = new AllocationLedger;
  return *ledger;
}

void AllocationLedger::allocated(const void* address, std::uint64_t bytes, MemorySpace space,
                                 AllocationLabel label) {
  label = in_scope(std::move(label));
  const auto key = reinterpret_cast<std::uint64_t>(address);
  const std::lock_guard lock(state_->mutex);
  Allocation allocation{.id = ++state_->last_id,
                        .address = key,
                        .bytes = bytes,
                        .space = space,
                        .role = label.role,
                        .owner = {},
                        .allocated_at = ++state_->clock,
                        .freed_at = 0};
  state_->name(allocation, std::move(label));
  state_->live[key] = std::move(allocation);
}

void AllocationLedger::released(const void* address) {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->live.find(reinterpret_cast<std::uint64_t>(address));
  if (found == state_->live.end()) return;
  state_->forget_name(found->second);
  found->second.freed_at = ++state_->clock;
  state_->released.push_back(std::move(found->second));
  state_->live.erase(found);
  if (state_->released.size() > kMaxReleased) state_->released.pop_front();
}

std::uint64_t AllocationLedger::clock() const {
  const std::lock_guard lock(state_->mutex);
  return state_->clock;
}

std::vector<Allocation> AllocationLedger::read() const {
  std::vector<Allocation> all;
  {
    const std::lock_guard lock(state_->mutex);
    all.assign(state_->released.begin(), state_->released.end());
    for (const auto& [address, allocation] : state_->live) all.push_back(allocation);
  }
  std::sort(all.begin(), all.end(),
            [](const Allocation& a, const Allocation& b) { return a.id < b.id; });
  return all;
}

}  // namespace engine
