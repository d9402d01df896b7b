// A whole visit to the doctor: the snapshot, the rules' findings, every experiment that was run and
// what became of the findings.
#pragma once

#include <string>
#include <vector>

#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/finding.h"
#include "profiling/hazards/model/snapshot.h"

namespace profiling {

/// An experiment that was run; records are in execution order.
struct ExperimentRecord {
  std::string title = {};  // "eager, three times", "replayed", "matmul 2 moved", ...
  int finding = -1;        // index into DoctorReport::findings; -1 = for the visit as a whole
  Experiment experiment = {};
  Outcome outcome = {};
  bool operator==(const ExperimentRecord&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&ExperimentRecord::title>(),
                      engine::field<&ExperimentRecord::finding>({.low = -1}),
                      engine::field<&ExperimentRecord::experiment>(),
                      engine::field<&ExperimentRecord::outcome>()};
  }
};

struct DoctorReport {
  Snapshot snapshot = {};
  std::vector<Finding> findings = {};              // most certain first
  std::vector<ExperimentRecord> experiments = {};  // empty = rules only
  /// For a proved workspace finding: the smallest set of nodes whose memory must move.
  std::vector<MovedMemory> smallest_cure = {};
  std::string conclusion = {};  // one sentence
  /// What is known about the versions of the loaded libraries. Not findings: nothing shows that
  /// this program is affected.
  std::vector<std::string> known = {};
  bool operator==(const DoctorReport&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&DoctorReport::snapshot>(),
                      engine::field<&DoctorReport::findings>({.most = 10'000}),
                      engine::field<&DoctorReport::experiments>({.most = 10'000}),
                      engine::field<&DoctorReport::smallest_cure>({.most = kMaxParts}),
                      engine::field<&DoctorReport::conclusion>(),
                      engine::field<&DoctorReport::known>({.most = 1000})};
  }
};

}  // namespace profiling
