// Orders that a backend carries out: runs and comparisons of recipes.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/protocol/convert.h"
#include "app/protocol/run_preview.h"
#include "app/worker/handlers.h"
#include "engine/backend/cpu/recipe_series.h"
#include "engine/model/backend_traits.h"

namespace app {
namespace {

std::vector<engine::Deviation> deviations_of(const engine::RunRequest& requested,
                                             const engine::BackendSlot& slot,
                                             const std::string& unavailable_reason) {
  std::vector<engine::Deviation> deviations;
  if (engine::traits_of(slot.kind).device != engine::traits_of(requested.backend).device) {
    deviations.push_back({.field = "backend",
                          .requested = std::string(engine::name_of(requested.backend)),
                          .effective = std::string(engine::name_of(slot.kind)),
                          .reason = unavailable_reason});
  }
  return deviations;
}

/// Both CUDA backends live in one slot; the CPU's slot serves only its own.
engine::GemmBackend served_by(const engine::BackendSlot& slot, engine::GemmBackend requested) {
  return engine::traits_of(slot.kind).device == engine::traits_of(requested).device ? requested
                                                                                    : slot.kind;
}

engine::Result<engine::BackendSlot*> slot_for(Backends& backends, engine::GemmBackend kind) {
  engine::BackendSlot* slot = backends.slot_for(kind);
  if (slot == nullptr)
    return engine::Error{engine::ErrorCode::Unsupported, backends.unavailable_reason(kind)};
  return slot;
}

engine::Status send_chunks(const OrderContext& context, const profiling::Activity& activity) {
  // The first chunk has names and nodes, so it is sent even without records.
  const std::size_t length = chunked_length(activity);
  for (std::size_t first = 0; first == 0 || first < length; first += kMaxChunkRecords) {
    ENGINE_TRY(context.sender.answer(context.id, activity_chunk(activity, first)));
  }
  return {};
}

}  // namespace

engine::Result<Answer> carry_out(const OrderContext& context, const engine::RunRequest& requested) {
  Backends& backends = context.backends;
  ENGINE_ASSIGN(engine::BackendSlot* const found, slot_for(backends, requested.backend));
  engine::BackendSlot& slot = *found;
  std::vector<engine::Deviation> deviations =
      deviations_of(requested, slot, backends.unavailable_reason(requested.backend));
  engine::RunRequest request = requested;
  request.backend = served_by(slot, requested.backend);

  profiling::ActivityCollector& collector = backends.collector_for(slot.kind);
  RunPower& power = backends.power_for(slot.kind);
  ENGINE_ASSIGN(const std::unique_ptr<engine::ReplayWatch> watch,
                context.guard.watch(backends, slot, context.id, request));
  power.begin();
  engine::Result<engine::RunResult> outcome = slot.backend->run(
      request, {.progress = context.progress, .observer = collector, .replays = watch.get()});
  RunDone done;
  done.power = power.end(context.progress.timed_since_ns);
  done.activity = collector.take();
  done.snapshot = collector.take_snapshot();
  context.dropped_records = collector.dropped();
  if (!outcome.ok()) return outcome.error();

  done.result = std::move(outcome).value();
  done.result.deviations.insert(done.result.deviations.begin(), deviations.begin(),
                                deviations.end());
  const std::string no_activity = backends.no_activity_reason(slot.kind);
  // The backend has described how records were made; only the worker knows why there are none.
  if (!no_activity.empty()) done.result.activity_method = "none: " + no_activity;
  if (done.activity.records.size() > kMaxActivityRecords) {
    // More than a window accepts: the earliest are kept, and the rest are reported as dropped.
    done.result.dropped_records += done.activity.records.size() - kMaxActivityRecords;
    done.activity.records.resize(kMaxActivityRecords);
  }
  if (done.snapshot.graphs.empty()) {
    done.snapshot = {};
  } else {
    describe_run(done.snapshot, request.step, done.result.device);
  }
  if (context.sender.compresses()) {
    if (const std::optional<RunPreview> preview = preview_of(done)) {
      ENGINE_TRY(context.sender.answer(context.id, *preview));
    }
  }
  ENGINE_TRY(send_chunks(context, done.activity));
  return Answer(std::move(done));
}

engine::Result<Answer> carry_out(const OrderContext& context,
                                 const engine::ComparisonRequest& requested) {
  if (requested.series) {
    ENGINE_ASSIGN(engine::RecipeComparison comparison,
                  engine::compare_over_steps(requested, context.progress));
    return Answer(std::move(comparison));
  }
  engine::ComparisonRequest request = requested;
  // The CPU can make the rows of a sample alone, of an operand of any size, and its codes are those
  // of the device.
  if (requested.only_sample) request.request.backend = engine::GemmBackend::CpuReference;
  ENGINE_ASSIGN(engine::BackendSlot* const found,
                slot_for(context.backends, request.request.backend));
  engine::BackendSlot& slot = *found;
  request.request.backend = served_by(slot, request.request.backend);
  profiling::ActivityCollector& collector = context.backends.collector_for(slot.kind);
  ENGINE_ASSIGN(
      engine::RecipeComparison comparison,
      slot.backend->compare(request, {.progress = context.progress, .observer = collector}));
  return Answer(std::move(comparison));
}

}  // namespace app
