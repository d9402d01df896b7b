// The window, from its first frame to its last. The command line fills in WindowOptions and calls
// run_window(); everything else of the window is reached from there.
#pragma once

#include <optional>
#include <string>

#include "app/protocol/worker_command.h"
#include "app/remote/deployment.h"

namespace app {

class Shell;

/// What a frame took, in milliseconds.
struct FrameCost {
  double cpu = 0;      // of the window's thread: news, ImGui and our drawing
  double present = 0;  // GL calls and swap, on the wall clock; software GL works here
};

/// Drives the window and times its frames from inside the loop: the benchmark in
/// tests/bench/window. All calls come from the window's thread, with its GL context current.
class FrameProbe {
 public:
  virtual ~FrameProbe() = default;
  /// Before every turn of the loop. True: draw a frame even if nothing has happened.
  virtual bool wants_frame(Shell& shell) = 0;
  /// After GLFW's input and before ImGui's NewFrame: the place to add input.
  virtual void feed(Shell& shell) = 0;
  /// False: frames are built but not given to GL, whose cost on a software renderer would drown
  /// what is measured.
  virtual bool presents() const { return true; }
  virtual void drawn(Shell& shell, const FrameCost& cost) = 0;
};

struct WindowOptions {
  /// The smallest window that has room for the rail, a page and the bars; the largest that the
  /// settings remember.
  static constexpr int kLeastWidth = 800;
  static constexpr int kLeastHeight = 560;
  static constexpr int kMostSide = 16384;

  std::string open_file;  // recording (.session) or tensor (.npy, .npz, .safetensors) to begin with
  WorkerCommand worker;
  /// Connected once the window is open; `worker` then says what holds beside its program there.
  std::optional<ConnectOptions> machine = {};
  std::string tour_folder;       // not empty: play the guided run, write PNGs here, exit
  std::string control_map_path;  // not empty: the controls of every frame as JSON
  int width = 0;                 // 0 = as left last time, 1440 x 900 at first
  int height = 0;
  float text_scale = 0;  // 0 = as left last time, at first from the display's content scale
  bool no_worker = false;
  FrameProbe* probe = nullptr;
  std::string initial_request_json;  // run at the start instead of the laptop preset
  std::string initial_request_file;  // where that comes from
  /// cuBLASLt libraries that files may name without a question; in a guided run there is nobody to
  /// ask, and any other that is not the worker's own ends it.
  std::vector<std::string> allowed_libraries = {};
};

/// Returns the process's exit code: 0 when the user closed it or the tour is complete.
int run_window(const WindowOptions& options);

}  // namespace app
