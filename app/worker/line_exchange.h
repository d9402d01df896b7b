// Lines to and from a child process, with a limit on the wait. Its stderr is read along, so that a
// child that talks there never blocks, and its end is kept for the sentence when it dies.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "app/protocol/child_process.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"

namespace app {

class LineExchange {
 public:
  static engine::Result<LineExchange> start(const std::vector<std::string>& argv);

  /// Sends the line, then waits for one. An error, also of a child that ended or took too long,
  /// leaves the exchange useless. Cancelled when progress.cancel was seen.
  engine::Result<std::string> ask(const std::string& line, std::chrono::seconds limit,
                                  const engine::RunProgress& progress);
  /// Waits for a line that the child says by itself.
  engine::Result<std::string> listen(std::chrono::seconds limit,
                                     const engine::RunProgress& progress);

 private:
  explicit LineExchange(std::unique_ptr<ChildProcess> child) : child_(std::move(child)) {}
  engine::Result<std::string> next_line(std::chrono::seconds limit,
                                        const engine::RunProgress& progress);
  bool read_all();  // false at the end of the child's stdout
  engine::Error ended();

  std::unique_ptr<ChildProcess> child_;
  std::string received_;  // not yet a whole line
  std::string errors_;    // the last that it wrote to stderr
  bool broken_ = false;   // a late answer would be taken for that to the next question
};

}  // namespace app
