// Everything the window does except drawing: owns the controllers and passes results between them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/attach/attached_program.h"
#include "app/controllers/attach_controller.h"
#include "app/controllers/commands.h"
#include "app/controllers/doctor_controller.h"
#include "app/controllers/file_fetcher.h"
#include "app/controllers/files_controller.h"
#include "app/controllers/library_controller.h"
#include "app/controllers/machine_controller.h"
#include "app/controllers/notices.h"
#include "app/controllers/presentation.h"
#include "app/controllers/runs_controller.h"
#include "app/controllers/tour_controller.h"
#include "app/protocol/worker_command.h"

namespace app {

class Workbench {
 public:
  struct Options {
    WorkerCommand worker;
    /// Connected first, instead of a worker on this machine.
    std::optional<ConnectOptions> machine{};
    bool no_worker = false;
    /// Libraries that files may name without a question.
    std::vector<std::string> allowed_libraries{};
    std::vector<engine::ShapePreset> presets{};
    /// That programs are attached to with.
    engine::Result<std::string> attach_library = app::attach_library();
  };

  /// `wake` may be called from any thread when tick() would find a result; `remembered` and
  /// `machines` outlive this.
  Workbench(Options options, const std::function<void()>& wake, RememberedFiles& remembered,
            RememberedMachines& machines);

  // `notices` before those who write them.
  const Options options;
  Notices notices;
  LibraryController libraries;
  RunsController runs;
  MachineController machine;
  FilesController files;
  DoctorController doctor;
  AttachController attach;
  TourController tours;
  Presentation presentation;

  /// Starts a worker here, or connects the machine that the options name.
  void begin_worker();
  void connect(const ConnectOptions& to);
  /// Why the connection to the worker's machine is gone; empty = it is there, or there is none.
  const std::string& connection_lost() const { return connection_lost_; }
  /// Puts this request, which came from `file`, in the rail; `run`: as soon as there is a worker.
  void begin_with(const engine::RunRequest& request, const std::string& file, bool run);
  /// Goes on with what an earlier window was left with; `file` holds it.
  void continue_with(const engine::RunRequest& request, const std::string& file, bool live);
  /// Recording, graph, tensor or tour, by its suffix; a notice if it is none of them. One of the
  /// worker's machine ("HOST:/path") that the worker does not read is copied here first.
  void open_file(const std::string& path);
  void use_request(const UseRequest& order);
  /// Shows the recording that explains the program at first sight: an expert layer, forward and
  /// backward, quantized in FP8 blocks. False = it does not lie with the program.
  bool open_example();
  void open_graph(const std::string& path);
  void examine(const VisitOrder& order);
  /// Its processes become visits to the doctor, beside the live runs.
  void attach_to(const AttachOrder& order);
  void read_attached(const ReadAttachRecord& order);
  void use_library(const std::string& path);
  /// Refused while workers run on another machine, which could not load it.
  void fetch_library(const std::string& version);
  void set_notes(const std::vector<profiling::TimeNote>& notes);
  void name_run(const std::string& name);
  /// Changes of the user's request; refused while the rail shows a recorded one.
  void edit(const engine::RunRequest& request, std::uint64_t gesture, bool run = false);
  void use_tensor(const UseTensor& file);
  void use_dump(const UseDump& dump);
  void choose(const engine::RunRequest& request);
  /// Escape, when the shell has nothing open itself.
  void close_front();

  /// False = the shell handles the action.
  bool act(Action action);

  /// The answer to the question about a library.
  void answer_library(bool yes);
  const LibraryConsent::Question* library_question() const { return libraries.question(runs.link); }

  /// Why the request in the rail cannot be changed; empty = it can.
  std::string change_refusal() const;
  /// Why the action is not possible now; empty = it is. Always empty for actions of the shell.
  std::string refusal(Action action) const;
  /// For one frame; the shell adds what only the pages know.
  SessionView view() const;

  /// Processes what has happened since; true when there is something to draw.
  bool tick();
  /// Commands of the controllers for the shell, and those whose library was just allowed, in order.
  std::vector<Command> take_commands() { return std::exchange(commands_, {}); }

 private:
  bool refuse_change();
  /// With a preset's name only beside its own sizes.
  engine::RunRequest named(engine::RunRequest request) const;
  /// Live must answer within a blink: on a CPU that holds for the small presets only.
  void choose_pace(const engine::RunRequest& request);
  void undo(bool back);
  // workbench_machine.cpp
  bool act_on_machine(Action action);
  std::string machine_refusal(Action action) const;
  /// False = it is no kind of file that can be opened.
  bool open_here(const std::string& path);
  void fetch_file(const std::string& path_there);
  bool tick_fetch();
  bool tick_machine();
  bool take_recordings();
  /// `doubt`: profiling::Session::doubt; the message stays until it is dismissed.
  void warn_if_incomplete(const std::string& path, const std::string& doubt);
  bool tick_doctor();
  void show_doctor();
  // workbench_attach.cpp
  bool act_on_attach(Action action);
  void watch(const engine::Status& begun);
  std::string attach_refusal(Action action) const;
  bool tick_attach();

  /// A recording ends: it gets what is known of the processes so far.
  void record_attached();

  /// The newest visit to an attached process.
  struct AttachedProcessVisit {
    std::weak_ptr<const profiling::RecordedVisit> kept;  // expired = no longer listed
    bool recorded = false;                               // in this state
  };
  std::map<std::string, AttachedProcessVisit> attached_visits_;  // by spool
  int attached_ = 0;                                             // programs and records so far
  std::vector<Command> commands_;
  std::string connection_lost_;
  FileFetcher fetcher_;
  std::string opening_graph_;                  // the doctor reads it; empty = none
  std::optional<RecordedPlace> returning_to_;  // its recording is being read
};

}  // namespace app
