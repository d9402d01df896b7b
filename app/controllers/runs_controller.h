// Runs, comparisons and batches: the request in the rail with its undo history, the worker, and the
// results.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/batch_controller.h"
#include "app/controllers/dump.h"
#include "app/controllers/library_controller.h"
#include "app/controllers/link_supervisor.h"
#include "app/controllers/notices.h"
#include "app/controllers/recorder.h"
#include "app/controllers/request_history.h"
#include "app/controllers/run_estimate.h"
#include "app/controllers/session_state.h"

namespace app {

class RunsController {
 public:
  /// A run whose replay or launch did not finish, and what the worker observed.
  struct Stall {
    engine::RunRequest request;
    std::shared_ptr<const DoctorDone> seen;
  };

  /// `libraries` and `notices` outlive it. `no_worker`: none is ever started, whoever asks for one.
  RunsController(const WorkerCommand& worker, const std::function<void()>& wake,
                 LibraryController& libraries, Notices& notices, bool no_worker);

  SessionState state;
  LinkSupervisor link;

  /// The request in the rail keeps its backend when the first worker greets.
  void keep_backend() { keep_backend_ = true; }
  /// The request keeps its backend if the first worker has it.
  void remember_backend() { keep_backend_ = backend_remembered_ = true; }
  /// Runs the request as soon as a worker greets.
  void run_at_greeting() { run_at_greeting_ = true; }
  void start_worker(const std::string& cublaslt);
  /// The next worker is started there, at once; results stay. On another machine the request gets
  /// the best backend that it has, and that machine's own library.
  void move_to(PlacedWorker place);
  /// By one with the same library, at once, even if it is busy.
  void replace_worker();

  /// The request in the rail. One that will take long waits for an answer instead.
  void submit();
  /// The question about such a run; null = none.
  const LongRun* long_run() const { return long_run_ ? &*long_run_ : nullptr; }
  void answer(LongRunAnswer answer);
  /// Waits for a run in progress.
  void compare(const engine::ComparisonRequest& request);
  /// The same without leaving a recording: its run is what is inspected.
  void inspect(engine::ComparisonRequest request);
  void start(const SweepOrder& order);
  void start(const InterleavedOrder& order);
  void cancel();
  bool comparing() const {
    return link.waiting_for<engine::ComparisonRequest>() || next_comparison_;
  }
  /// Whether the newest order of a comparison is one over steps.
  bool compares_steps() const {
    return (next_comparison_ ? *next_comparison_ : asked_comparison_).series.has_value();
  }
  BatchStatus batch() const { return batches_.status(link.status()); }
  bool batch_running() const { return batches_.running(); }

  /// A change of a control; those with the same non-zero `gesture` are one undo step. `run`: runs
  /// the request also if nothing changed or Live is off, with one order in any case.
  void edit(const engine::RunRequest& request, std::uint64_t gesture, bool run = false);
  void choose(const engine::RunRequest& request);
  /// An operand takes its values from this file. Once a worker has read the file's header, the
  /// sizes of the step become the file's, in the same undo step; until then nothing runs by itself.
  /// Where the file does not fit, the last error says why.
  void use_tensor(const UseTensor& file);
  /// All parts of a dump, in one undo step once a worker has read their headers; until then nothing
  /// changes. Where one does not fit, nothing changes either, and the last error names it.
  void use_dump(const std::vector<DumpPart>& parts);
  /// Replaces the request without an undo step.
  void show(const engine::RunRequest& request);
  /// The request of the recorded run on screen becomes the user's, and the recording is left.
  void take_over();
  /// Returns the recorded run that is to be shown again, if the step had left one.
  std::optional<RecordedPlace> undo(bool back);
  const RequestHistory& history() const { return history_; }
  /// Leaves the recording; in Live mode the request is run if no run answers it.
  void back_to_live();
  void set_live(bool live);
  /// A shape was chosen. Where Live cannot follow it, Live goes off, and on again with the next
  /// that it can; a notice says so.
  void can_follow(bool quick);

