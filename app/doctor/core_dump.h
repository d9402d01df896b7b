// Core dumps of a device that hangs: how a worker is started so that it can leave a lightweight
// one, and what cuda-gdb reads in it.
#pragma once

#include <string>
#include <vector>

#include "profiling/hazards/model/experiment.h"

namespace app {

/// Takes what a line of cuda-gdb's output says of the place: the focus, the innermost frame, the
/// instruction that `x/i $pc` prints. Other lines say nothing.
void take_debugger_line(const std::string& line, profiling::CorePlace& place);

class CoreDumpRequest {
 public:
  /// `name`: path of the files without an extension; concurrent workers must not share it. Empty =
  /// no dump is requested.
  explicit CoreDumpRequest(std::string name) : name_(std::move(name)) {}
  /// Removes the trigger that the driver leaves behind.
  ~CoreDumpRequest();
  CoreDumpRequest(const CoreDumpRequest&) = delete;
  CoreDumpRequest& operator=(const CoreDumpRequest&) = delete;

  /// Environment of the worker. The dump holds kernels and their positions, without memory: small
  /// and quick. The process continues after it.
  std::vector<std::string> environment() const;
  /// Keeps in the stall what cuda-gdb reads in the dump, or why it reads nothing. Does nothing if
  /// the worker names any file other than the requested one: it must not choose what is opened
  /// here.
  void read(profiling::Stall& stall) const;

 private:
  std::string file() const { return name_ + ".core"; }

  std::string name_;
};

}  // namespace app
