// Every address that the nodes of a captured graph hold, with the allocation it means. Argument
// bytes do not say whether a kernel reads or writes there: only memset and copy nodes are certain.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// Of an address in argument bytes, where it is aligned to as many.
inline constexpr std::uint32_t kAddressBytes = 8;

struct Touch {
  enum class Place : std::uint8_t {
    Parameter,
    Descriptor,  // a word inside what may be a tensor map passed by value: low confidence
    MemsetTarget,
    CopySource,
    CopyTarget,
    Allocates,
    Frees,
  };
  int node = 0;
  Place place = Place::Parameter;
  bool whole_slot = false;  // a parameter of its own of 8 bytes, not part of a structure
  std::uint32_t byte = 0;   // in the argument bytes, for Parameter and Descriptor
  std::uint64_t word = 0;   // the address
  std::uint64_t bytes = 0;  // from there on; 0 = not known
  int allocation = -1;      // index into Snapshot::ledger; -1 = no known one
  bool writes() const {     // for certain
    return place == Place::MemsetTarget || place == Place::CopyTarget;
  }
  bool certain() const { return place != Place::Parameter && place != Place::Descriptor; }
};

/// Of one graph, ascending by node. Argument words are looked at in steps of 8 bytes and left out
/// when they mean no allocation of the ledger.
std::vector<Touch> find_touches(const Snapshot& snapshot, const GraphSnapshot& graph);

/// As a finding shows it.
Access to_access(const Snapshot& snapshot, int graph, const Touch& touch);

/// "parameter byte 1648", "memset target", "copy source", ...
std::string place_text(const Touch& touch);

}  // namespace profiling
