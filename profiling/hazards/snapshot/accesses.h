// Every address that the nodes of a captured graph hold, with the allocation it points to. Argument
// bytes do not show whether a kernel reads or writes: only memset and copy nodes are certain.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

// Which allocation an address in a captured graph refers to: the smallest one that contains it, of
// those that existed while the graph was captured.

class AllocationIndex {
 public:
  /// Index for one graph of the snapshot. Allocations made after its capture are left out, since
  /// none of its nodes can refer to them; released ones are kept, but a live one of the same size
  /// wins.
  AllocationIndex(const Snapshot& snapshot, const GraphSnapshot& graph);

  /// Index into Snapshot::ledger; -1 = none contains it.
  int find(std::uint64_t word) const;

 private:
  struct Segment {
    std::uint64_t begin = 0;  // up to the next segment's
    int allocation = -1;
  };
  std::vector<Segment> segments_;  // ascending
};

/// Size and alignment of an address in argument bytes.
inline constexpr std::uint32_t kAddressBytes = 8;

/// Calls found(at, word) for the words of `bytes` at `first`, `first` + 8, ... that end by `end`,
/// until one returns true; false: none did.
template <class Found>
bool any_word(std::span<const std::byte> bytes, Found&& found, std::uint64_t first = 0,
              std::uint64_t end = ~std::uint64_t{0}) {
  end = std::min<std::uint64_t>(end, bytes.size());
  for (std::uint64_t at = first; at + kAddressBytes <= end; at += kAddressBytes) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if (found(at, word)) return true;
  }
  return false;
}

/// The known tensor map that has this argument byte; null = none.
inline const TensorMap* tensor_map_at(const KernelNode& kernel, std::uint64_t byte) {
  for (const TensorMap& map : kernel.tensor_maps) {
    if (byte >= map.offset && byte - map.offset < kTensorMapBytes) return &map;
  }
  return nullptr;
}

/// Calls found(slot, at, word) for every address that the argument bytes may hold, until one
/// returns true: words inside one parameter, at multiples of eight, and the tensor of each known
/// tensor map, whose own words are opaque. Bytes between parameters belong to none, and a word
/// across two of them is no address. Without a layout, all bytes are searched.
template <class Found>
bool any_argument_word(const KernelNode& kernel, Found&& found) {
  for (const TensorMap& map : kernel.tensor_maps) {
    const ParameterSlot place{.offset = map.offset, .bytes = kTensorMapBytes};
    if (found(place, std::uint64_t{map.offset}, map.address)) return true;
  }
  const std::uint64_t size = kernel.parameters.size();
  const ParameterSlot whole{.offset = 0, .bytes = static_cast<std::uint32_t>(size)};
  const std::span<const ParameterSlot> slots =
      kernel.slots.empty() ? std::span(&whole, 1) : std::span(kernel.slots);
  return std::ranges::any_of(slots, [&](const ParameterSlot& slot) {
    const std::uint64_t end = std::uint64_t{slot.offset} + slot.bytes;
    if (end > size) return false;  // of a file that was cut off
    const std::uint64_t first = (std::uint64_t{slot.offset} + kAddressBytes - 1) / kAddressBytes;
    return any_word(
        kernel.parameters,
        [&](std::uint64_t at, std::uint64_t word) {
          return tensor_map_at(kernel, at) == nullptr && found(slot, at, word);
        },
        first * kAddressBytes, end);
  });
}

struct Touch {
  enum class Place : std::uint8_t {
    Parameter,
    Descriptor,  // a word inside what may be a tensor map passed by value: low confidence
    TensorMap,   // the tensor of a known one
    MemsetTarget,
    CopySource,
    CopyTarget,
    Allocates,
    Frees,
  };
  int node = 0;
  Place place = Place::Parameter;
  bool whole_slot = false;  // a separate 8-byte parameter or a known tensor map: no leftover bytes
  std::uint32_t byte = 0;   // in the argument bytes, for those of kernels
  std::uint64_t word = 0;   // the address
  std::uint64_t bytes = 0;  // from there on; 0 = unknown
  int allocation = -1;      // index into Snapshot::ledger; -1 = unknown
  bool writes() const {     // for certain
    return place == Place::MemsetTarget || place == Place::CopyTarget;
  }
  bool by_kernel() const {  // known to be an access only if the kernel uses the argument
    return place == Place::Parameter || place == Place::Descriptor || place == Place::TensorMap;
  }
  bool certain() const { return !by_kernel(); }
};

/// Accesses of one graph, ascending by node. Argument words that point to no allocation of the
/// ledger are skipped.
std::vector<Touch> find_touches(const Snapshot& snapshot, const GraphSnapshot& graph);

/// Converts to the form that findings show.
Access to_access(const Snapshot& snapshot, int graph, const Touch& touch);

/// "parameter byte 1648", "memset target", "copy source", ...
std::string place_text(const Touch& touch);

}  // namespace profiling
