// A whole visit to the doctor: the snapshot, what the rules say of it, every experiment that was
// made and what became of the findings.
#pragma once

#include <string>
#include <vector>

#include "profiling/graph/experiment.h"
#include "profiling/graph/finding.h"
#include "profiling/graph/snapshot.h"

namespace profiling {

/// An experiment that was made, in the order they were.
struct ExperimentRecord {
  std::string title = {};  // "eager, three times", "replayed", "matmul 2 moved", ...
  int finding = -1;        // index into DoctorReport::findings; -1 = of the visit as a whole
  Experiment experiment = {};
  Outcome outcome = {};
  bool operator==(const ExperimentRecord&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ExperimentRecord::title>("title"),
                      engine::field<&ExperimentRecord::finding>("finding", {.low = -1}),
                      engine::field<&ExperimentRecord::experiment>("experiment"),
                      engine::field<&ExperimentRecord::outcome>("outcome")};
  }
};

struct DoctorReport {
  Snapshot snapshot = {};
  std::vector<Finding> findings = {};              // most certain first
  std::vector<ExperimentRecord> experiments = {};  // empty = rules only
  /// Of a proved workspace finding: the smallest set of nodes whose memory must move.
  std::vector<MovedMemory> smallest_cure = {};
  std::string conclusion = {};  // one sentence
  bool operator==(const DoctorReport&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&DoctorReport::snapshot>("snapshot"),
        engine::field<&DoctorReport::findings>("findings", {.most = 10'000}),
        engine::field<&DoctorReport::experiments>("experiments", {.most = 10'000}),
        engine::field<&DoctorReport::smallest_cure>("smallest_cure", {.most = kMaxParts}),
        engine::field<&DoctorReport::conclusion>("conclusion")};
  }
};

}  // namespace profiling
