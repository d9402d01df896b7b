// What a rule says about a snapshot. "Proved" comes only from experiments, never from a rule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiling/hazards/model/experiment.h"

namespace profiling {

enum class Confidence : std::uint8_t { Possible, Likely, Proved, Disproved };
constexpr auto enum_names(Confidence) {
  return std::to_array<std::string_view>({"possible", "likely", "proved", "disproved"});
}

/// Why a node is thought to touch a piece of memory.
struct Access {
  NodeRef node = {};
  std::string place = {};    // "parameter byte 1648", "memset target", "copy source"
  std::uint64_t word = 0;    // the address found there
  std::string owner = {};    // Allocation::owner; empty = no known allocation
  std::uint64_t offset = 0;  // of the word in that allocation
  bool operator==(const Access&) const = default;
};

/// How to be rid of it, in words and as the lines a user of each library writes.
struct Fix {
  std::string words = {};
  std::string cublaslt = {};
  std::string pytorch = {};
  std::string transformer_engine = {};
  bool operator==(const Fix&) const = default;
};

/// Shows the fault and takes it away again. Proved = `shows` is not Right and `cures` is Right.
/// Disproved = `shows` is Right.
struct Proof {
  std::string words = {};  // what is tried and what its outcome would mean
  Experiment shows = {};
  Experiment cures = {};
  bool needs_cure = true;  // false: that `shows` fails is all there is to prove
  bool operator==(const Proof&) const = default;
};

struct Finding {
  std::string rule = {};  // "shared-workspace": stable, for scripts
  int hazard = 0;         // its number in the hazard table of profiling/hazards/README.md
  Confidence confidence = Confidence::Possible;
  std::string title = {};        // one sentence that names nodes and memory
  std::string explanation = {};  // why that hangs or corrupts
  std::vector<NodeRef> nodes = {};
  std::vector<Access> accesses = {};
  std::string missing_order = {};  // "no full path between node 3 and node 7"; empty = not this
  std::vector<std::string> evidence = {};  // facts it leans on, each with its source
  Fix fix = {};
  Proof proof = {};
  bool operator==(const Finding&) const = default;
};

}  // namespace profiling
