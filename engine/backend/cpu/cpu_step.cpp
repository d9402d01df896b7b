// Weights are quantized in every step, as a training step does; nothing is carried from one
// iteration to the next but memory and, with delayed scaling, the history of amax.
#include "engine/backend/cpu/cpu_step.h"

#include <chrono>

#include "engine/backend/cpu/product.h"

namespace engine {

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

Error cancelled() { return {ErrorCode::Cancelled, "the run was cancelled"}; }

HostSpan::HostSpan(RunContext& context, const WorkTag& tag, const char* name)
    : context_(context), tag_(tag), name_(name) {
  context_.progress.stage.store(static_cast<int>(tag_.stage), std::memory_order_relaxed);
  context_.observer.begin_work(tag_);
  start_ns_ = steady_ns();
}

HostSpan::~HostSpan() {
  context_.observer.span(tag_, name_, 0, start_ns_, steady_ns());
  context_.observer.end_work();
}

CpuStep::CpuStep(const Setup& setup) : setup_(setup), row_offsets_(1, 0) {
  for (const std::int64_t rows : setup_.shape.splits) {
    row_offsets_.push_back(row_offsets_.back() + rows);
  }
  const auto experts = static_cast<std::size_t>(setup_.shape.num_experts());
  setup_.buffers.activations.configure({.role = OperandRole::Activations,
                                        .recipe = setup_.request.recipe,
                                        .element = setup_.operands.activations.element(),
                                        .splits = setup_.shape.splits,
                                        .columns = setup_.shape.k,
                                        .layers = setup_.request.layers});
  setup_.buffers.weights.configure({.role = OperandRole::Weights,
                                    .recipe = setup_.request.recipe,
                                    .element = setup_.operands.weights.front().element(),
                                    .splits = std::vector<std::int64_t>(experts, setup_.shape.n),
                                    .columns = setup_.shape.k,
                                    .layers = setup_.request.layers});
}

bool CpuStep::advance(int expert, double units) {
  done_units_ += units;
  RunProgress& progress = setup_.context.progress;
  progress.expert.store(expert, std::memory_order_relaxed);
  progress.fraction.store(done_units_ / total_units_, std::memory_order_relaxed);
  return !is_cancelled();
}

bool CpuStep::is_cancelled() const {
  return setup_.context.progress.cancel.load(std::memory_order_relaxed);
}

ExpertElements CpuStep::activations(int expert) {
  const std::int64_t rows = setup_.shape.splits[static_cast<std::size_t>(expert)];
  OperandStore& store = setup_.operands.activations;
  if (store.kept()) return {expert, rows, store.rows(first_row(expert), rows)};
  const std::int64_t start = steady_ns();
  const HostSpan span(setup_.context, {Stage::Memory, 0, expert}, "read X");
  const ExpertElements elements{expert, rows, store.rows(first_row(expert), rows)};
  reading_ns_ += steady_ns() - start;
  return elements;
}

ExpertElements CpuStep::weights(int layer, int expert) {
  const std::int64_t rows = setup_.shape.n;
  OperandStore& store = setup_.operands.weights[static_cast<std::size_t>(layer)];
  if (store.kept()) return {expert, rows, store.rows(expert * rows, rows)};
  const std::int64_t start = steady_ns();
  const HostSpan span(setup_.context, {Stage::Memory, layer, expert}, "read W");
  const ExpertElements elements{expert, rows, store.rows(expert * rows, rows)};
  reading_ns_ += steady_ns() - start;
  return elements;
}

void CpuStep::quantize(OperandStage& stage, const ExpertElements& elements, int layer) {
  const bool x = stage.plan().role == OperandRole::Activations;
  if (stage.plan().per_tensor()) {
    const HostSpan span(setup_.context, {Stage::Amax, layer, elements.expert},
                        x ? "amax X" : "amax W");
    stage.measure_amax(elements);
  }
  if (stage.plan().quantized() || stage.plan().rounded()) {
    const char* name = x ? "quantize X" : "quantize W";
    if (stage.plan().rounded()) name = x ? "round X to BF16" : "round W to BF16";
    const HostSpan span(setup_.context, {Stage::Quantize, layer, elements.expert}, name);
    stage.quantize(elements, layer);
  }
}

void CpuStep::run_expert(int layer, int expert) {
  // The grouped step quantizes every expert's weights, whether tokens were routed there or not.
  const ExpertElements w = weights(layer, expert);
  quantize(setup_.buffers.weights, w, layer);
  const ExpertElements x = activations(expert);
  if (x.rows == 0) return;
  quantize(setup_.buffers.activations, x, layer);
  const HostSpan span(
      setup_.context, {Stage::Fprop, layer, expert},
      setup_.buffers.weights.plan().quantized() ? "dequantize + sgemm" : "widen + sgemm");
  product({.x = setup_.buffers.activations.widen(x),
           .w = setup_.buffers.weights.widen(w),
           .m = x.rows,
           .n = setup_.shape.n,
           .k = setup_.shape.k,
           .y_bf16 = setup_.buffers.product.reserve(x.rows * setup_.shape.n),
           .cancel = &setup_.context.progress.cancel});
}

Status CpuStep::run() {
  for (int layer = 0; layer < setup_.request.layers; ++layer) {
    for (int expert = 0; expert < setup_.shape.num_experts(); ++expert) {
      if (!advance(expert, 1.0)) return cancelled();
      run_expert(layer, expert);
    }
  }
  // A product that was cancelled half way must not pass for a result.
  if (is_cancelled()) return cancelled();
  return {};
}

}  // namespace engine
