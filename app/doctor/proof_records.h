// Which of a visit's experiments show a finding's fault, and which one removes it.
#pragma once

#include "profiling/hazards/model/doctor_report.h"

namespace app {

/// Indices into DoctorReport::experiments; -1 = not run.
struct ProofRecords {
  int shows = -1;
  /// The finding's own cure; where the search found that moving less memory suffices, that one.
  int cures = -1;
};
ProofRecords records_of(const profiling::DoctorReport& report, int finding);

/// Whether the visit's smallest cure moves memory of this finding and of no other.
bool explains_smallest_cure(const profiling::DoctorReport& report,
                            const profiling::Finding& finding);

}  // namespace app
