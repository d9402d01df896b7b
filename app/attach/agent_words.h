// The command line of expertscope-attach-agent, which starts a program with the preloaded library
// on a machine that ssh reaches, and passes on what it prints and records.
#pragma once

#include <string>
#include <vector>

#include "app/attach/attached_program.h"
#include "engine/model/error.h"

namespace app {

struct AgentOrder {
  AttachOptions program;  // without a folder, which is a new one there
  /// What becomes of the program when nobody watches it any more: it goes on, or gets SIGHUP as
  /// from a terminal that is closed.
  bool goes_on = false;
};

/// Its arguments, without its name: "only=train.py" and so on, "--", the command.
std::vector<std::string> agent_words(const AgentOrder& order);
engine::Result<AgentOrder> agent_order(const std::vector<std::string>& words);

/// Names the LD_LIBRARY_PATH that the program gets, where the agent needs another one.
inline constexpr const char* kLoginLibraryPath = "EXPERTSCOPE_LOGIN_LIBRARY_PATH";

}  // namespace app
