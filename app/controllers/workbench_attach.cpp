// Programs that are attached to, in the workbench: each of their processes is one visit to the
// doctor, whose newest state replaces the former one.
#include <utility>

#include "app/controllers/workbench.h"

namespace app {

void Workbench::attach_to(const AttachOrder& order) {
  const PlacedWorker& place = runs.link.place();
  RemotePlace there;
  if (place.command.remote) there = {.worker = place.command, .connection = place.connection};
  watch(attach.start(order, there));
}

void Workbench::read_attached(const ReadAttachRecord& order) { watch(attach.read(order.folder)); }

void Workbench::watch(const engine::Status& begun) {
  if (!begun.ok()) return notices.add(Severity::Bad, begun.error().message);
  std::erase_if(attached_visits_, [](const auto& one) { return one.second.kept.expired(); });
  ++attached_;
  show_doctor();
}

bool Workbench::act_on_attach(Action action) {
  switch (action) {
    case Action::StopWatching:
      attach.stop_watching();
      return true;
    case Action::EndProgram:
      attach.end_program();
      return true;
    default:
      return false;
  }
}

std::string Workbench::attach_refusal(Action action) const {
  switch (action) {
    case Action::StopWatching:
      return attach.stop_refusal();
    case Action::EndProgram:
      return attach.end_refusal();
    default:
      return "";
  }
}

bool Workbench::tick_attach() {
  const bool changed = attach.tick();
  for (AttachedVisit& one : attach.take_visits()) {
    const auto known = attached_visits_.find(one.spool);
    std::shared_ptr<const profiling::RecordedVisit> kept;
    if (known == attached_visits_.end()) {
      kept = runs.state.add_live(std::move(one.visit));
    } else {
      kept = runs.state.replace_live(known->second.kept.lock(), std::move(one.visit));
      // A program of many processes must not push each other's visits out again and again.
      if (kept == nullptr) continue;
    }
    // A recording cannot replace what it holds, so it gets the last state only.
    if (one.last) files.record(kept);
    attached_visits_[one.spool] = {.kept = kept, .recorded = one.last};
  }
  return changed;
}

void Workbench::record_attached() {
  for (auto& [spool, visit] : attached_visits_) {
    const std::shared_ptr<const profiling::RecordedVisit> kept = visit.kept.lock();
    if (kept != nullptr && !std::exchange(visit.recorded, true)) files.record(kept);
  }
}

}  // namespace app
