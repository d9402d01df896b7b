// Findings and hangs as they come: each is said once, however often its process is examined.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "profiling/hazards/model/doctor_report.h"

namespace app {

class FindingLines {
 public:
  /// "train.py (process 1234): 2 kernels read freed memory (likely)", for those that are new.
  std::vector<std::string> take(const profiling::DoctorReport& report);
  /// Of sentences about all processes, those that are new.
  std::vector<std::string> take(const std::vector<std::string>& sentences);

 private:
  std::set<std::string> said_;
};

}  // namespace app
