#include "profiling/trace/host_launch.h"

namespace profiling {
namespace {

/// 2 = of the record's stage, 1 = of its iteration, 0 = neither.
int closeness(const HostEvent& event, const ActivityRecord& record) {
  const bool around = event.kind == HostEventKind::StageRange && record.iteration >= 0 &&
                      event.iteration == record.iteration && event.start_ns <= record.start_ns;
  if (!around) return 0;
  if (event.stage == record.stage && event.layer == record.layer) return 2;
  return event.stage == engine::Stage::Other ? 1 : 0;
}

}  // namespace

std::optional<HostLaunch> host_launch(const Activity& activity, const ActivityRecord& record) {
  if (record.kind == ActivityKind::HostSpan) return std::nullopt;
  if (const HostCall* call = call_of(activity, record)) {
    return HostLaunch{call->start_ns, call->end_ns, activity.names[call->name], true};
  }
  const HostEvent* best = nullptr;
  for (const HostEvent& event : activity.host_events) {
    const int close = closeness(event, record);
    if (close > 0 && (best == nullptr || close > closeness(*best, record))) best = &event;
  }
  if (best == nullptr) return std::nullopt;
  return HostLaunch{best->start_ns, best->end_ns, activity.names[best->name], false};
}

}  // namespace profiling
