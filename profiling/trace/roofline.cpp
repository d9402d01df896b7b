#include "profiling/trace/roofline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <variant>

#include "engine/gemm/support.h"
#include "engine/model/projections.h"
#include "engine/model/recipe_traits.h"
#include "engine/model/weight_reuse.h"
#include "engine/program/work.h"
#include "profiling/trace/statistics.h"

namespace profiling {
namespace {

using engine::Stage;

/// The element type of a file is in the file alone, so what the CPU reads of it is not known. A
/// device's operands are rounded to high precision when they are loaded.
std::optional<double> loaded_bytes(const engine::RunRequest& request,
                                   const engine::InputSpec& input) {
  if (engine::traits_of(request.backend).device) {
    return engine::element_bytes(request.recipe.high_precision);
  }
  const auto* synthetic = std::get_if<engine::SyntheticInput>(&input);
  if (synthetic == nullptr) return std::nullopt;
  return static_cast<double>(engine::element_bytes(synthetic->element));
}

/// What a loaded tensor is read from; null for one that the step makes.
const engine::InputSpec* input_of(const engine::RunRequest& request, engine::StepTensor tensor) {
  const bool from_tokens = engine::tokens_of(request) > 0;
  switch (tensor) {
    case engine::StepTensor::X:
      return from_tokens ? nullptr : &request.activations;
    case engine::StepTensor::WUp:
      return &request.weights;
    case engine::StepTensor::WDown:
      return &request.expert_layer.down_weights;
    case engine::StepTensor::DY:
      return from_tokens ? nullptr : &request.products.gradients;
    default:
      return nullptr;
  }
}

/// Dense rates per SM and clock, and the data sheet's clock and memory rate. Hopper: 4096 FLOP per
/// clock and SM with 16-bit operands, 8192 with FP8 (989 and 1979 TFLOP/s at 1.83 GHz, 132 SMs).
struct DeviceRow {
  const char* name;
  double clock_mhz;
  double bytes_per_s;
};
constexpr std::array kHopper = {DeviceRow{"NVIDIA H200", 1830.0, 4.8e12},
                                DeviceRow{"NVIDIA H100 80GB HBM3", 1830.0, 3.35e12}};

/// Whether an iteration quantizes the weights, if its step does: iterations outside the timed ones
/// keep none.
bool quantizes_weights(const engine::RunResult& result, int iteration) {
  const int weight_reuse = result.effective.products.weight_reuse;
  if (iteration < 0 || weight_reuse < 2) return true;
  const std::size_t steps = result.recorded_routing ? result.recorded_routing->steps.size() : 1;
  return engine::quantizes_weights(iteration, weight_reuse, steps);
}

engine::WorkCase work_case(const engine::RunResult& result,
                           const std::vector<std::int64_t>& splits) {
  engine::WorkCase made{.splits = splits};
  const engine::RunRequest& request = result.effective;
  if (!engine::is_expert_layer(request)) {
    made.emulated_up = !result.emulated.empty();
    return made;
  }
  using engine::Projection;
  made.emulated_up = engine::is_emulated(result, engine::projection_of(request, Projection::Up));
  made.emulated_down =
      engine::is_emulated(result, engine::projection_of(request, Projection::Down));
  return made;
}

/// With a loaded operand counted as wide as it is stored; nothing where that is not known.
std::optional<engine::OperationWork> counted_work(const engine::StepProgram& program,
                                                  const engine::Operation& operation,
                                                  const engine::WorkCase& of) {
  engine::OperationWork work = engine::work_of(program, operation, of);
  if (!operation.traits().copies || work.bytes() == 0.0) return work;
  const engine::RunRequest& request = program.request;
  const engine::InputSpec* const input = input_of(request, operation.reads.front().tensor);
  if (input == nullptr) return work;
  const std::optional<double> element = loaded_bytes(request, *input);
  if (!element) return std::nullopt;
  work.read_bytes *=
      *element / static_cast<double>(engine::element_bytes(request.recipe.high_precision));
  return work;
}

bool is_rated(Stage stage) {
  return std::ranges::any_of(engine::kOperations, [stage](const engine::OperationTraits& one) {
    return one.stage == stage && one.rated;
  });
}

}  // namespace

std::vector<engine::ExplainedOperation> explained_step(const engine::RunResult& result) {
  const std::vector<std::int64_t> splits = engine::mean_splits(result);
  return engine::explain(engine::program_of(result.effective), work_case(result, splits));
}

double permutation_bytes(const engine::RunResult& result, Stage stage,
                         engine::Projection projection) {
  if (stage != Stage::Permute && stage != Stage::Unpermute) return 0.0;
  const engine::StepProgram program = engine::program_of(result.effective);
  const std::vector<std::int64_t> splits = engine::mean_splits(result);
  for (const engine::ProgramPart& part : program.parts) {
    for (const engine::Operation& operation : part.operations) {
      if (operation.traits().stage != stage || operation.projection != projection) continue;
      return engine::work_of(program, operation, work_case(result, splits)).bytes();
    }
  }
  return 0.0;
}

std::optional<StageWork> stage_work(const engine::RunResult& result, Stage stage, int iteration) {
  if (!is_rated(stage)) return std::nullopt;
  const engine::StepProgram program = engine::program_of(result.effective);
  // Times are those of all iterations.
  const std::vector<std::int64_t> splits = engine::mean_splits(result);
  const engine::WorkCase of = work_case(result, splits);
  const bool weights = quantizes_weights(result, iteration);
  std::optional<StageWork> sum;
  for (const engine::ProgramPart& part : program.parts) {
    for (const engine::Operation& operation : part.operations) {
      if (operation.traits().stage != stage || !operation.traits().rated) continue;
      if (!sum) sum.emplace();
      const bool kept =
          stage == Stage::Quantize && !weights && operation.role == engine::OperandRole::Weights;
      if (kept) continue;
      const std::optional<engine::OperationWork> work = counted_work(program, operation, of);
      if (!work) return std::nullopt;
      sum->flop += work->flop;
      sum->bytes += work->bytes();
    }
  }
  return sum;
}

std::string unknown_work(const engine::RunResult& result, Stage stage) {
  if (!is_rated(stage)) return {};
  const engine::StepProgram program = engine::program_of(result.effective);
  const std::vector<std::int64_t> splits = engine::mean_splits(result);  // `of` refers to them
  const engine::WorkCase of = work_case(result, splits);
  std::vector<std::string> from_files;
  for (const engine::ProgramPart& part : program.parts) {
    for (const engine::Operation& operation : part.operations) {
      if (operation.traits().stage != stage || counted_work(program, operation, of)) continue;
      std::string name(
          engine::tensor_symbol(result.effective.step, operation.reads.front().tensor));
      if (std::ranges::find(from_files, name) == from_files.end()) {
        from_files.push_back(std::move(name));
      }
    }
  }
  if (from_files.empty()) return {};
  return fmt::format(
      "{} is not on the roofline: {} came from a file, and a run does not record the element type "
      "that its file had then, so the bytes that were read are not known",
      engine::stage_name(stage), fmt::join(from_files, " and "));
}

namespace {

struct IterationTime {
  int iteration = 0;
  double busy_ns = 0.0;
};

/// The time in which at least one of the added records ran, iteration by iteration.
class BusyTimes {
 public:
  /// In order of start.
  void add(const ActivityRecord& record) {
    const auto index = static_cast<std::size_t>(record.iteration);
    if (index >= iterations_.size()) iterations_.resize(index + 1);
    Iteration& busy = iterations_[index];
    const std::int64_t from =
        busy.records > 0 ? std::max(record.start_ns, busy.end_ns) : record.start_ns;
    busy.busy_ns += std::max<std::int64_t>(record.end_ns - from, 0);
    busy.end_ns = busy.records > 0 ? std::max(busy.end_ns, record.end_ns) : record.end_ns;
    ++busy.records;
  }
  /// Of the iterations that have records.
  std::vector<IterationTime> times() const {
    std::vector<IterationTime> times;
    for (std::size_t i = 0; i < iterations_.size(); ++i) {
      if (iterations_[i].records == 0) continue;
      times.push_back({static_cast<int>(i), static_cast<double>(iterations_[i].busy_ns)});
    }
    return times;
  }
  std::size_t records() const {
    std::size_t sum = 0;
    for (const Iteration& one : iterations_) sum += one.records;
    return sum;
  }

