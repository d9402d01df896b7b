// The spools of one folder: all processes of a program that is or was attached to, and what the
// doctor's rules find in them.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/attach/hang_watch.h"
#include "app/attach/running_program.h"
#include "engine/model/error.h"
#include "profiling/attach/observed/observed_process.h"
#include "profiling/attach/spool/spool_reader.h"
#include "profiling/hazards/model/doctor_report.h"
#include "profiling/hazards/rules/diagnosis.h"

namespace app {

/// How much there is of a process, for a line of progress.
struct AttachedProcess {
  std::string spool;              // path of its file: names the process in this folder
  std::uint64_t revision = 0;     // changes with everything that can change its report
  std::string title;              // "train.py (process 1234, rank 0)"
  std::uint64_t graphs = 0;       // instantiated so far
  std::uint64_t marked = 0;       // of them, with markers
  std::uint64_t launches = 0;     // of all
  std::uint64_t lost_frames = 0;  // not recorded because the spool was full, or damaged
  std::uint64_t compared = 0;     // replays, before and after which memory was hashed
  std::string not_compared{};     // as in the snapshot
  bool hangs = false;
  std::string unreadable;  // why its spool cannot be read; empty = it can
};

/// "memory compared before and after 12 replays", and what is not compared; empty = none was.
std::string comparisons_text(const AttachedProcess& process);

/// A graph of ten thousand nodes takes seconds to examine: at most a tenth of one core goes to it.
inline std::chrono::steady_clock::duration pause_after_examining(
    std::chrono::steady_clock::duration took) {
  return std::max<std::chrono::steady_clock::duration>(std::chrono::milliseconds(500), 9 * took);
}

class SpoolFolder {
 public:
  /// `machine`: of the processes whose spools these are.
  explicit SpoolFolder(std::string folder, ProcessMachine machine = this_machine())
      : folder_(std::move(folder)), machine_(std::move(machine)) {}

  /// Reads what is new. `ended`: the program and its children are gone, so what is incomplete stays
  /// so. An error only if the folder cannot be read.
  engine::Status follow(bool ended);

  /// By path of their spools.
  std::vector<AttachedProcess> processes() const;
  /// Looks for waits that do not end, in processes that run; asks about the device once for each,
  /// and takes a core dump, if one is wanted, with the next look: by then the hang was reported.
  /// True while there is one, and all is known of each.
  bool watch_for_hangs(const HangOptions& options);
  /// Of processes that have ended: hangs that were found while somebody watched.
  void recall_hangs();

  /// Of the process with this spool, by the rules alone. None if it has neither used CUDA graphs
  /// nor tried to, and does not hang, or cannot be read.
  std::optional<profiling::DoctorReport> report(
      const std::string& spool, const std::vector<profiling::LibraryFact>& facts) const;
  /// The reports of all processes that have one, in the order of their starts.
  std::vector<profiling::DoctorReport> reports(
      const std::vector<profiling::LibraryFact>& facts) const;
  /// How the processes that have a rank differ, by compare_ranks(). Of several with one rank, the
  /// newest counts, as after a restart, but no child of another one.
  std::vector<std::string> compared_ranks() const;
  /// Changes with everything that can change a report.
  std::uint64_t revision() const;

 private:
  struct Spool;
  void take_dump(Spool& spool, const HangOptions& options) const;

  struct Spool {
    std::unique_ptr<profiling::SpoolReader> reader;
    profiling::ObservedProcess process;
    std::string unreadable;
    std::uint64_t launches = 0;
    std::optional<profiling::OpenWait> hang;
    profiling::ExperimentRecord hang_record;  // with `hang`
    std::uint64_t hang_revision = 0;          // of which the record is
    std::uint64_t hang_recorded = 0;          // nanoseconds on CLOCK_MONOTONIC, like the next
    std::uint64_t hang_found = 0;
    HangingDevice device;
    bool dump_wanted = false;
    bool dump_taken = false;
    std::uint64_t revision = 0;
  };
  static std::optional<profiling::DoctorReport> report_of(
      const Spool& spool, const std::vector<profiling::LibraryFact>& facts);

  std::string folder_;
  ProcessMachine machine_;
  std::map<std::string, Spool> spools_;  // by path
};

}  // namespace app
