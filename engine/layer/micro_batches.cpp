#include "engine/layer/micro_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace engine {

std::vector<std::int64_t> rotated_splits(std::span<const std::int64_t> splits, int number) {
  std::vector<std::int64_t> rotated(splits.begin(), splits.end());
  if (rotated.empty()) return rotated;
  const auto places =
      static_cast<std::ptrdiff_t>(static_cast<std::size_t>(number) % rotated.size());
  std::ranges::rotate(rotated, rotated.begin() + places);
  return rotated;
}

Result<std::unique_ptr<MicroBatches>> MicroBatches::create(
    std::shared_ptr<const CublasLt> library, const ExpertLayerConfig& config,
    const ExpertLayerStep::Operands& operands, cudaStream_t stream) {
  const int in_flight = config.request.launch.in_flight;
  std::unique_ptr<MicroBatches> made(new MicroBatches);
  made->program_ = std::make_shared<const StepProgram>(program_of(config.request));
  made->graph_names_ = made->program_->graph_names();
  if (made->apart())
    made->memory_ = std::make_shared<GraphMemory>(config.request.launch.graph_pool);
  for (int number = 0; number < in_flight; ++number) {
    const GraphMemoryScope scope(
        {.memory = made->memory_,
         .forward = number,
         .backward = in_flight + number,
         .owner = in_flight > 1 ? fmt::format("micro-batch {}", number + 1) : ""});
    const ExpertLayerStep* const first = number == 0 ? nullptr : made->batches_.front().get();
    ENGINE_ASSIGN(
        std::unique_ptr<ExpertLayerStep> batch,
        ExpertLayerStep::create(library, config,
                                {.program = made->program_, .micro_batch = number, .first = first},
                                operands, stream));
    made->batches_.push_back(std::move(batch));
  }
  return made;
}

std::int64_t MicroBatches::bytes(const ExpertLayerConfig& config) {
  const auto program = std::make_shared<const StepProgram>(program_of(config.request));
  std::int64_t all = 0;
  for (int number = 0; number < config.request.launch.in_flight; ++number) {
    all += ExpertLayerStep::bytes(config, {.program = program, .micro_batch = number});
  }
  return captured_apart(config.request) ? all + all / GraphMemory::kSpareShare : all;
}

bool MicroBatches::apart() const { return captured_apart(program_->request); }

Status MicroBatches::write_step(std::span<const std::int64_t> splits, std::size_t step,
                                cudaStream_t stream) {
  for (int number = 0; number < micro_batches(); ++number) {
    ENGINE_TRY(micro_batch(number).write_step(rotated_splits(splits, number), step, stream));
  }
  return {};
}

Status MicroBatches::enqueue_splits(const void* splits, cudaStream_t stream) {
  for (const auto& batch : batches_) ENGINE_TRY(batch->enqueue_splits(splits, stream));
  return {};
}

Status MicroBatches::route(std::span<const std::int64_t> splits, std::size_t step,
                           cudaStream_t stream) {
  for (int number = 0; number < micro_batches(); ++number) {
    ENGINE_TRY(micro_batch(number).route(rotated_splits(splits, number), step, stream));
  }
  return {};
}

Status MicroBatches::keep_weights(bool keep, cudaStream_t stream) const {
  return batches_.front()->keep_weights(keep, stream);
}

Status MicroBatches::prepare(cudaStream_t stream, StepObserver& observer) const {
  for (const auto& batch : batches_) ENGINE_TRY(batch->prepare(stream, observer));
  return {};
}

Status MicroBatches::launch_graph(int graph, cudaStream_t stream, StepObserver& observer) const {
  const std::string& name = graph_names_[static_cast<std::size_t>(graph)];
  for (const ProgramPart& part : program_->parts) {
    if (part.graph == name) ENGINE_TRY(launch_part(part, stream, observer));
  }
  return {};
}

Status MicroBatches::launch_part(const ProgramPart& part, cudaStream_t stream,
                                 StepObserver& observer) const {
  return batches_[static_cast<std::size_t>(part.micro_batch)]->launch_part(part, stream, observer);
}

Status MicroBatches::launch(cudaStream_t stream, StepObserver& observer) const {
  for (const ProgramPart& part : program_->parts) {
    ENGINE_TRY(launch_part(part, stream, observer));
  }
  return {};
}

Result<std::vector<ProductTrial>> MicroBatches::try_candidates(cudaStream_t stream) {
  std::vector<ProductTrial> of_first;
  StepObserver unobserved;
  for (const auto& batch : batches_) {
    // The first one makes the weights of all; each its own operands, where another's may be.
    ENGINE_TRY(batches_.front()->launch(stream, unobserved));
    ENGINE_ASSIGN(std::vector<ProductTrial> trials, batch->try_candidates_by_pass(stream));
    if (batch == batches_.front()) of_first = std::move(trials);
  }
  return of_first;
}

Status MicroBatches::check_splits(cudaStream_t stream) const {
  for (const auto& batch : batches_) ENGINE_TRY(batch->check_splits(stream));
  return {};
}

std::vector<StepOutput> MicroBatches::all_outputs() const {
  std::vector<StepOutput> outputs;
  for (int number = 0; number < micro_batches(); ++number) {
    const ExpertLayerStep& batch = *batches_[static_cast<std::size_t>(number)];
    for (StepOutput& output : apart() ? batch.caller_outputs() : batch.all_outputs()) {
      if (number > 0 && output.added_to) continue;  // the first one's
      output.micro_batch = number;
      outputs.push_back(output);
    }
  }
  return outputs;
}

}  // namespace engine
