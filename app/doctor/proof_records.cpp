#include "app/doctor/proof_records.h"

#include <cstddef>
#include <vector>

#include "app/doctor/isolation.h"

namespace app {
namespace {

using profiling::Experiment;
using profiling::MovedMemory;

/// The deadline of a visit is part of its experiments and changes nothing else.
bool same(Experiment made, const Experiment& wanted) {
  made.deadline_seconds = wanted.deadline_seconds;
  return made == wanted;
}

bool same_set(const std::vector<MovedMemory>& left, const std::vector<MovedMemory>& right) {
  return without(left, right).empty() && without(right, left).empty();
}

/// Moves exactly the smallest cure, and does nothing else.
bool is_smallest_cure(const profiling::DoctorReport& report, const Experiment& made) {
  Experiment rest = made;
  rest.moved.clear();
  return rest.is_plain() && same_set(made.moved, report.smallest_cure);
}

}  // namespace

bool explains_smallest_cure(const profiling::DoctorReport& report,
                            const profiling::Finding& finding) {
  return !report.smallest_cure.empty() &&
         without(report.smallest_cure, candidates_of(finding)).empty();
}

ProofRecords records_of(const profiling::DoctorReport& report, int finding) {
  ProofRecords records;
  if (finding < 0 || static_cast<std::size_t>(finding) >= report.findings.size()) return records;
  const profiling::Finding& chosen = report.findings[static_cast<std::size_t>(finding)];
  // A fault that shows only with other memory moved away needs a cure that does the same.
  const bool smallest = chosen.proof.shows.is_plain() && explains_smallest_cure(report, chosen);
  bool found_smallest = false;
  for (std::size_t i = 0; i < report.experiments.size(); ++i) {
    const profiling::ExperimentRecord& record = report.experiments[i];
    const int index = static_cast<int>(i);
    if (records.shows < 0 && same(record.experiment, chosen.proof.shows)) records.shows = index;
    const bool own = chosen.proof.needs_cure && same(record.experiment, chosen.proof.cures);
    if (records.cures < 0 && own) records.cures = index;
    if (smallest && !found_smallest && record.outcome.verdict == profiling::Verdict::Right &&
        is_smallest_cure(report, record.experiment)) {
      found_smallest = true;
      records.cures = index;
    }
  }
  return records;
}

}  // namespace app
