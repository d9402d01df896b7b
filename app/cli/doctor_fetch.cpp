// `expertscope doctor fetch`: another cuBLASLt to compare with.
#include <fmt/format.h>

#include <atomic>
#include <memory>

#include "app/cli/command.h"
#include "app/cli/doctor_options.h"
#include "app/cli/interrupt.h"
#include "app/cli/terminal.h"
#include "app/doctor/library_versions.h"
#include "engine/gemm/library_file.h"

namespace app::cli {
namespace {

int list_libraries() {
  for (const engine::PinnedLibrary& one : engine::pinned_libraries()) {
    print("{:<12} {}\n", one.version, one.purpose);
  }
  return 0;
}

int fetch(const std::string& version) {
  const InterruptWatch interrupt;
  const engine::Result<std::string> library = fetch_library(
      version, [](const std::string& line) { print(stderr, "{}\n", line); }, interrupt.flag());
  if (!library.ok()) return could_not_run(library.error());
  print("{}\n", library.value());
  return 0;
}

}  // namespace

void add_fetch_command(CLI::App& doctor, Action& chosen) {
  auto version = std::make_shared<std::string>();
  CLI::App& command = *doctor.add_subcommand(
      "fetch", "Fetch a version of cuBLASLt (400 MB from PyPI) and print its path");
  command.add_option("version", *version,
                     "Such as 13.5.1.27; without it, list what can be fetched");
  command.callback([version, &chosen] {
    chosen = [version] { return version->empty() ? list_libraries() : fetch(*version); };
  });
}

}  // namespace app::cli
