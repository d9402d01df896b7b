// One line on a terminal with the progress of a run; prints nothing if there is no terminal.
#pragma once

#include "app/protocol/worker_link.h"
#include "app/sweep/batch.h"

namespace app::cli {

class ProgressBar {
 public:
  explicit ProgressBar(bool visible) : visible_(visible) {}
  ProgressBar(const ProgressBar&) = delete;  // one line has one owner
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Erases the line, so that the next output starts on a clean line.
  ~ProgressBar();
  void show(const LinkStatus& status);
  /// The progress of one of several runs.
  void show(const LinkStatus& status, const BatchProgress& progress);

 private:
  bool visible_;
};

}  // namespace app::cli
