// Core dumps of a device that hangs: how a program is started so that it can leave a lightweight
// one, and what cuda-gdb reads in it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiling/hazards/core_dump/core_trigger.h"
#include "profiling/hazards/model/experiment.h"

namespace app {

/// Takes what a line of cuda-gdb's output says of the place: the focus, the innermost frame, the
/// instruction that `x/i $pc` prints. Other lines say nothing.
void take_debugger_line(const std::string& line, profiling::CorePlace& place);

/// Environment of a program that can leave a dump, of kernels and their positions, without memory:
/// small and quick. The process continues after it. `name`: path of the files without an
/// extension; in it, the driver takes %p for the process's id.
std::vector<std::string> core_dump_environment(const std::string& name);

/// The files of that process; `name` without patterns.
profiling::CoreDumpFiles core_dump_files(const std::string& name);

/// What cuda-gdb reads in the dump, or why it reads nothing: it takes too long, or `give_up`
/// returns true.
profiling::CorePlace read_core_dump(const std::string& path,
                                    const std::function<bool()>& give_up = {});

/// The dump of one worker.
class CoreDumpRequest {
 public:
  /// `name`: path of the files without an extension; concurrent workers must not share it. Empty =
  /// no dump is requested.
  explicit CoreDumpRequest(std::string name) : name_(std::move(name)) {}
  /// Removes the trigger that the driver leaves behind.
  ~CoreDumpRequest();
  CoreDumpRequest(const CoreDumpRequest&) = delete;
  CoreDumpRequest& operator=(const CoreDumpRequest&) = delete;

  std::vector<std::string> environment() const;
  /// Keeps in the stall what the dump says. Does nothing if the worker names any file other than
  /// the requested one: it must not choose what is opened here.
  void read(profiling::Stall& stall) const;

 private:
  std::string name_;
};

}  // namespace app
