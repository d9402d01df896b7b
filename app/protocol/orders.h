// What the engine of a worker can be ordered to do, and what it answers. A new kind of order is an
// alternative of Task and of Answer here, a line for each in expertscope.proto, which numbers them,
// and a carry_out() in app/worker/handlers.h; everything between only passes them on.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/input/tensor_source.h"
#include "engine/model/bench_order.h"
#include "engine/model/error.h"
#include "engine/model/recipe_comparison.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"
#include "engine/model/text.h"
#include "profiling/hazards/model/experiment.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/power/power_summary.h"
#include "profiling/trace/activity.h"

namespace app {

// ---- Orders ------------------------------------------------------------------------------------

enum class QuantizeDirections { Rowwise, Columnwise, Both };
constexpr auto enum_names(QuantizeDirections) {
  return std::to_array<std::string_view>({"rowwise", "columnwise", "both"});
}

/// Quantize one operand of the request and write it as .npy files to `folder` on the worker's
/// machine.
struct QuantizeOrder {
  engine::RunRequest request;
  engine::OperandRole operand = engine::OperandRole::Activations;
  std::string folder;
  QuantizeDirections directions = QuantizeDirections::Rowwise;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&QuantizeOrder::request, &QuantizeOrder::operand, &QuantizeOrder::folder,
                          &QuantizeOrder::directions>();
  }
  engine::Flaw flaw() const { return engine::flaw_of_name("folder", folder); }
};

/// One experiment of the graph doctor. The worker should end after its answer: an experiment leaves
/// the device in an unknown state.
struct DoctorOrder {
  engine::RunRequest request;
  std::string gallery_case;  // if not empty: this case instead of the request
  bool healthy = false;      // the case's healthy twin
  profiling::Experiment experiment = {};
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&DoctorOrder::request, &DoctorOrder::gallery_case, &DoctorOrder::healthy,
                          &DoctorOrder::experiment>();
  }
};

using Task = std::variant<engine::RunRequest, QuantizeOrder, engine::ComparisonRequest,
                          engine::BenchOrder, DoctorOrder>;

struct Order {
  std::uint64_t id = 0;
  Task task;
  /// cuBLASLt libraries that the task may name in addition to the worker's own. Loading a library
  /// runs its code, so these come from the user, never from a file.
  std::vector<std::string> allowed_libraries = {};
};

// ---- Answers -----------------------------------------------------------------------------------
// `id` is the order's. It travels once, next to the answer, so it is not among the fields.

struct RunDone {
  engine::RunResult result;      // with the id
  profiling::Activity activity;  // sent before it, in chunks
  profiling::Snapshot snapshot;  // of the captured graph; no graphs = none was captured
  profiling::PowerTrace power;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&RunDone::result>(),
                      engine::field<&RunDone::snapshot>({.sparse = true}),
                      engine::field<&RunDone::power>()};
  }
};

/// What is shown of a run while its records, graph and maps are still on a slow link
/// (app/protocol/run_preview.h). Sent before them; the RunDone has everything.
struct RunPreview {
  engine::RunResult result;  // with the id
  profiling::PowerTrace power;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&RunPreview::result, &RunPreview::power>();
  }
};

/// What quantizing an operand in one direction cost.
struct QuantizationLoss {
  bool columnwise = false;
  std::uint64_t elements = 0;
  std::uint64_t saturated = 0;    // |x * scale| above the format's largest finite value
  std::uint64_t underflowed = 0;  // x != 0 became 0
  std::uint64_t lost = 0;         // finite x whose code decodes to inf or NaN; not in the SNR
  std::uint64_t undefined = 0;    // x is inf or NaN itself; not in the SNR
  double snr_db = 0;              // of the others; +inf if exact, NaN if there are none
  std::uint64_t left_out() const { return lost + undefined; }
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&QuantizationLoss::columnwise>(),
                      engine::field<&QuantizationLoss::elements>(engine::kCount),
                      engine::field<&QuantizationLoss::saturated>(engine::kCount),
                      engine::field<&QuantizationLoss::underflowed>(engine::kCount),
                      engine::field<&QuantizationLoss::lost>(engine::kCount),
                      engine::field<&QuantizationLoss::undefined>(engine::kCount),
                      engine::field<&QuantizationLoss::snr_db>()};
  }
};

