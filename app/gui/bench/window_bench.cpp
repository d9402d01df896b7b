// Makes the recordings and opens a window for each.
#include "app/gui/bench/window_bench.h"

#include <GL/gl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>
#include <utility>

#include "app/gui/bench/big_recording.h"
#include "app/gui/bench/window_probes.h"

namespace app {
namespace {

namespace fs = std::filesystem;

/// A file that is deleted with its owner, together with anything SQLite left next to it.
class TemporaryRecording {
 public:
  explicit TemporaryRecording(std::size_t records)
      : path_((fs::temp_directory_path() /
               fmt::format("expertscope-bench-{}-{}.session", ::getpid(), records))
                  .string()) {}
  ~TemporaryRecording() {
    std::error_code ignored;
    for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path_ + suffix, ignored);
  }
  TemporaryRecording(const TemporaryRecording&) = delete;
  TemporaryRecording& operator=(const TemporaryRecording&) = delete;

  engine::Status write(std::size_t records) const {
    auto writer = profiling::SessionWriter::create(path_);
    if (!writer.ok()) return writer.error();
    return writer.value()->append(make_big_run(records));
  }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

double load_average() {
  double minute = 0;
  return getloadavg(&minute, 1) == 1 ? minute : 0.0;
}

std::string gl_text(GLenum name) {
  const GLubyte* text = glGetString(name);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

/// Passes everything on; reports the machine first, once.
template <class Probe>
class AnnouncedProbe : public Probe {
 public:
  template <class... Arguments>
  AnnouncedProbe(const WindowBenchOptions& options, const WindowBenchReport& report,
                 bool& announced, Arguments&&... arguments)
      : Probe(std::forward<Arguments>(arguments)...),
        options_(options),
        announce_(report.machine),
        announced_(announced) {}

  void begin(Shell& shell, std::function<void()> wake) override {
    if (!std::exchange(announced_, true)) {
      announce_({.processor = processor_name(),
                 .threads = static_cast<int>(std::thread::hardware_concurrency()),
                 .gl_renderer = gl_text(GL_RENDERER),
                 .gl_version = gl_text(GL_VERSION),
                 .width = options_.width,
                 .height = options_.height,
                 .load = load_average()});
    }
    Probe::begin(shell, std::move(wake));
  }

 private:
  const WindowBenchOptions& options_;
  const std::function<void(const WindowBenchMachine&)>& announce_;
  bool& announced_;
};

engine::Status run(const WindowBenchOptions& options, FrameProbe& probe, const std::string& problem,
                   bool worker) {
  WindowOptions window;
  window.worker = options.worker;
  window.no_worker = !worker;
  window.width = options.width;
  window.height = options.height;
  window.text_scale = 1.0F;
  window.probe = &probe;
  run_window(window);
  if (!problem.empty()) return engine::Error{engine::ErrorCode::Internal, problem};
  return {};
}

}  // namespace

engine::Status run_window_bench(const WindowBenchOptions& options,
                                const WindowBenchReport& report) {
  bool announced = false;
  const auto measure = [&](const std::string& path, std::size_t records) {
    AnnouncedProbe<RecordingProbe> probe(options, report, announced, path, records, report);
    return run(options, probe, probe.problem(), false);
  };
  if (!options.recording.empty()) return measure(options.recording, 0);
  for (const std::size_t records : options.records) {
    const TemporaryRecording recording(records);
    engine::Status status = recording.write(records);
    if (status.ok()) status = measure(recording.path(), records);
    if (!status.ok()) return status;
  }
  AnnouncedProbe<ControlProbe> probe(options, report, announced, report);
  return run(options, probe, probe.problem(), true);
}

}  // namespace app
