#include "app/attach/remote_start.h"

#include <fmt/format.h>

#include <utility>

#include "app/attach/agent_words.h"
#include "app/attach/remote_program.h"
#include "app/remote/login_command.h"

namespace app {

engine::Result<std::unique_ptr<RunningProgram>> start_on(const RemotePlace& place,
                                                         const RemoteStart& start) {
  const std::string host = place.worker.remote.value_or("");
  if (place.connection == nullptr) {
    return engine::Error{
        engine::ErrorCode::Unsupported,
        fmt::format("no program can be started on {}: its worker was named with --worker, and "
                    "nothing was sent there",
                    host)};
  }
  AgentOrder order{.program = start.program, .goes_on = start.goes_on};
  order.program.library.clear();  // the one there
  RemoteOptions options{.host = host,
                        .argv = {},
                        .folder = start.program.folder,
                        .spool_bytes = start.program.spool_bytes,
                        .goes_on = start.goes_on,
                        .output_descriptor = start.program.output_descriptor,
                        .errors_descriptor = start.program.errors_descriptor,
                        .why_lost = [connection = place.connection] { return connection->lost(); },
                        .stop = start.stop};
  ENGINE_ASSIGN(options.argv,
                login_argv(place.worker, kAttachAgent, agent_words(order), kLoginLibraryPath));
  ENGINE_ASSIGN(std::unique_ptr<RemoteProgram> started, RemoteProgram::start(std::move(options)));
  return std::unique_ptr<RunningProgram>(std::move(started));
}

}  // namespace app
