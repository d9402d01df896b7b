// A program of the bundle on a connected machine, with the environment of a login there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/protocol/worker_command.h"
#include "engine/model/error.h"

namespace app {

/// The bundle's expertscope-attach-agent.
inline constexpr std::string_view kAttachAgent = "expertscope-attach-agent";

/// ssh and its words: starts `program` of the bundle that `worker` is in, in the login folder, by
/// way of the user's login shell and the worker's launcher. What profiles print goes to its
/// standard error, and its LD_LIBRARY_PATH before the bundle's into `library_path`, a variable.
engine::Result<std::vector<std::string>> login_argv(const WorkerCommand& worker,
                                                    std::string_view program,
                                                    const std::vector<std::string>& arguments,
                                                    std::string_view library_path);

}  // namespace app
