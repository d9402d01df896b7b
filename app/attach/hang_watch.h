// A process that makes no progress: some thread has been in a call that waits for the device for
// longer than its deadline. Seen from outside, so the program is left as it is.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/error.h"
#include "engine/model/fields.h"
#include "profiling/attach/observed/observed_process.h"
#include "profiling/attach/spool/spool_reader.h"
#include "profiling/hazards/core_dump/core_trigger.h"
#include "profiling/hazards/model/doctor_report.h"

namespace app {

inline constexpr const char* kHangDeadlineMeaning =
    "A thread that waits for the device for this long hangs";
/// The deadline of a wait for which nobody gave one: "20 times the longest wait so far, ...".
std::string usual_hang_deadline();

/// How a person asks for it, and what it shows.
struct HangDetailWords {
  const char* option;   // "--markers"
  const char* control;  // label in the window's Attach form: "Mark nodes"
  const char* shows;    // "which graph hangs, and in which node"
};
HangDetailWords words_of(profiling::HangDetail detail);

/// A deadline in seconds, as it is typed; 0 = the usual one. The error says what to type instead.
engine::Result<double> typed_hang_deadline(std::string_view text);

struct HangOptions {
  double after_seconds = 0;  // deadline of a wait; 0 = usual_hang_deadline()
  /// Take a core dump of the device: the processes were started with attach_core_dumps().
  bool core_dump = false;
  std::function<bool()> give_up{};  // the dump, which takes seconds
};

/// Environment of a program whose processes can leave core dumps of the device in this folder. An
/// error if its path has a '%', which the driver replaces.
engine::Result<std::vector<std::string>> attach_core_dumps(const std::string& folder);
/// The name of those of one process, for core_dump_files().
std::string core_dump_name(const std::string& folder, std::uint32_t process);

/// What was asked about the device when the hang was found.
struct HangingDevice {
  std::string words = {};         // "NVML: busy 100 %...", may be empty
  profiling::CoreDump dump = {};  // and what cuda-gdb reads in it
  profiling::CorePlace place = {};
  /// Nobody asked for a dump, and the program runs where one could be taken.
  bool may_be_dumped = false;
  bool operator==(const HangingDevice&) const = default;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&HangingDevice::words>(), engine::field<&HangingDevice::dump>(),
                      engine::field<&HangingDevice::place>(),
                      engine::field<&HangingDevice::may_be_dumped>()};
  }
};

/// In seconds: usual_hang_deadline() of the waits that have returned; the option wins.
double hang_deadline(const profiling::SpoolState& state, const HangOptions& options);

/// The wait that has been under way for the longest, if that is past the deadline. `now`:
/// nanoseconds on this machine's CLOCK_MONOTONIC, so the process must run here.
std::optional<profiling::OpenWait> hanging_wait(const profiling::SpoolState& state,
                                                std::uint64_t now, const HangOptions& options);

/// What is known about it: the graph that was last launched on the stream (for calls without a
/// stream, last of all), which threads wait in which calls, what was done last to its memory and to
/// graphs, and what was asked about the device. `snapshot`: of the process.
profiling::ExperimentRecord hang_record(const profiling::ObservedProcess& process,
                                        const profiling::SpoolState& state,
                                        const profiling::Snapshot& snapshot,
                                        const profiling::OpenWait& wait, std::uint64_t now,
                                        double deadline_seconds, const HangingDevice& device);

}  // namespace app
