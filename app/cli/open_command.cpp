#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "app/cli/arguments.h"
#include "app/cli/command.h"
#include "app/cli/worker_session.h"
#include "app/gui/shell/window.h"
#include "app/protocol/request_files.h"

namespace app::cli {
namespace {

struct OpenOptions {
  WindowOptions window;
  WorkerChoice worker;
  std::string request_file;
  std::pair<int, int> size{0, 0};
  const CLI::Option* size_option = nullptr;
};

engine::Status check_size(const OpenOptions& options) {
  if (options.size_option->count() == 0) return {};
  const auto [width, height] = options.size;
  const bool fits = width >= WindowOptions::kLeastWidth && width <= WindowOptions::kMostSide &&
                    height >= WindowOptions::kLeastHeight && height <= WindowOptions::kMostSide;
  if (fits) return {};
  return engine::Error{
      engine::ErrorCode::InvalidArgument,
      fmt::format(
          "--size is {0} {1}; the window is at least {2} wide and {3} high, and at most {4} "
          "either way: give --size {5} {6}, or leave it out for the size of last time",
          width, height, WindowOptions::kLeastWidth, WindowOptions::kLeastHeight,
          WindowOptions::kMostSide,
          std::clamp(width, WindowOptions::kLeastWidth, WindowOptions::kMostSide),
          std::clamp(height, WindowOptions::kLeastHeight, WindowOptions::kMostSide))};
}

int open_window(OpenOptions& options) {
  if (const engine::Status size = check_size(options); !size.ok()) return report(size.error());
  if (!options.request_file.empty()) {
    engine::Result<std::string> text = read_request_text(options.request_file);
    if (!text.ok()) return report(text.error());
    options.window.initial_request_json = std::move(text).value();
  }
  // An invalid machine name should be reported here, not in a window.
  if (const auto argv = options.worker.command.argv(); !argv.ok()) return report(argv.error());
  if (options.worker.sends_worker() && options.window.tour_folder.empty()) {
    // The window opens at once, and connects by itself.
    options.window.machine = options.worker.machine->options;
    options.window.worker = options.worker.command;
    options.window.worker.remote.reset();
  } else {
    // A tour that writes pictures cannot wait, and nobody is at the mouse.
    const engine::Result<WorkerCommand> worker = options.worker.reached();
    if (!worker.ok()) return report(worker.error());
    options.window.worker = worker.value();
  }
  options.window.initial_request_file = options.request_file;
  options.window.allowed_libraries = options.worker.allowed_libraries;
  options.window.width = options.size.first;
  options.window.height = options.size.second;
  return run_window(options.window);
}

}  // namespace

void add_open_command(CLI::App& program, Action& chosen) {
  CLI::App& command = *program.add_subcommand(
      "open", "Open the window, with a recording or another file if one is named (the default)");
  const auto options = std::make_shared<OpenOptions>();
  command
      .add_option(
          "file", options->window.open_file,
          "Recording, tensor (.npy, .npz, .safetensors), recorded routing, tour, request or graph")
      ->option_text("[FILE]")
      ->check(existing_file());
  command.add_option("--request", options->request_file, "Initial request, as JSON")
      ->option_text("FILE");
  command
      .add_option("--tour", options->window.tour_folder,
                  "Play the guided run, write PNGs to this folder, exit")
      ->option_text("DIR");
  command
      .add_option("--control-map", options->window.control_map_path,
                  "Write the controls of every frame to this file, as JSON")
      ->option_text("FILE");
  options->size_option =
      command
          .add_option("--size", options->size,
                      fmt::format("Width and height of the window, at least {} {} (default: as it "
                                  "was left)",
                                  WindowOptions::kLeastWidth, WindowOptions::kLeastHeight))
          ->option_text("W H");
  command.add_option("--text-scale", options->window.text_scale, "Size of text, 0.8 to 2")
      ->check(between(0.8, 2.0));
  command.add_flag("--no-worker", options->window.no_worker,
                   "Do not start a worker: recordings only");
  options->worker.add_to(command, /*with_library=*/true, WorkerChoice::Waits::InWindow);
  command.callback([options, &chosen] { chosen = [options] { return open_window(*options); }; });
}

}  // namespace app::cli
