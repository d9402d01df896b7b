// A program that is run to its end: what goes into it, what comes out, and how it ended.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/error.h"

namespace app {

struct ChildRun {
  std::vector<std::string> argv;  // never passed through a shell
  /// Its standard input: this text, or all of a file that is open for reading. Closed after that.
  std::string input = {};
  int input_file = -1;
  std::function<void(std::uint64_t)> sent = {};  // bytes of the input that are written so far
  /// All of its standard output goes to this file instead; an output of more than so many bytes
  /// ends the program.
  int output_file = -1;
  std::uint64_t output_limit = 0;
  std::function<void(std::uint64_t)> received = {};  // bytes of the output so far
  /// Each line of a stream; a carriage return also ends one, for progress bars. A stream without a
  /// receiver is collected in ChildEnd.
  std::function<void(const std::string&)> output_line = {};
  std::function<void(const std::string&)> error_line = {};
  std::function<bool()> stop = {};  // polled; true kills the program
};

struct ChildEnd {
  std::string how;     // "exited with code 0", "killed by signal 9", "cannot start 'x': ..."
  std::string output;  // at most 1 MiB
  std::string errors;  // its last 16 KiB
  bool succeeded() const { return how == "exited with code 0"; }
};

/// Blocks until the program ends; what its output file does not take ends it too, and is the last
/// line of ChildEnd::errors. Empty = `stop` asked for its end. A program that cannot be
/// started ends with ChildEnd::how saying so; an error means that no child could be made.
engine::Result<std::optional<ChildEnd>> run_child(const ChildRun& run);

}  // namespace app
