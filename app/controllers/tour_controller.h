// Plays tours: for a user, who can step, pause and stop and finds the previous state restored at
// the end; or unattended, with one picture per step, where a step without a result is a failure.
// Also the draft of a new tour, which a user puts together from what is on screen.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/controllers/background.h"
#include "app/controllers/commands.h"
#include "app/controllers/files_controller.h"
#include "app/controllers/library_controller.h"
#include "app/controllers/notices.h"
#include "app/controllers/runs_controller.h"
#include "app/controllers/tour_script.h"

namespace app {

/// The position in a tour. A value; TourController acts on its phase.
class Tour {
 public:
  enum class Phase {
    Begin,  // the step is about to start
    Wait,   // for its result
    Show,   // its result is on screen
    Done,   // past the last step
  };
  /// Seconds on any steady clock.
  using Seconds = double;

  explicit Tour(TourScript script) : script_(std::move(script)) {}

  const TourScript& script() const { return script_; }
  std::size_t index() const { return index_; }
  const TourStep& step() const { return script_.steps[index_]; }
  Phase phase() const { return phase_; }
  bool playing() const { return playing_; }
  const std::string& trouble() const { return trouble_; }  // why the step has no result
  std::uint64_t awaited_run() const { return awaited_run_; }

  bool at_first() const { return index_ == 0; }
  bool at_last() const { return index_ + 1 == script_.steps.size(); }
  void toggle() { playing_ = !playing_; }
  void play() { playing_ = true; }
  void pause() { playing_ = false; }
  void back();
  void next();
  /// As next(); after the last step the tour is done.
  void finish_step();

  /// For the run with this id, or for a recording (0).
  void wait_for(std::uint64_t run_id);
  /// A step in trouble pauses the tour: its caption is about something that is not on screen.
  void show(Seconds now, std::string trouble = {});
  /// After the time to read the caption: goes to the next step, or pauses at the last. True =
  /// changed.
  bool advance(Seconds now);

 private:
  void go(std::size_t index);

  TourScript script_;
  std::size_t index_ = 0;
  Phase phase_ = Phase::Begin;
  bool playing_ = true;
  std::uint64_t awaited_run_ = 0;
  Seconds shown_at_ = 0;
  std::string trouble_;
};

class TourController {
 public:
  /// All of them outlive it.
  struct Parts {
    RunsController& runs;
    FilesController& files;
    LibraryController& libraries;
    Notices& notices;
    const std::vector<engine::ShapePreset>& presets;
  };
  struct Named {
    std::string title;
    std::string path;
  };
  /// How an unattended tour ended.
  struct End {
    bool complete = false;
    std::string text;  // the path of its recording, or why it failed
  };

  /// What was there before a tour.
  struct Before {
    engine::RunRequest request;
    bool live = false;
    PageState page;
    int expert = -1;
    std::string recording;  // on screen before; empty = live
    std::string open;       // in the list before, on screen or not
  };

  TourController(const Parts& parts, const std::function<void()>& wake);

  /// Reads the tours in the assets, on a thread: their disk may be slow.
  void find_shipped();
  const std::vector<Named>& shipped() const { return shipped_; }

  /// Plays it for the user as soon as a thread has read it.
  void play(const std::string& path) {
    loading_ = path;
    loader_.start([path] { return load_tour(path); });
  }
  /// Unattended, as soon as it is read; writes one picture per step, a page of them all
  /// (tour.html) and a recording of the runs to `folder`.
  void play_to_pictures(const std::string& path, const std::string& folder);

  /// Null = none is playing.
  const Tour* tour() const { return tour_ ? &*tour_ : nullptr; }
  bool to_user() const { return tour_ && !pictures_; }
  /// What stop() restores; null = no tour to the user is playing.
  const Before* before() const { return to_user() ? &before_ : nullptr; }
  bool to_pictures() const { return pictures_.has_value(); }
  void back() { tour_->back(); }
  void next() { tour_->next(); }
  /// Pauses, goes on, or tries again a step that is in trouble.
  void toggle();
  /// Where the user is after a tour.
  enum class After { Restored, MyRuns };
  /// Ends a tour to the user and restores what was on screen before, or shows the window's own runs
  /// if a recording was.
  void stop(After after = After::Restored);
  /// The library that the step waits for was refused.
  void library_refused();
  void repeat_step();

  /// `on_screen` is what the newest frame showed.
  void frame_drawn(const PageState& on_screen);
  /// Path for a picture of the frame just drawn; nullopt = none is due.
  std::optional<std::string> wanted_picture() const;
  /// `problem` empty = success.
  void picture_written(const std::string& problem);
  std::optional<End> take_end() { return std::exchange(end_, std::nullopt); }

  /// The draft of a new tour.
  struct Draft {
    bool open = false;
    std::string words;  // caption of the next step
    std::vector<TourStep> steps;
  };
  Draft draft;
  /// The step shows what is on screen.
  void add_step();
  void save_draft();
  void drop_draft() { draft = {}; }

  /// Advances the tour; true when there is something to draw.
  bool tick();
  /// What the pages should show, in order; returned once.
  std::vector<Command> take_commands() { return std::exchange(commands_, {}); }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pictures {
    std::string recording;
    std::string folder;
    Clock::time_point deadline{};
    int frames = 0;  // drawn with the step's result on screen
  };

  void take_script(engine::Result<TourScript> script);
  void begin(TourScript script);
  bool wait_for_result();
  void begin_step();
  void begin_run();
  void show_step();
  /// The step has no result: the window shows the user why, an unattended tour ends.
  void fail_step(const std::string& why);
  void fail(const std::string& why);
  void set_deadline(double seconds);
  std::string overdue() const;
  std::string picture_path(std::size_t index) const;
  /// All pictures and captions as one page.
  engine::Status write_page() const;
  bool run_was_replaced() const;

  const Parts parts_;
  using Found = engine::Result<Named>;  // or why it cannot be played
  BackgroundTask<std::vector<Found>> finder_;
  BackgroundTask<engine::Result<TourScript>> loader_;
  std::string loading_;  // for the user
  std::vector<Named> shipped_;
  std::optional<Tour> tour_;
  std::optional<Pictures> pictures_;
  Before before_;
  PageState on_screen_;
  SessionState::Run run_of_step_;  // on screen when the step was shown
  std::vector<Command> commands_;
  std::optional<End> end_;
};

}  // namespace app
