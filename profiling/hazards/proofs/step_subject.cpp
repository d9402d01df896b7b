#include "profiling/hazards/proofs/step_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "engine/backend/cuda/device_operands.h"
#include "engine/backend/cuda/step_setup.h"
#include "engine/gemm/library_file.h"
#include "engine/input/routing.h"
#include "engine/linear/output_check.h"
#include "engine/model/backend_traits.h"
#include "profiling/hazards/model/names.h"

namespace profiling {
namespace {

using engine::Result;
using engine::Status;

/// Other splits of the same tokens, with an empty expert if reordering alone changes nothing.
std::vector<std::int64_t> other_splits(const std::vector<std::int64_t>& splits) {
  std::vector<std::int64_t> changed(splits.rbegin(), splits.rend());
  if (changed != splits) return changed;
  if (splits.size() == 1) return {splits.front() / 2};
  changed.back() += std::exchange(changed.front(), 0);
  return changed;
}

class StepSubject final : public Subject {
 public:
  static Result<std::unique_ptr<Subject>> make(engine::RunResult described,
                                               std::shared_ptr<const engine::CublasLt> library,
                                               const engine::FoundDevice& device,
                                               cudaStream_t stream) {
    auto subject = std::unique_ptr<StepSubject>(new StepSubject(std::move(described)));
    ENGINE_TRY(subject->set_up(std::move(library), device, stream));
    return std::unique_ptr<Subject>(std::move(subject));
  }

  std::string title() const override { return step_title(described_.effective); }
  engine::StepKind step() const override { return described_.effective.step; }

  /// Names of the graphs: those of the request or, for a single layer, forward and backward, which
  /// training frameworks capture separately.
  std::vector<std::string> graph_names() const override {
    if (!halves()) return built_.step->graph_names();
    return {"forward", "backward"};
  }

  std::vector<GraphPool> graph_pools() const override {
    const engine::GraphMemory* memory = built_.step->graph_memory();
    return memory == nullptr ? std::vector<GraphPool>() : memory->ranges();
  }

  std::vector<SubjectOutput> outputs() const override {
    std::vector<SubjectOutput> outputs;
    for (const engine::StepOutput& output : built_.step->all_outputs()) {
      std::string name =
          engine::output_title(described_.effective.step, output.product, output.layer);
      if (built_.step->micro_batches() > 1 && !output.added_to) {
        name += fmt::format(", micro-batch {}", output.micro_batch + 1);
      }
      outputs.push_back({.name = std::move(name), .parts = built_.step->num_groups()});
    }
    return outputs;
  }

  Status set_inputs(bool changed, cudaStream_t stream) override {
    if (changed && !engine::traits_of(described_.effective.backend).follows_splits) {
      return engine::Error{engine::ErrorCode::Unsupported,
                           "The per-expert backend launches the splits it was created for; its "
                           "graph cannot follow others. Choose the grouped backend."};
    }
    return built_.step->write_splits(changed ? other_splits(splits_) : splits_, stream);
  }

  Status reset(cudaStream_t stream) override { return check_.poison(*built_.step, stream); }

  Status enqueue(int graph, cudaStream_t stream, engine::StepObserver& observer) override {
    if (!halves()) {
      ENGINE_TRY(note_turn(graph, stream));
      return built_.step->launch_graph(graph, stream, observer);
    }
    return built_.layer->launch_pass(
        graph == 0 ? engine::ProgramPass::Forward : engine::ProgramPass::Backward, stream,
        observer);
  }

  Status captured(int graph, cudaStream_t /*stream*/) override {
    if (engine::GraphMemory* memory = built_.step->graph_memory(); memory != nullptr) {
      memory->end_capture(graph);
    }
    return {};
  }

  Result<std::vector<std::uint64_t>> checksums(cudaStream_t stream) override {
    return check_.checksums(*built_.step, stream);
  }

  Status noted_errors(cudaStream_t stream) override { return built_.step->check_splits(stream); }

 private:
  explicit StepSubject(engine::RunResult described) : described_(std::move(described)) {}

  /// One layer whose request does not say how it is captured.
  bool halves() const {
    return built_.layer == built_.step.get() &&
           built_.layer->config().request.products.passes == engine::StepPasses::ForwardBackward;
  }

  /// The ledger has the memory that only graphs use during their captures.
  Status note_turn(int graph, cudaStream_t stream) {
    engine::GraphMemory* const memory = built_.step->graph_memory();
    if (memory == nullptr) return {};
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    ENGINE_CUDA_TRY(cudaStreamIsCapturing(stream, &status), "Asking whether a capture runs");
    if (status == cudaStreamCaptureStatusActive) memory->begin_capture(graph);
    return {};
  }

  Status set_up(std::shared_ptr<const engine::CublasLt> library, const engine::FoundDevice& device,
                cudaStream_t stream) {
    ENGINE_ASSIGN(const engine::ResolvedRouting routing,
                  engine::resolve_routing(described_.effective));
    splits_ = routing.shape.splits;
    engine::DeviceCapability capability = device.capability;
    capability.cublaslt_version = library->version();
    engine::StepPlan plan = engine::plan_step(described_, routing.shape, capability);
    if (plan.layer) plan.layer->tokens = routing.tokens;
    engine::StepObserver unobserved;
    engine::RunProgress progress;
    ENGINE_ASSIGN(built_,
                  engine::build_step(described_, plan, std::move(library), operands_, stream,
                                     {.progress = progress, .observer = unobserved}));
    ENGINE_ASSIGN(check_, engine::OutputCheck::create(*built_.step));
    ENGINE_TRY(built_.step->write_splits(splits_, stream));
    ENGINE_TRY(built_.step->prepare(stream, unobserved));
    return built_.step->keep_weights(false, stream);
  }

  engine::RunResult described_;
  std::vector<std::int64_t> splits_;
  engine::DeviceOperands operands_;
  engine::BuiltStep built_;
  engine::OutputCheck check_;
};

}  // namespace

Result<std::unique_ptr<Subject>> make_step_subject(const engine::RunRequest& request,
                                                   const std::string& cublaslt,
                                                   const engine::FoundDevice& device,
                                                   cudaStream_t stream, ExperimentFacts& facts) {
  ENGINE_ASSIGN(std::shared_ptr<const engine::CublasLt> library,
                engine::CublasLt::load(
                    request.cublaslt_library.empty() ? cublaslt : request.cublaslt_library));
  facts.device.cublaslt_version = engine::cublaslt_version_text(library->version());
  facts.device.cublaslt_path = library->path();
  engine::DeviceCapability capability = device.capability;
  capability.cublaslt_version = library->version();
  engine::RunResult described;
  ENGINE_TRY(engine::apply_gates(request, capability, library->path(), described));
  return StepSubject::make(std::move(described), std::move(library), device, stream);
}

}  // namespace profiling
