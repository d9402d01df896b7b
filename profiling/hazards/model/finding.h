// A rule's finding about a snapshot. "Proved" comes only from experiments, never from a rule.
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

/// Evidence that a node accesses a piece of memory.
struct Access {
  NodeRef node = {};
  std::string place = {};    // "parameter byte 1648", "memset target", "copy source"
  std::uint64_t word = 0;    // the address found there
  std::string owner = {};    // Allocation::owner; empty = unknown allocation
  std::uint64_t offset = 0;  // of the word in that allocation
  bool operator==(const Access&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&Access::node, &Access::place, &Access::word, &Access::owner,
                          &Access::offset>();
  }
};

/// How to fix it, in words and as code for each library.
struct Fix {
  std::string words = {};
  std::string cublaslt = {};
  std::string pytorch = {};
  std::string transformer_engine = {};
  bool operator==(const Fix&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&Fix::words, &Fix::cublaslt, &Fix::pytorch, &Fix::transformer_engine>();
  }
};

/// Shows the fault and removes it again. Proved = `shows` is not Right and `cures` is Right.
/// Disproved = `shows` is Right.
struct Proof {
  std::string words = {};  // what is tried and what its outcome means
  Experiment shows = {};
  Experiment cures = {};
  bool needs_cure = true;  // false: a failing `shows` is sufficient proof
  bool operator==(const Proof&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&Proof::words, &Proof::shows, &Proof::cures, &Proof::needs_cure>();
  }
};

struct Finding {
  std::string rule = {};  // "shared-workspace": stable, for scripts
  int hazard = 0;         // its number in the hazard table of profiling/hazards/README.md
  Confidence confidence = Confidence::Possible;
  std::string title = {};        // one sentence that names nodes and memory
  std::string explanation = {};  // why that causes hangs or corruption
  std::vector<NodeRef> nodes = {};
  std::vector<Access> accesses = {};
  std::string missing_order = {};  // "no full path between node 3 and node 7"; empty = none missing
  std::vector<std::string> evidence = {};  // facts it relies on, each with its source
  Fix fix = {};
  Proof proof = {};
  bool operator==(const Finding&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&Finding::rule>(),
                      engine::field<&Finding::hazard>({.low = 0, .high = 1000}),
                      engine::field<&Finding::confidence>(),
                      engine::field<&Finding::title>(),
                      engine::field<&Finding::explanation>(),
                      engine::field<&Finding::nodes>({.most = kMaxParts}),
                      engine::field<&Finding::accesses>({.most = kMaxParts}),
                      engine::field<&Finding::missing_order>(),
                      engine::field<&Finding::evidence>({.most = kMaxParts}),
                      engine::field<&Finding::fix>(),
                      engine::field<&Finding::proof>()};
  }
};

}  // namespace profiling
