// A tour in the making: a person adds what is on screen as a step - workspace, view, run, and what
// is selected in it - gives it words, and saves the steps as a file that TourPlayer plays.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/shell/tour.h"
#include "app/gui/view.h"

namespace app {

class TourKeeper {
 public:
  /// Its bar is drawn from now on.
  void open() { open_ = true; }
  bool is_open() const { return open_; }
  /// Drops the steps.
  void close();
  std::size_t size() const { return steps_.size(); }

  /// The step shows what `seen` says; its words are those of the bar.
  void add(TourStep seen);
  /// The file: what load_tour() reads.
  std::string text() const;

  enum class Wish { None, Add, Save, Close };
  Wish draw(const PanelContext& context);

 private:
  bool open_ = false;
  std::string words_;
  std::vector<TourStep> steps_;
};

}  // namespace app
