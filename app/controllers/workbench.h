// Everything the window does but draw: owns the controllers and carries their news to each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "app/controllers/commands.h"
#include "app/controllers/doctor_controller.h"
#include "app/controllers/files_controller.h"
#include "app/controllers/library_controller.h"
#include "app/controllers/notices.h"
#include "app/controllers/runs_controller.h"
#include "app/controllers/tour_controller.h"
#include "app/protocol/worker_command.h"

namespace app {

class Workbench {
 public:
  struct Options {
    WorkerCommand worker;
    bool no_worker = false;
    /// That files may name without a question.
    std::vector<std::string> allowed_libraries{};
    std::vector<engine::ShapePreset> presets{};
    DescribeRequest describe = nullptr;
  };

  /// `wake` may be called from any thread when tick() would find something; `remembered` outlives
  /// this.
  Workbench(Options options, const std::function<void()>& wake, RememberedFiles& remembered);

  // `notices` before those who write them.
  const Options options;
  Notices notices;
  LibraryController libraries;
  RunsController runs;
  FilesController files;
  DoctorController doctor;
  TourController tours;

  /// With this request in the rail, named by `file`, run as soon as there is a worker.
  void begin_with(const engine::RunRequest& request, const std::string& file, bool run);
  /// Recording, graph, tensor or tour, by its ending; what it cannot be is a notice.
  void open_file(const std::string& path);
  /// In place of the runs on screen.
  void open_recording(const std::string& path);
  void open_graph(const std::string& path);
  void examine(const VisitOrder& order);
  void use_library(const std::string& path);
  void set_notes(const std::vector<profiling::TimeNote>& notes);
  /// What Escape means where nothing of the window's own is open.
  void close_front();

  /// False = the action is the window's own.
  bool act(Action action);

  /// The answer to the question about a library.
  void answer_library(bool yes);
  const LibraryConsent::Question* library_question() const { return libraries.question(runs.link); }

  /// Why the action cannot be had now; empty = it can. Of those that are the window's own: empty.
  std::string refusal(Action action) const;
  /// Why there can be no visit to the doctor; empty = there can.
  std::string no_visit() const;
  /// Of a frame, but for what only the pages know.
  SessionView view() const;

  /// Takes in what has happened; true when there is something to draw.
  bool tick();
  /// What the controllers want done with pages, and orders whose library was just allowed, in
  /// order.
  std::vector<Command> take_commands() { return std::exchange(commands_, {}); }

 private:
  bool take_recordings();
  bool tick_doctor();
  void show_doctor();

  std::vector<Command> commands_;
};

}  // namespace app
