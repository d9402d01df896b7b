#include "app/doctor/child_lines.h"

#include <utility>

#include "app/protocol/child_run.h"

namespace app {

engine::Result<std::optional<std::string>> run_for_lines(
    const std::vector<std::string>& argv, ChildStream stream,
    const std::function<void(const std::string&)>& line, const std::function<bool()>& stop) {
  ChildRun run{.argv = argv, .stop = stop};
  (stream == ChildStream::Output ? run.output_line : run.error_line) = line;
  ENGINE_ASSIGN(std::optional<ChildEnd> end, run_child(run));
  if (!end) return std::optional<std::string>();
  return std::optional(std::move(end->how));
}

}  // namespace app