 private:
  struct Iteration {
    std::int64_t end_ns = 0;
    std::int64_t busy_ns = 0;
    std::size_t records = 0;
  };
  std::vector<Iteration> iterations_;
};

std::vector<IterationTime> busy_times(const Activity& activity, Stage stage) {
  BusyTimes busy;
  for (const ActivityRecord& record : activity.records) {  // by start
    if (record.stage == stage && record.iteration >= 0) busy.add(record);
  }
  return busy.times();
}

std::vector<double> durations_of(const std::vector<IterationTime>& times) {
  std::vector<double> durations;
  for (const IterationTime& one : times) durations.push_back(one.busy_ns);
  return durations;
}

/// A rate divides the work of an iteration by the time of iterations with that work. If weights are
/// quantized in some iterations and reused in the rest, the rate is that of the rest, which are
/// most.
StageTime stage_time(const engine::RunResult& result, const Activity& activity, Stage stage) {
  std::vector<IterationTime> times = busy_times(activity, stage);
  StageTime one{.stage = stage, .time = {}, .work = stage_work(result, stage)};
  const auto keeping = std::ranges::find_if(times, [&result](const IterationTime& time) {
    return !quantizes_weights(result, time.iteration);
  });
  const bool varies = stage == Stage::Quantize && one.work &&
                      result.effective.products.passes != engine::StepPasses::Backward;
  if (varies && keeping != times.end()) {
    one.work = stage_work(result, stage, keeping->iteration);
    std::erase_if(times, [&result](const IterationTime& time) {
      return quantizes_weights(result, time.iteration);
    });
  }
  one.time = summarize(durations_of(times));
  return one;
}

}  // namespace

std::vector<double> stage_busy_ns(const Activity& activity, Stage stage) {
  return durations_of(busy_times(activity, stage));
}

std::vector<StageTime> stage_times(const engine::RunResult& result, const Activity& activity) {
  std::vector<StageTime> times;
  for (std::size_t i = 0; i < engine::kStageNames.size(); ++i) {
    StageTime one = stage_time(result, activity, static_cast<Stage>(i));
    if (one.time.n > 0) times.push_back(std::move(one));
  }
  return times;
}

std::vector<RooflinePoint> roofline_points(const engine::RunResult& result,
                                           const Activity& activity) {
  std::vector<RooflinePoint> points;
  for (const Stage stage : {Stage::Quantize, Stage::Fprop, Stage::Dgrad, Stage::Wgrad}) {
    const StageTime one = stage_time(result, activity, stage);
    if (!one.work || one.work->flop == 0.0) continue;
    if (one.time.n == 0 || one.time.median <= 0.0) continue;
    points.push_back(
        {.stage = stage, .work = *one.work, .samples = one.time.n, .median_ns = one.time.median});
  }
  return points;
}

namespace {

/// The work of one operation in all layers; nothing if it is not counted or not known.
struct NamedWork {
  StageWork work;
  bool emulated = false;
};
using OperationKey = std::pair<Stage, engine::WrittenValue>;

using NamedWorks = std::map<OperationKey, std::optional<NamedWork>>;

/// The work of operations by what they write, and of each copy that an operation makes with others:
/// the CPU makes and records them one by one, reading the elements for each.
class Works {
 public:
  explicit Works(const engine::RunResult& result) {
    const engine::StepProgram program = engine::program_of(result.effective);
    const std::vector<std::int64_t> splits = engine::mean_splits(result);
    const engine::WorkCase of = work_case(result, splits);
    for (const engine::ProgramPart& part : program.parts) {
      for (const engine::Operation& operation : part.operations) {
        if (!operation.traits().rated) continue;
        add(whole_, program, operation, of);
        if (!operation.traits().copies || operation.writes.size() < 2) continue;
        for (const engine::Value& copy : operation.writes) {
          engine::Operation one = operation;
          one.writes = {copy};
          add(copies_, program, one, of);
        }
      }
    }
  }

