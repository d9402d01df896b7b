#include "app/gui/panels/history_model.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "profiling/document/run_tables.h"
#include "profiling/trace/statistics.h"

namespace app {
void HistoryModel::set(History history) {
  history_ = std::move(history);
  ++generation_;
  snr_ = {.rows = history_->experts, .columns = history_->steps, .values = {}};
  for (int expert = 0; expert < history_->experts; ++expert) {
    for (int step = 0; step < history_->steps; ++step) {
      const double snr =
          history_->snr_db[static_cast<std::size_t>(step * history_->experts + expert)];
      snr_.values.push_back(std::isfinite(snr) ? static_cast<float>(snr)
                                               : std::numeric_limits<float>::quiet_NaN());
    }
  }
}

HistoryPoint HistoryModel::at(int step, int expert) const {
  const auto i = static_cast<std::size_t>(step * history_->experts + expert);
  return {.rows = history_->rows[i],
          .amax = static_cast<double>(history_->amax[i]),
          .history_amax = static_cast<double>(history_->history_amax[i]),
          .scale_used = static_cast<double>(history_->scale_used[i]),
          .scale_wanted = static_cast<double>(history_->scale_wanted[i]),
          .saturated = history_->saturated[i],
          .underflowed = history_->underflowed[i],
          .snr_db = history_->snr_db[i],
          .left_out = history_->left_out[i]};
}

std::vector<double> HistoryModel::ring(int step, int expert) const {
  std::vector<double> rows;
  for (int row = 0; row < history_->ring_rows; ++row) {
    const std::int64_t i =
        (std::int64_t{step} * history_->ring_rows + row) * history_->experts + expert;
    rows.push_back(static_cast<double>(history_->ring[static_cast<std::size_t>(i)]));
  }
  return rows;
}

std::vector<double> HistoryModel::log2_of(Figure figure, int expert) const {
  std::vector<double> series;
  for (int step = 0; step < history_->steps; ++step) {
    const float value =
        (*history_.*figure)[static_cast<std::size_t>(step * history_->experts + expert)];
    series.push_back(value > 0.0F && std::isfinite(value) ? std::log2(static_cast<double>(value))
                                                          : profiling::kNaN);
  }
  return series;
}

profiling::Table HistoryModel::list() const { return profiling::history_table(*history_); }

engine::AmaxHistoryRequest history_order(const engine::AmaxHistoryRequest& settings,
                                         const engine::RunRequest& rail) {
  engine::AmaxHistoryRequest order = settings;
  order.request = engine::RunRequest{};
  order.request.shape = rail.shape;
  order.request.routing = rail.routing;
  order.request.activations = rail.activations;
  order.request.seed = rail.seed;
  order.request.recipe.scaling = engine::Scaling::PerTensorDelayed;
  order.request.recipe.activation_format = rail.recipe.activation_format;
  order.request.recipe.pow2_scales = rail.recipe.pow2_scales;
  order.request.recipe.delayed = settings.request.recipe.delayed;
  // A step of millions of tokens gives the same answer much later.
  constexpr std::int64_t kFirstTokens = 4096;
  if (order.tokens == 0) order.tokens = std::min(kFirstTokens, rail.shape.rows);
  order.tokens = std::min(order.tokens, std::max<std::int64_t>(rail.shape.rows, 1));
  const int experts = rail.shape.num_experts;
  order.outlier_step = std::min(order.outlier_step, order.steps - 1);
  order.outlier_expert = std::clamp(order.outlier_expert, 0, std::max(experts - 1, 0));
  std::erase_if(order.idle, [&](const engine::IdleExpert& idle) {
    return idle.step >= order.steps || idle.expert >= experts;
  });
  return order;
}

}  // namespace app
