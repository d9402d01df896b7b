// Amax histories. Arrays that the window indexes together must fit here.
#include <utility>

#include "app/protocol/convert.h"
#include "app/protocol/convert_parts.h"
#include "app/protocol/field_check.h"

namespace app {

wire::AmaxHistoryRequest to_wire(const engine::AmaxHistoryRequest& request) {
  wire::AmaxHistoryRequest out;
  *out.mutable_request() = to_wire(request.request);
  out.set_tokens(request.tokens);
  out.set_steps(request.steps);
  out.set_outlier_step(request.outlier_step);
  out.set_outlier_expert(request.outlier_expert);
  out.set_outlier_factor(request.outlier_factor);
  for (const engine::IdleExpert& idle : request.idle) {
    wire::IdleExpert& one = *out.add_idle();
    one.set_step(idle.step);
    one.set_expert(idle.expert);
  }
  return out;
}

engine::Result<engine::AmaxHistoryRequest> from_wire(const wire::AmaxHistoryRequest& message) {
  engine::Result<engine::RunRequest> run = from_wire(message.request());
  if (!run.ok()) return run.error();
  engine::AmaxHistoryRequest request{.request = std::move(run).value(),
                                     .tokens = message.tokens(),
                                     .steps = message.steps(),
                                     .outlier_step = message.outlier_step(),
                                     .outlier_expert = message.outlier_expert(),
                                     .outlier_factor = message.outlier_factor()};
  for (const wire::IdleExpert& idle : message.idle()) {
    request.idle.push_back({.step = idle.step(), .expert = idle.expert()});
  }
  return request;
}

wire::AmaxHistory to_wire(const engine::AmaxHistory& history) {
  wire::AmaxHistory out;
  out.set_id(history.id);
  *out.mutable_request() = to_wire(history.request);
  out.set_steps(history.steps);
  out.set_experts(history.experts);
  out.mutable_rows()->Add(history.rows.begin(), history.rows.end());
  out.mutable_amax()->Add(history.amax.begin(), history.amax.end());
  out.mutable_history_amax()->Add(history.history_amax.begin(), history.history_amax.end());
  out.mutable_scale_used()->Add(history.scale_used.begin(), history.scale_used.end());
  out.mutable_scale_wanted()->Add(history.scale_wanted.begin(), history.scale_wanted.end());
  out.mutable_saturated()->Add(history.saturated.begin(), history.saturated.end());
  out.mutable_underflowed()->Add(history.underflowed.begin(), history.underflowed.end());
  out.mutable_snr_db()->Add(history.snr_db.begin(), history.snr_db.end());
  out.set_ring_rows(history.ring_rows);
  out.mutable_ring()->Add(history.ring.begin(), history.ring.end());
  out.set_wall_ns(history.wall_ns);
  return out;
}

engine::Result<engine::AmaxHistory> from_wire(const wire::AmaxHistory& message) {
  FieldCheck check;
  engine::Result<engine::AmaxHistoryRequest> request = from_wire(message.request());
  if (!request.ok()) return request.error();
  const bool sane = message.steps() >= 0 && message.steps() <= engine::kMaxHistorySteps &&
                    message.experts() >= 0 && message.experts() <= engine::kMaxExperts &&
                    message.ring_rows() >= 0 && message.ring_rows() <= engine::kMaxHistorySteps;
  check.require(sane, "history has more steps, experts or rows than its limits");
  const std::int64_t cells = sane ? std::int64_t{message.steps()} * message.experts() : 0;
  for (const std::int64_t size :
       {message.rows_size(), message.amax_size(), message.history_amax_size(),
        message.scale_used_size(), message.scale_wanted_size(), message.saturated_size(),
        message.underflowed_size(), message.snr_db_size()}) {
    check.require(size == cells, "history does not hold steps * experts values");
  }
  check.require(message.ring_size() == cells * message.ring_rows(),
                "history does not hold steps * ring_rows * experts values");
  return check.result(
      engine::AmaxHistory{.id = message.id(),
                          .request = std::move(request).value(),
                          .steps = message.steps(),
                          .experts = message.experts(),
                          .rows = to_vector<std::int64_t>(message.rows()),
                          .amax = to_vector<float>(message.amax()),
                          .history_amax = to_vector<float>(message.history_amax()),
                          .scale_used = to_vector<float>(message.scale_used()),
                          .scale_wanted = to_vector<float>(message.scale_wanted()),
                          .saturated = to_vector<std::uint64_t>(message.saturated()),
                          .underflowed = to_vector<std::uint64_t>(message.underflowed()),
                          .snr_db = to_vector<double>(message.snr_db()),
                          .ring_rows = message.ring_rows(),
                          .ring = to_vector<float>(message.ring()),
                          .wall_ns = message.wall_ns()});
}

}  // namespace app
