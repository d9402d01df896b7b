// One recipe of the linear benchmark on the device: its products alone, its steps as graphs, and
// the set-up at their head.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/bench/linear_subject.h"
#include "engine/bench/replay_tracer.h"
#include "engine/device/handles.h"
#include "engine/linear/grouped_step.h"

namespace engine {

class CudaLinearSubject final : public LinearSubject {
 public:
  struct Setup {
    std::string name;
    std::shared_ptr<const CublasLt> library;
    StepConfig config;      // of both passes
    StepOperands operands;  // outlive the subject
    const std::vector<std::int64_t>& splits;
    cudaStream_t stream = nullptr;
    ReplayTracer* tracer = nullptr;
  };
  /// Allocates two steps, tries the algorithms of their products and captures their graphs.
  static Result<std::unique_ptr<LinearSubject>> create(Setup setup);
  /// Device bytes that create() allocates, operands not counted.
  static std::int64_t bytes(const StepConfig& config);
  ~CudaLinearSubject() override;

  std::string name() const override { return name_; }
  Result<std::vector<PartTime>> turn() override;
  Result<std::vector<PartTrace>> trace() override;

 private:
  CudaLinearSubject() = default;
  static Result<GroupedStep> make_step(const Setup& setup, const StepConfig& config);
  Status capture_graphs();
  Status capture_programmatic();
  template <class Launch>
  Result<PartTime> time(LinearPart part, int launches, Launch&& launch);
  Result<std::vector<TracedReplay>> replay_traced();

  std::string name_;
  cudaStream_t stream_ = nullptr;
  ReplayTracer* tracer_ = nullptr;
  StepObserver unobserved_;
  std::optional<GroupedStep> forward_, both_;
  GraphExec forward_graph_, both_graph_, setup_graph_;
  GraphExec forward_programmatic_, both_programmatic_;
  std::size_t turns_ = 0;
  Event begin_, end_;
};

}  // namespace engine
