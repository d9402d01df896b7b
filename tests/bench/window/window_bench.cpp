// Times the window as a user would drive it: opens recordings, zooms, pans, hovers, changes pages,
// waits; with a worker, clicks a control. Needs a display (Xvfb will do).
//
// One line of JSON for each activity. Run:
//   window_bench [RECORDS | RECORDING.session | live | live:HOST | arriving:HOST]...
// A number is the size of a synthetic recording, "live" the window with a worker, "live:HOST" with
// one of that machine and large maps, and "arriving" the window to which that machine sends a run
// of a million records; by default 1000000 10000000 live.
#include <GL/gl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "app/gui/shell/settings.h"
#include "profiling/session/session_file.h"
#include "tests/bench/window/big_recording.h"
#include "tests/bench/window/window_probes.h"

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kWidth = 1440;
constexpr int kHeight = 900;
constexpr std::size_t kMostRecords = 10'000'000;

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "window_bench: {}\n", why);
  std::exit(1);
}

void check(const engine::Status& status) {
  if (!status.ok()) fail(status.error().message);
}

/// Holds the recordings and the window's settings: those of the user are neither used nor changed.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string path = (fs::temp_directory_path() / "expertscope-bench-XXXXXX").string();
    if (::mkdtemp(path.data()) == nullptr) fail(path + " cannot be made");
    path_ = path;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

/// Mean number of running threads over the last minute: the whole machine's load.
double load_average() {
  double minute = 0;
  return getloadavg(&minute, 1) == 1 ? minute : 0.0;
}

std::string gl_text(GLenum name) {
  const GLubyte* text = glGetString(name);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

/// Writes rows as they become known, each with the machine that it was measured on.
class Rows {
 public:
  void write(const app::WindowRow& row) const {
    Json line = {{"suite", "window"},
                 {"date", date_},
                 {"what", row.what},
                 {"records", row.records},
                 {"n", row.n},
                 {"unit", row.unit},
                 {"p50", rounded(row.p50)},
                 {"p95", rounded(row.p95)},
                 {"max", rounded(row.maximum)}};
    if (row.present_p50 > 0) line["present_ms_p50"] = rounded(row.present_p50);
    if (row.budget > 0) line["budget"] = row.budget;
    line.update({{"processor", processor_},
                 {"threads", std::thread::hardware_concurrency()},
                 {"gl_renderer", gl_text(GL_RENDERER)},
                 {"gl_version", gl_text(GL_VERSION)},
                 {"width", kWidth},
                 {"height", kHeight},
                 {"load_before", rounded(load_)}});
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }

 private:
  const std::string date_ = fmt::format("{:%FT%TZ}", fmt::gmtime(std::time(nullptr)));
  const std::string processor_ = processor_name();
  const double load_ = load_average();
};

/// Opens a window for this probe; ends the program if it could not measure.
template <class Probe>
void measure(Probe&& probe, bool worker, const std::string& host = {},
             const std::string& request = {}) {
  // All begin alike; without settings it would be a first start, which opens the example.
  if (const std::string problem = app::save_settings(app::settings_path(), {}); !problem.empty()) {
    fail(problem);
  }
  app::WindowOptions options;
  options.no_worker = !worker;
  options.width = kWidth;
  options.height = kHeight;
  options.text_scale = 1.0F;
  options.probe = &probe;
  options.initial_request_json = request;
  if (!host.empty()) {
    options.machine.emplace();
    options.machine->host = host;
  }
  app::run_window(options);
  if (!probe.problem().empty()) fail(probe.problem());
}

/// Maps of 512 x 256 cells, which compress badly.
constexpr const char* kLargeMaps =
    R"({"shape": {"num_experts": 4, "rows": 4096, "n": 64, "k": 4096}, "backend": "cpu-reference",)"
    R"( "recipe": {"scaling": "nvfp4"}, "launch": {"iterations": 1}})";

/// Small enough that its time is the link's, with ten records in each of many iterations.
engine::RunRequest large_run() {
  engine::RunRequest request;
  request.shape.num_experts = 4;
  request.shape.rows = 64;
  request.shape.n = 64;
  request.shape.k = 64;
  request.backend = engine::GemmBackend::CpuReference;
  request.launch.iterations = engine::kMaxIterations;
  request.measure.traced_iterations = engine::kMaxIterations;
  return request;
}

/// A number of records, or 0 for the name of a file.
std::size_t records_of(std::string_view word) {
  std::size_t records = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), records);
  if (error == std::errc::invalid_argument || end != word.data() + word.size()) return 0;
  if (error != std::errc() || records == 0 || records > kMostRecords) {
    fail(fmt::format("{} records; take 1 to {}", word, kMostRecords));
  }
  return records;
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::string> wanted(words + 1, words + count);
  if (wanted.empty()) wanted = {"1000000", "10000000", "live"};
  static const TemporaryFolder folder;  // fail() removes it too
  ::setenv("XDG_CONFIG_HOME", folder.path().c_str(), 1);
  const Rows rows;
  const auto report = [&](const app::WindowRow& row) { rows.write(row); };
  for (const std::string& word : wanted) {
    if (word == "live") {
      measure(app::ControlProbe(report), true);
      continue;
    }
    if (constexpr std::string_view kArriving = "arriving:"; word.starts_with(kArriving)) {
      measure(app::ArrivalProbe(large_run(), report), true, word.substr(kArriving.size()));
      continue;
    }
    if (constexpr std::string_view kLive = "live:"; word.starts_with(kLive)) {
      measure(app::ControlProbe(report, "recipe.hadamard", 250), true, word.substr(kLive.size()),
              kLargeMaps);
      continue;
    }
    const std::size_t records = records_of(word);
    const std::string path = records > 0 ? folder.path() / (word + ".session") : fs::path(word);
    if (records > 0) {
      auto writer = profiling::SessionWriter::create(path);
      if (!writer.ok()) fail(writer.error().message);
      check(writer.value()->append(app::make_big_run(records)));
    }
    measure(app::RecordingProbe(path, records, report), false);
    if (records > 0) fs::remove(path);
  }
  return 0;
}
