// `expertscope bench --suite window`: what it takes in addition to the options of every suite, and
// its rows.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <iosfwd>
#include <string>
#include <vector>

#include "app/protocol/worker_command.h"

namespace app::cli {

class WindowBenchCommand {
 public:
  void add_to(CLI::App& command);
  bool given() const { return !records_.empty() || !recording_.empty(); }
  /// Returns the exit code. `file`: where the JSON objects are also written; null = nowhere.
  int run(const WorkerCommand& worker, bool json, std::ostream* file) const;

 private:
  std::vector<std::size_t> records_;
  std::string recording_;
};

}  // namespace app::cli
