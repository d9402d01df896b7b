// A whole visit to the doctor: the snapshot, what the rules say of it, every experiment that was
// made and what became of the findings.
#pragma once

#include <string>
#include <vector>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// An experiment that was made, in the order they were.
struct ExperimentRecord {
  std::string title = {};  // "eager, three times", "replayed", "matmul 2 moved", ...
  int finding = -1;        // index into DoctorReport::findings; -1 = of the visit as a whole
  Experiment experiment = {};
  Outcome outcome = {};
  bool operator==(const ExperimentRecord&) const = default;
};

struct DoctorReport {
  Snapshot snapshot = {};
  std::vector<Finding> findings = {};              // most certain first
  std::vector<ExperimentRecord> experiments = {};  // empty = rules only
  /// Of a proved workspace finding: the smallest set of nodes whose memory must move.
  std::vector<MovedMemory> smallest_cure = {};
  std::string conclusion = {};  // one sentence
  bool operator==(const DoctorReport&) const = default;
};

}  // namespace profiling
