// The spools of one folder: all processes of a program that is or was attached to, and what the
// doctor's rules find in them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/attach/hang_watch.h"
#include "engine/model/error.h"
#include "profiling/attach/observed/observed_process.h"
#include "profiling/attach/spool/spool_reader.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace app {

/// How much there is of a process, for a line of progress.
struct AttachedProcess {
  std::string title;              // "train.py (process 1234, rank 0)"
  std::uint64_t graphs = 0;       // instantiated so far
  std::uint64_t launches = 0;     // of them
  std::uint64_t lost_frames = 0;  // not recorded because the spool was full, or damaged
  std::string unreadable;         // why its spool cannot be read; empty = it can
};

class SpoolFolder {
 public:
  explicit SpoolFolder(std::string folder) : folder_(std::move(folder)) {}

  /// Reads what is new. `ended`: the program and its children are gone, so what is incomplete stays
  /// so. An error only if the folder cannot be read.
  engine::Status follow(bool ended);

  std::vector<AttachedProcess> processes() const;
  /// Looks for waits that do not end, in processes of this machine that run; asks NVML once for
  /// each. True while there is one.
  bool watch_for_hangs(const HangOptions& options);

  /// One report per process that has used CUDA graphs, or tried to, or hangs; by the rules alone.
  /// Its processes in the order of their starts.
  std::vector<profiling::DoctorReport> reports(
      const std::vector<profiling::LibraryFact>& facts) const;
  /// Changes with everything that can change a report.
  std::uint64_t revision() const { return revision_; }

 private:
  struct Spool {
    std::unique_ptr<profiling::SpoolReader> reader;
    profiling::ObservedProcess process;
    std::string unreadable;
    std::uint64_t launches = 0;
    std::optional<profiling::OpenWait> hang;
    profiling::ExperimentRecord hang_record;  // with `hang`
    std::string device;                       // what NVML said when the hang was found
  };
  std::string folder_;
  std::map<std::string, Spool> spools_;  // by path
  std::uint64_t revision_ = 0;
};

}  // namespace app
