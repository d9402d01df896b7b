// One line on a terminal that says how far a run is; nothing at all when there is no terminal.
#pragma once

#include "app/protocol/worker_link.h"
#include "app/sweep/batch.h"

namespace app::cli {

class ProgressBar {
 public:
  explicit ProgressBar(bool visible) : visible_(visible) {}
  ProgressBar(const ProgressBar&) = delete;  // one line has one owner
  ProgressBar& operator=(const ProgressBar&) = delete;
  /// Wipes the line, so that what is printed next stands alone.
  ~ProgressBar();
  void show(const LinkStatus& status);
  /// One of several runs.
  void show(const LinkStatus& status, const BatchProgress& progress);

 private:
  bool visible_;
};

}  // namespace app::cli
