// A program on another machine, by way of expertscope-attach-agent there: what it prints comes out
// here as it is printed, and its spools grow in a folder here. A thread of its own reads what
// arrives, so that whoever examines the spools takes as long as that takes.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/attach/running_program.h"
#include "engine/model/error.h"

namespace app {

struct RemoteOptions {
  std::string host;               // for sentences
  std::vector<std::string> argv;  // starts the agent: ssh and its words
  std::string folder;             // of the copies of the spools; it exists
  std::uint64_t spool_bytes = 0;  // limit of each spool; 0 = the library's own
  bool goes_on = false;           // when it is no longer watched; as the agent was told
  /// Get what the program prints. Whatever else says something on the way, such as a launcher, is
  /// an error there too.
  int output_descriptor = -1;
  int errors_descriptor = -1;
  std::function<std::string()> why_lost;  // the connection; empty text = it is there
  std::function<bool()> stop;             // polled while the program is being started
};

class RemoteProgram : public RunningProgram {
 public:
  /// Waits until the program runs there. Device: it could not be started, with the reason from
  /// there. Cancelled: `stop` asked for it.
  static engine::Result<std::unique_ptr<RemoteProgram>> start(RemoteOptions options);
  /// Nothing more arrives. The program goes on, or is hung up.
  ~RemoteProgram() override;

  pid_t pid() const override;
  std::optional<std::string> ended() override;
  bool lost() const override;
  void end(bool at_once) override;
  void interrupt() override;
  ProcessMachine machine() const override;

 private:
  struct Shared;
  class Reader;
  explicit RemoteProgram(std::shared_ptr<Shared> shared);
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<Reader> reader_;
};

}  // namespace app
