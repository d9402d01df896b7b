// The shell's part of the Compare workspace: a second recording, sweeps and interleaved runs.
#include <fmt/format.h>

#include <utility>

#include "app/gui/shell/shell.h"
#include "app/protocol/request_json.h"

namespace app {

void Shell::carry_out_compare(const CommandSlots& commands) {
  if (commands.open_second) files_.open(FilePurpose::OpenSecond, settings_.folder, "");
  if (commands.sweep || commands.interleave) {
    CommandSlots again;
    again.sweep = commands.sweep;
    again.interleave = commands.interleave;
    const auto then = [this, again] { carry_out_compare(again); };
    if (commands.sweep && !may_load(commands.sweep->base.cublaslt_library, "batch", then)) return;
    if (commands.interleave &&
        (!may_load(commands.interleave->a.cublaslt_library, "batch", then) ||
         !may_load(commands.interleave->b.cublaslt_library, "batch", then))) {
      return;
    }
    // As for a run: what comes next is live.
    state_.back_to_live();
    if (commands.sweep) batches_.start(*commands.sweep, link_.hello());
    if (commands.interleave) batches_.start(*commands.interleave, link_.hello());
    batches_.step(link_);
  }
  if (commands.cancel_batch) cancel();
}

void Shell::open_second(const std::string& path) {
  remember_folder(path);
  second_loader_.start([path] { return profiling::open_session(path, request_codec()); });
}

bool Shell::take_second() {
  auto loaded = second_loader_.take();
  if (!loaded) return false;
  if (!loaded->ok()) {
    notices_.add(Severity::Bad, "Not opened: " + loaded->error().message);
    return true;
  }
  profiling::Session session = std::move(*loaded).value();
  if (session.runs.empty()) {
    notices_.add(Severity::Warn, session.path + " holds no run to compare with");
    return true;
  }
  note_libraries(session);
  state_.second_path = session.path;
  state_.second_runs.clear();
  for (profiling::RecordedRun& run : session.runs) {
    state_.second_runs.push_back(std::make_shared<const profiling::RecordedRun>(std::move(run)));
  }
  return true;
}

bool Shell::tick_batches() {
  batches_.step(link_);
  if (!batches_.take_end()) return false;
  const BatchNews news = batches_.news(link_.status());
  const char* what = news.kind == profiling::GroupKind::Sweep ? "Sweep" : "A against B";
  if (news.state == BatchState::Failed) {
    notices_.add(Severity::Bad, fmt::format("{} ended: {}", what, news.error));
  } else if (news.state == BatchState::Cancelled) {
    notices_.add(Severity::Warn, fmt::format("{} cancelled: {} of {} runs are kept", what,
                                             news.progress.measured, news.progress.total));
  }
  return true;
}

}  // namespace app
