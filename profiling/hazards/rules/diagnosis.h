// The rules: snapshot in, findings out. No GPU, no files, no time limit needed: they must take at
// most 2 s for 10,000 nodes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// A dated statement about a library version, from assets/facts/libraries.json.
struct LibraryFact {
  std::string id = {};         // "stale-descriptors"
  std::string library = {};    // "cuBLASLt", "NCCL", "CUDA driver"; LoadedLibrary::name
  std::string first = {};      // first version it applies to, "13.0.0"; empty = from the beginning
  std::string last = {};       // last version it applies to; empty = still applies
  std::string statement = {};  // a sentence
  std::string source =
      {};  // a public thread, or a measurement of this project with device and driver
  std::string date = {};  // when it was checked, "2026-11-21"
  /// What graphs must have for a report to show it: "any graph", "collectives", "conditional
  /// nodes"; empty = it is evidence for rules only.
  std::string needs = {};
};
inline constexpr std::string_view kCublasLt = "cuBLASLt";

engine::Result<std::vector<LibraryFact>> load_library_facts(const std::string& path);

/// Findings, most certain first, then by first node. Never Proved or Disproved. A snapshot rejected
/// by check_snapshot() has none.
std::vector<Finding> diagnose(const Snapshot& snapshot, const std::vector<LibraryFact>& facts);

/// What is known about the versions of the libraries that the snapshot's program had loaded:
/// "NCCL 2.28.9 is loaded. ...".
std::vector<std::string> known_of_libraries(const Snapshot& snapshot,
                                            const std::vector<LibraryFact>& facts);

/// What diagnose() leaves out because the snapshot is too large for it, with the limit; empty for
/// most. Of "Not searched: ".
std::vector<std::string> left_unsearched(const Snapshot& snapshot);

/// What two experiments say about a finding (finding.h, Proof).
Confidence judge(const Proof& proof, Confidence before, const Outcome& shows, const Outcome& cures);

// Versions and the dated statements about them (assets/facts). Versions are compared number by
// number, up to the shorter one: "13.6.0.2" is not beyond a bound "13.6".

/// Negative: a is older; 0: equal up to the shorter one; positive: a is newer.
int compare_versions(std::string_view a, std::string_view b);

/// Digits and dots, at least one number.
bool is_version(std::string_view text);

/// False for an empty or malformed version: nothing is known about it.
bool holds_for(const LibraryFact& fact, std::string_view version);

/// "statement (source, date)", as evidence of a finding.
std::string evidence_of(const LibraryFact& fact);

}  // namespace profiling
