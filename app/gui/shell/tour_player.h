// A tour played to a person: plays by itself or step by step, and remembers what was on screen
// before it, which comes back at the end. A value; the shell does what its phase asks for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "app/gui/shell/tour.h"

namespace app {

class TourPlayer {
 public:
  enum class Phase {
    Begin,  // the step is to be carried out
    Wait,   // its result is on its way
    Show,   // it can be read and looked at
  };
  /// What the person had before the tour.
  struct Own {
    engine::RunRequest request;
    bool live = false;
    bool recipes = false;
    Workspace workspace = Workspace::Performance;
    std::string recording;  // open before; empty = live
  };

  TourPlayer(TourScript script, Own own) : script_(std::move(script)), own_(std::move(own)) {}

  const TourScript& script() const { return script_; }
  const Own& own() const { return own_; }
  std::size_t index() const { return index_; }
  const TourStep& step() const { return script_.steps[index_]; }
  Phase phase() const { return phase_; }
  bool playing() const { return playing_; }
  const std::string& trouble() const { return trouble_; }  // why the step has no result

  void toggle() { playing_ = !playing_; }
  /// False at the ends.
  bool back() { return index_ > 0 && go(index_ - 1); }
  bool next() { return index_ + 1 < script_.steps.size() && go(index_ + 1); }

  void waits_for(std::uint64_t run_id) {
    awaited_run_ = run_id;
    phase_ = Phase::Wait;
  }
  std::uint64_t awaited_run() const { return awaited_run_; }
  void shown(double now, std::string trouble = {}) {
    phase_ = Phase::Show;
    shown_at_ = now;
    trouble_ = std::move(trouble);
  }
  /// Played long enough: the next step, or a rest at the last. True when something changed.
  bool advance(double now) {
    if (!playing_ || phase_ != Phase::Show) return false;
    if (now - shown_at_ < reading_seconds(step())) return false;
    if (!next()) playing_ = false;
    return true;
  }

 private:
  bool go(std::size_t index) {
    index_ = index;
    phase_ = Phase::Begin;
    trouble_.clear();
    return true;
  }

  TourScript script_;
  Own own_;
  std::size_t index_ = 0;
  Phase phase_ = Phase::Begin;
  bool playing_ = true;
  std::uint64_t awaited_run_ = 0;
  double shown_at_ = 0;
  std::string trouble_;
};

}  // namespace app