/// Files of a finished quantize order, on the worker's machine, and one loss per direction.
struct QuantizeDone {
  std::uint64_t id = 0;
  std::vector<std::string> files;
  std::vector<QuantizationLoss> losses;
  template <int = 0>
  static constexpr auto fields() {
    return std::array{engine::field<&QuantizeDone::files>(),
                      engine::field<&QuantizeDone::losses>({.most = 2})};
  }
};

/// Precedes the first row of a benchmark: the machine, once.
struct BenchStart {
  std::uint64_t id = 0;
  engine::DeviceFacts device;
  std::string runtime = {};    // "CUDA runtime 13.0", empty on the CPU
  int threads = 0;             // threads that share a launch; 0 on a device
  std::string no_device = {};  // why on the CPU, if the CPU was not asked for
  std::string time_method = {};
  std::string power_method = {};     // "instant", "mean of one second", or empty
  std::string power_missing = {};    // why rows have no clock and power; empty = they have
  std::string peer = {};             // the peer interleaved with us: "torch 2.9.0 (CUDA 13.0)"
  std::string peer_missing = {};     // why there is no peer, if one was asked for
  std::string kernels_missing = {};  // why steps have no kernel sum; empty = they have one
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&BenchStart::device, &BenchStart::runtime, &BenchStart::threads,
                          &BenchStart::no_device, &BenchStart::time_method,
                          &BenchStart::power_method, &BenchStart::power_missing, &BenchStart::peer,
                          &BenchStart::peer_missing, &BenchStart::kernels_missing>();
  }
};

/// A measured row with the clock and power of its launches.
template <class Row>
struct RowReport {
  std::uint64_t id = 0;
  Row row;
  profiling::PowerSummary power;
  /// No reading fell into the row's own launches: `power` covers everything that ran on its shape.
  bool power_of_shape = false;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&RowReport::row, &RowReport::power, &RowReport::power_of_shape>();
  }
};
using BenchRowReport = RowReport<engine::BenchRow>;
using StepRowReport = RowReport<engine::StepBenchRow>;  // a skipped row has no power

struct BenchDone {
  std::uint64_t id = 0;
  template <int = 0>
  static constexpr auto fields() {
    return std::array<engine::Field, 0>{};
  }
};

struct DoctorDone {
  std::uint64_t id = 0;
  profiling::Snapshot snapshot = {};
  profiling::Outcome outcome = {};
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&DoctorDone::snapshot, &DoctorDone::outcome>();
  }
};

/// Error of any order.
struct RunError {
  std::uint64_t id = 0;
  engine::Error error;
  /// For a run whose replay was late: the graph, and what was observed while it stalled. The worker
  /// ends after this answer.
  std::shared_ptr<const DoctorDone> stalled = nullptr;
  template <int = 0>
  static constexpr auto fields() {
    return engine::fields<&RunError::error, &RunError::stalled>();
  }
};

using Answer = std::variant<RunError, RunDone, profiling::Activity, RunPreview, QuantizeDone,
                            engine::RecipeComparison, BenchDone, BenchStart, BenchRowReport,
                            StepRowReport, DoctorDone>;

}  // namespace app

// The names of the oneofs in expertscope.proto.
template <>
struct engine::ChoiceNames<app::Task> {
  static constexpr std::string_view name = "app::Task";
  static constexpr auto names =
      std::to_array<std::string_view>({"run", "quantize", "compare", "bench", "doctor"});
};
template <>
struct engine::ChoiceNames<app::Answer> {
  static constexpr std::string_view name = "app::Answer";
  static constexpr auto names = std::to_array<std::string_view>(
      {"failed", "run_finished", "activity", "run_preview", "quantize_finished", "comparison",
       "bench_finished", "bench_started", "bench_row", "step_bench_row", "doctor_reply"});
};
