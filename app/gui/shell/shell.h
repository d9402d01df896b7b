// The window's own thread of events: takes in what the worker and the background threads say, draws
// one frame, carries out what the frame wished for. Knows nothing of GLFW.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/background_task.h"
#include "app/gui/shell/bars.h"
#include "app/gui/shell/batch_desk.h"
#include "app/gui/shell/command_palette.h"
#include "app/gui/shell/control_map_file.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/device_words.h"
#include "app/gui/shell/doctor_desk.h"
#include "app/gui/shell/file_dialog.h"
#include "app/gui/shell/library_consent.h"
#include "app/gui/shell/library_desk.h"
#include "app/gui/shell/link_supervisor.h"
#include "app/gui/shell/notices.h"
#include "app/gui/shell/recent_files.h"
#include "app/gui/shell/recorder.h"
#include "app/gui/shell/request_history.h"
#include "app/gui/shell/run_names.h"
#include "app/gui/shell/session_state.h"
#include "app/gui/shell/settings.h"
#include "app/gui/shell/tour.h"
#include "app/gui/shell/tour_keeper.h"
#include "app/gui/shell/tour_player.h"
#include "app/gui/shell/window.h"

namespace app {

/// A file of its own, whole or not at all; `done` when it is there.
WriteQueue::Outcome write_text(const std::string& path, const std::string& text,
                               const std::string& done);

class Shell {
 public:
  Shell(const WindowOptions& options, LoadedSettings settings, std::function<void()> wake);

  /// Starts the worker and whatever the options ask to begin with.
  void begin();
  /// Takes in news; true when something on screen has changed.
  bool tick();
  void act(Action action);
  /// By what it is: recording, captured graph, tensor; a sentence when it cannot be used.
  void open_file(const std::string& path);
  void draw(const Theme& theme, const PlotKeys& keys);
  /// Somebody can see the window: only then is the device looked at between runs.
  void seen(bool visible) { link_.watch_device(visible); }
  /// The frame stands in the framebuffer, before it is swapped.
  void after_render(const Theme& theme, int width, int height);

  Settings& settings() { return settings_; }
  /// A worker of this machine times iterations: drawing now would disturb what it measures.
  bool timing() const;
  bool touring() const { return player_.has_value(); }
  const SessionState& state() const { return state_; }
  /// Of the newest frame.
  const ControlMap& controls() const { return controls_; }
  void open_recording(const std::string& path);
  void close(int exit_code) { exit_code_ = exit_code; }
  bool closing() const { return exit_code_.has_value(); }
  int exit_code() const { return exit_code_.value_or(0); }

 private:
  // shell_events.cpp
  void take_event(LinkEvent&& event);
  void take_hello(const WorkerHello& hello);
  void take_run(RunDone&& done);
  void take_comparison(ComparisonDone&& done);
  void take_history(HistoryDone&& done);
  bool take_recording();
  bool take_doctor();
  bool take_recorders();
  bool status_changed();
  bool local_worker() const;
  // shell.cpp
  void submit();
  void compare(const engine::ComparisonRequest& request);
  void compare_next();
  void step_history(const engine::AmaxHistoryRequest& request);
  void step_next();
  void cancel();
  SessionView view() const;
  void start_worker(const std::string& cublaslt);
  /// With another of the same kind, at once, whatever it is doing.
  void replace_worker();
  void carry_out_doctor(const CommandSlots& commands);
  /// A run that stalled: its visit is shown as soon as the rules have seen the graph.
  void take_stall(const RunError& failure);
  void export_report(const std::string& path);
  void carry_out(const CommandSlots& commands);
  void carry_out(const RailWishes& wishes);
  void carry_out(const TopBarWishes& wishes);
  // shell_files.cpp
  void open_graph(const std::string& path);
  void open_tensor(const std::string& path);
  void open_sample();
  void toggle_recording();
  /// Asks where the recording shall go on.
  void ask_record_elsewhere();
  void save_session(const std::string& path);
  void take_choice(const FileDialog::Choice& choice);
  std::vector<RecentFile> recent_files() const;
  std::string dated_path(const char* stem, const char* suffix) const;
  void keep_notes(const std::vector<profiling::TimeNote>& notes);
  void save_csv(const CsvOrder& order);
  void ask_export(const RecordsOrder& order);
  void export_records(const std::string& chosen);
  void remember_folder(const std::string& path);
  // shell_actions.cpp
  void act_on_view(Action action);
  void close_front();
  /// Why the action cannot be had now; empty = it can.
  std::string refusal(Action action) const;
  std::string no_gpu() const;
  void undo(bool back);
  /// As if set in the rail, all at once.
  void show_request(const engine::RunRequest& request);
  std::vector<PaletteEntry> palette_entries();
  // shell_compare.cpp
  void carry_out_compare(const CommandSlots& commands);
  void open_second(const std::string& path);
  bool take_second();
  bool tick_batches();
  // shell_consent.cpp
  /// False = this person is asked first, and `then` follows a yes. Every order that names a library
  /// comes by here, wherever its request came from; `order` tells the orders apart.
  bool may_load(const std::string& library, const char* order, std::function<void()> then);
  const LibraryConsent::Question* library_question() const;
  void answer_library(bool yes);
  void note_libraries(const profiling::Session& session);
  void draw_library_question(const PanelContext& context);
  // shell_draw.cpp
  void draw_root(const PanelContext& context);
  void draw_rail(const PanelContext& context, float height);
  void draw_splitter(const PanelContext& context, float height);
  void draw_main(const PanelContext& context, float height);
  void draw_link_banner(const PanelContext& context);
  void draw_recorder_banner(const PanelContext& context);
  void draw_overlays(const PanelContext& context);
  void save_picture(int width, int height);
  void take_change(const engine::RunRequest& before);
  // shell_player.cpp
  void find_tours();
  void open_tour(const std::string& path);
  void begin_player(TourScript script);
  void end_player();
  bool tick_player();
  void begin_player_step();
  void show_player_step();
  engine::Result<engine::RunRequest> request_of_step(std::size_t index) const;
  void draw_player(const PanelContext& context);
  void act_on_tour(Action action);
  // shell_tour_keeper.cpp
  void draw_tour_keeper(const PanelContext& context);
  TourStep step_on_screen() const;
  void save_kept_tour();
  // shell_tour.cpp
  void begin_tour();
  void tick_tour();
  void begin_tour_step();
  void fail_tour(const std::string& why);
  void finish_tour();

