// How a worker is started so that it can leave a light core dump of its device when it hangs.
#pragma once

#include <string>
#include <vector>

#include "profiling/hazards/model/experiment.h"

namespace app {

class CoreDumpRequest {
 public:
  /// `name`: path of the files without an ending; no two workers at once may share it. Empty =
  /// nothing is asked for.
  explicit CoreDumpRequest(std::string name) : name_(std::move(name)) {}
  /// The driver leaves its trigger behind.
  ~CoreDumpRequest();
  CoreDumpRequest(const CoreDumpRequest&) = delete;
  CoreDumpRequest& operator=(const CoreDumpRequest&) = delete;

  /// Of the worker. Kernels and where they stand, without memory: small and
  /// quick. The process goes on after it.
  std::vector<std::string> environment() const;
  /// Adds to the evidence where the dump is and what cuda-gdb reads in it. Nothing where the worker
  /// speaks of any other file than the one it was asked for: it must not choose what is opened
  /// here.
  void read(profiling::Stall& stall) const;

 private:
  std::string file() const { return name_ + ".core"; }

  std::string name_;
};

}  // namespace app
