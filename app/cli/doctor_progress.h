// Progress of a visit, on one line of a terminal; the marker board while a replay does not move.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "app/doctor/visit.h"

namespace app::cli {

class DoctorProgress {
 public:
  explicit DoctorProgress(bool visible) : visible_(visible) {}
  DoctorProgress(const DoctorProgress&) = delete;  // one line has one owner
  DoctorProgress& operator=(const DoctorProgress&) = delete;
  /// Erases the line, so that the next output starts on a clean line.
  ~DoctorProgress();
  void show(const VisitProgress& progress);

 private:
  bool visible_;
  int replay_ = 0;
  std::vector<profiling::NodeState> board_;
  std::chrono::steady_clock::time_point moved_;
  std::chrono::steady_clock::time_point shown_;
};

/// "##>...": one letter per node, at most `cells`; a cell of several nodes shows the least
/// advanced.
std::string board_line(const std::vector<profiling::NodeState>& board, std::size_t cells);

}  // namespace app::cli
