// One expert of an amax history as series over its steps, and the grid of all experts. No ImGui
// calls.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/gui/plot/grid_fold.h"
#include "engine/model/amax_history.h"
#include "profiling/document/table.h"

namespace app {

/// Everything about one expert at one step.
struct HistoryPoint {
  std::int64_t rows = 0;
  double amax = 0.0;
  double history_amax = 0.0;
  double scale_used = 0.0;
  double scale_wanted = 0.0;  // NaN without tokens
  std::uint64_t saturated = 0;
  std::uint64_t underflowed = 0;
  double snr_db = 0.0;  // NaN without tokens
  std::uint64_t left_out = 0;
};

class HistoryModel {
 public:
  using History = std::shared_ptr<const engine::AmaxHistory>;
  void set(History history);

  const History& history() const { return history_; }
  std::uint64_t generation() const { return generation_; }
  HistoryPoint at(int step, int expert) const;
  /// Rows of the ring after the step's cast, row 0 first.
  std::vector<double> ring(int step, int expert) const;
  using Figure = std::vector<float> engine::AmaxHistory::*;
  /// log2 of a figure over the steps of an expert; NaN if there is none.
  std::vector<double> log2_of(Figure figure, int expert) const;
  /// [experts, steps] SNR in dB; NaN = no tokens.
  const plot::Grid& snr() const { return snr_; }
  profiling::Table list() const;

 private:
  History history_;
  std::uint64_t generation_ = 0;
  plot::Grid snr_;
};

/// The order that results from the view's own settings and the rail's request: settings that a
/// history does not use (launch, layers, weights) are at their defaults, so that changing them
/// triggers nothing.
engine::AmaxHistoryRequest history_order(const engine::AmaxHistoryRequest& settings,
                                         const engine::RunRequest& rail);

}  // namespace app
