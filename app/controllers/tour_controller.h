// Plays tours: to a person, who may step, pause and stop and gets everything back at the end, or to
// pictures, one of each step, where nobody is there and a step without its result is a failure. And
// the tour in the making, which a person puts together from what is on screen.
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

/// Where a tour is. A value; TourController does what the phase asks for.
class Tour {
 public:
  enum class Phase {
    Begin,  // the step is to be carried out
    Wait,   // its result is on its way
    Show,   // it can be read and looked at
    Done,   // past the last step
  };
  /// Seconds on any clock that goes on.
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
  void pause() { playing_ = false; }
  void back();
  void next();
  /// Past the last step too.
  void finish_step();

  /// For the run of this number, or for a recording (0).
  void wait_for(std::uint64_t run_id);
  void show(Seconds now, std::string trouble = {});
  /// Read long enough: goes to the next step, or rests at the last. True when something changed.
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
    DescribeRequest describe;
  };
  struct Named {
    std::string title;
    std::string path;
  };
  /// How a tour to pictures has ended.
  struct End {
    bool complete = false;
    std::string text;  // the path of its recording, or why it failed
  };

  TourController(const Parts& parts, const std::function<void()>& wake);

  /// Those that ship.
  void find_shipped();
  const std::vector<Named>& shipped() const { return shipped_; }

  /// To a person, as soon as it is read.
  void play(const std::string& path) {
    loader_.start([path, describe = parts_.describe] { return load_tour(path, describe); });
  }
  /// To pictures in `folder`, which belongs to the tour, and a recording of its runs beside them.
  void play_to_pictures(const std::string& path, const std::string& folder);

  /// Null while none is played.
  const Tour* tour() const { return tour_ ? &*tour_ : nullptr; }
  bool to_person() const { return tour_ && !pictures_; }
  bool to_pictures() const { return pictures_.has_value(); }
  void back() { tour_->back(); }
  void next() { tour_->next(); }
  void toggle() { tour_->toggle(); }
  /// Of a person's: what was on screen before comes back.
  void stop();
  /// The library that the step waits for was refused.
  void library_refused();
  void repeat_step();

  /// What the newest frame showed.
  void frame_drawn(const PageState& on_screen);
  /// The picture that the frame just drawn is to be written to.
  std::optional<std::string> wanted_picture() const;
  /// `problem` empty = it is there.
  void picture_written(const std::string& problem);
  std::optional<End> take_end() { return std::exchange(end_, std::nullopt); }

  /// A tour in the making.
  struct Draft {
    bool open = false;
    std::string words;  // of the step to come
    std::vector<TourStep> steps;
  };
  Draft draft;
  /// The step shows what is on screen.
  void add_step();
  void save_draft();
  void drop_draft() { draft = {}; }

  /// Goes on with the tour; true when there is something to draw.
  bool tick();
  /// What the pages are to show, in order, once.
  std::vector<Command> take_commands() { return std::exchange(commands_, {}); }

 private:
  using Clock = std::chrono::steady_clock;
  /// What the person had before the tour.
  struct Before {
    engine::RunRequest request;
    bool live = false;
    PageState page;
    std::string recording;  // that was open; empty = live
  };
  struct Pictures {
    std::string folder;
    Clock::time_point deadline;
    int frames = 0;  // drawn since the step's result is on screen
  };

  void begin(TourScript script);
  bool wait_for_result();
  void begin_step();
  void begin_run();
  void show_step();
  /// The step has no result: a person reads why, pictures end.
  void fail_step(const std::string& why);
  void fail(const std::string& why);
  void set_deadline(double seconds);
  std::string overdue() const;
  std::string picture_path() const;
  engine::Result<engine::RunRequest> request_of_step() const;

  const Parts parts_;
  BackgroundTask<engine::Result<TourScript>> loader_;
  std::vector<Named> shipped_;
  std::optional<Tour> tour_;
  std::optional<Pictures> pictures_;
  Before before_;
  PageState on_screen_;
  std::vector<Command> commands_;
  std::optional<End> end_;
};

}  // namespace app
