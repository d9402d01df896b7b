// Lines to and from a child process, with a limit on the wait. Its stderr is drained meanwhile, so
// that a child that writes there never blocks, and the last of it is kept for the error message
// when it dies.
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

  /// Sends the line, then waits for one. After an error (including a child that ended or took too
  /// long) the exchange is unusable. Cancelled when progress.cancel was seen.
  engine::Result<std::string> ask(const std::string& line, std::chrono::seconds limit,
                                  const engine::RunProgress& progress);
  /// Waits for a line that the child sends unprompted.
  engine::Result<std::string> listen(std::chrono::seconds limit,
                                     const engine::RunProgress& progress);

 private:
  explicit LineExchange(std::unique_ptr<ChildProcess> child) : child_(std::move(child)) {}
  engine::Result<std::string> next_line(std::chrono::seconds limit,
                                        const engine::RunProgress& progress);
  bool read_all();  // false at the end of the child's stdout
  engine::Error ended();

  std::unique_ptr<ChildProcess> child_;
  std::string received_;  // an incomplete line
  std::string errors_;    // the last that it wrote to stderr
  bool broken_ = false;   // a late answer would be mistaken for the answer to the next question
};

}  // namespace app
