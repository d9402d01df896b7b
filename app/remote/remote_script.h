// Scripts on another machine, by way of an open connection.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/protocol/child_run.h"
#include "app/remote/ssh_connection.h"
#include "engine/model/error.h"

namespace app {

/// `sh -c SCRIPT sh ARGUMENTS`, for ssh. The script is on one line and has no '!', because csh
/// takes neither in quotes; what a user typed is only ever an argument.
std::string script_command(std::string_view script, const std::vector<std::string>& arguments);

/// Runs it; Device unless it succeeds: "WHAT failed on HOST: " and the last line that it printed.
/// Cancelled if ChildRun::stop asked for its end.
engine::Result<ChildEnd> performed_on(const SshConnection& ssh, const std::string& command,
                                      ChildRun run, std::string_view what);

/// The last line of what was printed, safe for a terminal; `otherwise` if nothing was.
std::string last_line(std::string_view text, std::string_view otherwise);

}  // namespace app