  const WindowOptions options_;
  Settings settings_;
  std::function<void()> wake_;
  SessionState state_;
  LinkSupervisor link_;
  Notices notices_;  // before rail_, which may have to say that it found no presets
  ControlRail rail_;
  FileDialog files_;
  WriteQueue writes_;  // notes, tables, exports
  BackgroundTask<engine::Result<profiling::Session>> loader_;
  BackgroundTask<engine::Result<profiling::Session>> second_loader_;
  BatchDesk batches_;
  DoctorDesk doctor_;
  LibraryDesk libraries_;
  LibraryConsent consent_;
  std::optional<bool> library_answer_;  // given in the banner, carried out after the frame
  RecentFiles recent_;
  DoctorNews::Report report_to_export_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<Recorder> saver_;  // "Save": writes what is at hand, then ends
  std::optional<Tour> tour_;
  using FoundTour = engine::Result<NamedTour>;  // or why it cannot be played
  BackgroundTask<std::vector<FoundTour>> tour_finder_;
  std::vector<NamedTour> tours_;
  RunNames run_names_;
  BackgroundTask<engine::Result<TourScript>> tour_loader_;
  std::optional<TourPlayer> player_;
  std::optional<Action> tour_wish_;  // pressed in the caption panel, done after the frame
  int asked_graphs_view_ = -1;
  std::optional<AskedSelection> asked_selection_;
  TourKeeper tour_keeper_;
  AskedSelection seen_selection_;  // of the newest frame
  int seen_graphs_view_ = -1;
  std::unique_ptr<WorkspacePanel> panels_[4];
  ControlMap controls_;
  profiling::Distribution step_ns_;  // of the run on screen
  std::uint64_t step_generation_ = 0;

  RequestHistory history_;
  std::uint64_t gesture_ = 0;  // presses of the mouse so far: a drag is one step of the history
  CommandPalette palette_;
  std::function<void()> chosen_;  // in the palette, done after the frame
  std::string says_;              // in the status bar: what a key just did, or why it could not
  bool help_ = false;
  bool redraw_ = false;  // something was said after the frame that should have shown it
  bool screenshot_wanted_ = false;
  std::optional<PictureOrder> picture_;
  int picture_frames_ = 0;  // still to be drawn before it: the menu and the tooltip go first
  SessionState::Run run_to_export_;  // while the dialog asks where to
  RecordsOrder export_order_;
  PlotKeys asked_keys_;  // from the palette, for the next frame
  std::string screenshot_path_;
  std::string asked_inspection_;  // the file the present worker has been asked about
  std::string recording_path_;
  // An order of its own would supersede the run on its way: the comparison waits for it.
  std::optional<engine::ComparisonRequest> next_comparison_;
  engine::ComparisonRequest asked_comparison_;
  std::optional<engine::AmaxHistoryRequest> next_history_;  // likewise
  engine::AmaxHistoryRequest asked_history_;
  bool first_hello_ = true;
  bool run_at_hello_ = false;
  LinkStatus drawn_status_;
  DeviceWords drawn_device_;
  Recorder::Progress drawn_recording_;
  std::uint64_t frame_ = 0;
  int frames_while_timing_ = 0;  // of the run on its way
  std::optional<int> exit_code_;
};

}  // namespace app
