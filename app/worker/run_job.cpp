// Orders that a backend carries out: runs, comparisons of recipes, histories of delayed scaling.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/protocol/convert.h"
#include "app/worker/handlers.h"
#include "engine/backend/cpu/amax_history.h"
#include "engine/model/backend_traits.h"

namespace app {
namespace {

std::vector<engine::Deviation> deviations_of(const engine::RunRequest& requested,
                                             const engine::BackendSlot& slot,
                                             const std::string& why_not) {
  std::vector<engine::Deviation> deviations;
  if (engine::traits_of(slot.kind).device != engine::traits_of(requested.backend).device) {
    deviations.push_back({.field = "backend",
                          .requested = std::string(engine::name_of(requested.backend)),
                          .effective = std::string(engine::name_of(slot.kind)),
                          .reason = why_not});
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
  if (slot == nullptr) return engine::Error{engine::ErrorCode::Unsupported, backends.why_not(kind)};
  return slot;
}

engine::Status send_chunks(const OrderContext& context, const profiling::Activity& activity) {
  // The first chunk has names and nodes, so it is sent even without records.
  const std::size_t length = chunked_length(activity);
  for (std::size_t first = 0; first == 0 || first < length; first += kMaxChunkRecords) {
    engine::Status sent = context.sender.answer(context.id, activity_chunk(activity, first));
    if (!sent.ok()) return sent;
  }
  return {};
}

}  // namespace

engine::Result<Answer> carry_out(const OrderContext& context, const engine::RunRequest& requested) {
  Backends& backends = context.backends;
  const engine::Result<engine::BackendSlot*> found = slot_for(backends, requested.backend);
  if (!found.ok()) return found.error();
  engine::BackendSlot& slot = *found.value();
  std::vector<engine::Deviation> deviations =
      deviations_of(requested, slot, backends.why_not(requested.backend));
  engine::RunRequest request = requested;
  request.backend = served_by(slot, requested.backend);

  profiling::ActivityCollector& collector = backends.collector_for(slot.kind);
  RunPower& power = backends.power_for(slot.kind);
  const engine::Result<std::unique_ptr<engine::ReplayWatch>> watch =
      context.guard.watch(backends, slot, context.id, request);
  if (!watch.ok()) return watch.error();
  power.begin();
  engine::Result<engine::RunResult> outcome = slot.backend->run(
      request,
      {.progress = context.progress, .observer = collector, .replays = watch.value().get()});
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
    describe_run(done.snapshot, done.result.device);
  }
  if (engine::Status sent = send_chunks(context, done.activity); !sent.ok()) return sent.error();
  return Answer(std::move(done));
}

engine::Result<Answer> carry_out(const OrderContext& context,
                                 const engine::ComparisonRequest& requested) {
  const engine::Result<engine::BackendSlot*> found =
      slot_for(context.backends, requested.request.backend);
  if (!found.ok()) return found.error();
  engine::BackendSlot& slot = *found.value();
  engine::ComparisonRequest request = requested;
  request.request.backend = served_by(slot, requested.request.backend);
  profiling::ActivityCollector& collector = context.backends.collector_for(slot.kind);
  engine::Result<engine::RecipeComparison> comparison =
      slot.backend->compare(request, {.progress = context.progress, .observer = collector});
  if (!comparison.ok()) return comparison.error();
  return Answer(std::move(comparison).value());
}

engine::Result<Answer> carry_out(const OrderContext& context,
                                 const engine::AmaxHistoryRequest& request) {
  engine::Result<engine::AmaxHistory> history =
      engine::step_amax_history(request, context.progress);
  if (!history.ok()) return history.error();
  return Answer(std::move(history).value());
}

}  // namespace app
