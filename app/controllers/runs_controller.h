// Runs, comparisons, amax histories and batches of the window: the request in the rail and what
// came before it, the worker that is asked, and the results at hand.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/controllers/batch_controller.h"
#include "app/controllers/library_controller.h"
#include "app/controllers/link_supervisor.h"
#include "app/controllers/notices.h"
#include "app/controllers/request_history.h"
#include "app/controllers/session_state.h"

namespace app {

class RunsController {
 public:
  /// A result that a recording keeps.
  using Result = std::variant<SessionState::Run, SessionState::Comparison, SessionState::History>;
  /// A run whose replay or launch did not come to its end, and what the worker saw of it.
  struct Stall {
    engine::RunRequest request;
    std::shared_ptr<const DoctorDone> seen;
  };

  /// `libraries` and `notices` outlive it.
  RunsController(const WorkerCommand& worker, const std::function<void()>& wake,
                 LibraryController& libraries, Notices& notices);

  SessionState state;
  LinkSupervisor link;

  /// The first worker's greeting chooses the backend, unless the request came with one ...
  void keep_backend() { keep_backend_ = true; }
  /// ... and runs the request, where it is asked to.
  void run_at_greeting() { run_at_greeting_ = true; }
  void start_worker(const std::string& cublaslt);
  /// With another of the same kind, at once, whatever it is doing.
  void replace_worker();

  /// The request in the rail.
  void submit();
  /// These follow a run on its way.
  void compare(const engine::ComparisonRequest& request);
  void step_history(const engine::AmaxHistoryRequest& request);
  void start(const SweepOrder& order);
  void start(const InterleavedOrder& order);
  void cancel();
  bool comparing() const { return link.comparing() || next_comparison_.has_value(); }
  bool stepping() const { return link.stepping() || next_history_.has_value(); }
  BatchStatus batch() const { return batches_.status(link.status()); }
  bool batch_running() const { return batches_.running(); }

  /// A change of a control; those of one non-zero `gesture` are one step of the history.
  void edit(const engine::RunRequest& request, std::uint64_t gesture);
  void choose(const engine::RunRequest& request);
  /// In place of the request, without a step of the history.
  void show(const engine::RunRequest& request);
  void undo(bool back);
  const RequestHistory& history() const { return history_; }
  void set_live(bool live);

  /// Takes in what the worker says and gives it what is next; true when there is something to draw.
  bool tick();
  /// Each of these once.
  std::vector<Result> take_results() { return std::exchange(results_, {}); }
  std::vector<FileReport> take_file_reports() { return std::exchange(file_reports_, {}); }
  std::optional<Stall> take_stall() { return std::exchange(stall_, std::nullopt); }
  /// The worker's header of a tensor file, asked for once by the same worker.
  void inspect_file(const std::string& path);

  /// A worker of this machine times iterations: drawing now would disturb what it measures.
  bool timing() const;
  /// A frame was drawn: counted while a run times its iterations.
  void frame_drawn();

 private:
  void take(WorkerHello&& hello);
  void take(RunDone&& done);
  void take(ComparisonDone&& done);
  void take(HistoryDone&& done);
  void take(RunError&& error);
  void take(FileReport&& report) { file_reports_.push_back(std::move(report)); }
  void take(LogReport&& line);
  /// Answers to orders that the window does not give.
  void take(auto&&) {}
  void compare_next();
  void step_next();
  bool step_batches();
  bool local_worker() const;

  LibraryController& libraries_;
  Notices& notices_;
  BatchController batches_;
  RequestHistory history_;
  // An order of its own would supersede the run on its way: these wait for it.
  std::optional<engine::ComparisonRequest> next_comparison_;
  engine::ComparisonRequest asked_comparison_;
  std::optional<engine::AmaxHistoryRequest> next_history_;
  engine::AmaxHistoryRequest asked_history_;
  std::vector<Result> results_;
  std::vector<FileReport> file_reports_;
  std::optional<Stall> stall_;
  std::string asked_inspection_;  // the file that the present worker was asked about
  bool keep_backend_ = false;
  bool run_at_greeting_ = false;
  int frames_while_timing_ = 0;  // of the run on its way
};

}  // namespace app