  /// Null if it is not counted or not known.
  const NamedWork* find(const OperationKey& key) const {
    for (const NamedWorks* works : {&whole_, &copies_}) {
      const auto found = works->find(key);
      if (found != works->end()) return found->second ? &*found->second : nullptr;
    }
    return nullptr;
  }

 private:
  static void add(NamedWorks& works, const engine::StepProgram& program,
                  const engine::Operation& operation, const engine::WorkCase& of) {
    const Stage stage = operation.traits().stage;
    const auto [found, added] = works.try_emplace({stage, engine::written_by(operation)});
    if (added) found->second.emplace();
    if (!found->second) return;
    const auto work = counted_work(program, operation, of);
    if (!work) return found->second.reset();
    found->second->work.flop += work->flop;
    found->second->work.bytes += work->bytes();
    found->second->emulated |= stage != Stage::Quantize && of.emulated(operation.projection);
  }

  NamedWorks whole_;
  NamedWorks copies_;
};

}  // namespace

std::vector<OperationPoint> operation_points(const engine::RunResult& result,
                                             const Activity& activity) {
  std::map<OperationKey, BusyTimes> busy;
  for (const ActivityRecord& record : activity.records) {  // by start
    if (record.iteration >= 0) busy[{record.stage, record.writes}].add(record);
  }
  const Works works(result);
  std::vector<OperationPoint> points;
  for (const auto& [key, times] : busy) {
    const auto& [stage, writes] = key;
    OperationPoint point;
    point.stage = stage;
    point.writes = writes;
    Distribution time = summarize(durations_of(times.times()));
    if (writes == engine::WrittenValue::Unknown) {
      const StageTime whole = stage_time(result, activity, stage);
      if (!whole.work) continue;
      point.work = *whole.work;
      point.emulated = stage != Stage::Quantize && !result.emulated.empty();
      time = whole.time;
    } else {
      const NamedWork* const counted = works.find(key);
      if (counted == nullptr) continue;
      point.work = counted->work;
      point.emulated = counted->emulated;
    }
    if (point.work.bytes <= 0.0 || time.n == 0 || time.median <= 0.0) continue;
    point.samples = time.n;
    point.median_ns = time.median;
    point.launches =
        static_cast<double>(times.records()) / static_cast<double>(times.times().size());
    points.push_back(point);
  }
  return points;
}

std::optional<NominalPeaks> nominal_peaks(const engine::RunResult& result) {
  if (result.device.compute_capability != "9.0") return std::nullopt;
  // With mixed recipes this is the faster recipe: a roof is what no product exceeds.
  const bool narrow =
      std::ranges::any_of(engine::step_parts(result.effective), [&](const engine::StepPart& part) {
        return engine::traits_of(part.request.recipe).quantizes() &&
               !engine::is_emulated(result, part.request);
      });
  for (const DeviceRow& row : kHopper) {
    // The whole name: an NVL board or a slice of a device has other peaks.
    if (result.device.name != row.name) continue;
    return NominalPeaks{
        .flop_per_clock = (narrow ? 8192.0 : 4096.0) * result.device.multiprocessors,
        .clock_mhz = row.clock_mhz,
        .bytes_per_s = row.bytes_per_s,
        .source = fmt::format("data sheet, dense, at {:.2f} GHz", row.clock_mhz / 1e3)};
  }
  return std::nullopt;
}

}  // namespace profiling