  /// Processes the worker's events and sends it what is next; true when there is something to draw.
  bool tick();
  /// What goes into a recording, each once.
  std::vector<Recorder::Record> take_results() { return std::exchange(results_, {}); }
  std::vector<FileReport> take_file_reports() { return std::exchange(file_reports_, {}); }
  /// Whether a worker has greeted since the last call: reports of files from an earlier worker are
  /// then void.
  bool take_greeting() { return std::exchange(greeted_, false); }
  /// A file that was opened as a tensor or as routing, and is neither.
  std::optional<std::string> take_unreadable() { return std::exchange(unreadable_, std::nullopt); }
  std::optional<Stall> take_stall() { return std::exchange(stall_, std::nullopt); }
  /// Asks what a file holds, unless that question is still open.
  void inspect_file(const FileQuestion& question);

  /// A worker of this machine times iterations: drawing now would disturb what it measures.
  bool timing() const;
  /// A frame was drawn: counted while a run times its iterations.
  void frame_drawn();

 private:
  void step_started_batch();
  /// A file that was opened and whose header no worker has read yet.
  struct Opening {
    UseTensor file;
    engine::InputSpec before;  // values of the operand
    std::uint64_t gesture = 0;
    bool asked = false;  // the present worker
    bool run = false;    // afterwards, also without Live
  };
  /// Whether the run is short, or the user wants it.
  bool may_take_its_time();
  /// Whether it is one; if not, the error says why.
  bool may_compare(const engine::ComparisonRequest& request);
  void send_next_comparison();
  /// A comparison that a run supersedes is ordered again after it.
  void keep_comparison();

  void take(WorkerHello&& hello);
  void take(RunDone&& done);
  void take(RunPreview&& preview);
  void take(engine::RecipeComparison&& comparison);
  void take(RunError&& error);
  void take(FileReport&& report);
  void take(LogReport&& line);
  /// Answers to requests that only the command line makes.
  void take(auto&&) {}
  void run_if_live();
  void fit_to(const FileReport& report);
  void take_dump();
  /// The request with the operand for which the file was opened. If nobody chose that one and the
  /// file does not fit, with another one, which `opening` then has.
  engine::Result<engine::RunRequest> fitted_to_operand(Opening& opening,
                                                       const FileReport& report) const;
  /// The request with its operand, or its routing, from the file that was opened.
  engine::Result<engine::RunRequest> fitted(Opening& opening, const FileReport& report) const;
  bool may_load(const std::string& library, Command order);
  bool step_batches();
  bool local_worker() const;

  LibraryController& libraries_;
  Notices& notices_;
  const bool no_worker_;
  BatchController batches_;
  RequestHistory history_;
  /// Sent at once, it would supersede the run in progress: it waits for it.
  std::optional<engine::ComparisonRequest> next_comparison_;
  engine::ComparisonRequest asked_comparison_;
  engine::RunRequest compared_from_;  // on screen when the newest comparison was ordered
  std::vector<Recorder::Record> results_;
  std::vector<FileReport> file_reports_;
  bool greeted_ = false;
  bool has_greeted_ = false;  // ever
  std::optional<Stall> stall_;
  std::optional<Opening> opening_;
  std::optional<std::string> unreadable_;
  std::uint64_t openings_ = 0;
  std::optional<LongRun> long_run_;
  std::optional<engine::RunRequest> wanted_;  // however long it takes
  std::optional<DumpReading> dump_;
  bool dump_asked_ = false;                       // its next question, of the present worker
  std::optional<FileQuestion> asked_inspection_;  // of the present worker
  bool slow_shape_ = false;                       // Live went off because of it
  bool keep_backend_ = false;
  bool backend_remembered_ = false;
  std::uint64_t run_by_itself_ = 0;  // the order of a run that nobody asked for; 0 = none
  bool run_at_greeting_ = false;
  int frames_while_timing_ = 0;  // of the run in progress
};

}  // namespace app
