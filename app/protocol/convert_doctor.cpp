#include "app/protocol/convert_doctor.h"

#include <utility>

#include "app/protocol/convert.h"
#include "app/protocol/convert_parts.h"
#include "app/protocol/field_check.h"
#include "app/protocol/utf8.h"

namespace app {
namespace {

using profiling::NodeRef;

wire::NodeRef wire_ref(const NodeRef& ref) {
  wire::NodeRef out;
  out.set_graph(ref.graph);
  out.set_node(ref.node);
  return out;
}

NodeRef read_ref(const wire::NodeRef& message) {
  return {.graph = message.graph(), .node = message.node()};
}

wire::Experiment wire_experiment(const profiling::Experiment& experiment) {
  wire::Experiment out;
  out.set_graph(experiment.graph);
  out.set_replays(experiment.replays);
  for (const profiling::MovedMemory& moved : experiment.moved) {
    wire::MovedMemory& added = *out.add_moved();
    *added.mutable_node() = wire_ref(moved.node);
    added.set_owner(wire_text(moved.owner));
  }
  for (const profiling::FilledMemory& filled : experiment.filled) {
    wire::FilledMemory& added = *out.add_filled();
    added.set_owner(wire_text(filled.owner));
    added.set_value(filled.value);
  }
  out.set_poisoned_workspaces(experiment.poisoned_workspaces);
  out.set_red_zones(experiment.red_zones);
  out.set_changed_inputs(experiment.changed_inputs);
  out.set_recaptured(experiment.recaptured);
  out.set_scribbled_host(experiment.scribbled_host);
  out.set_moved_inputs(experiment.moved_inputs);
  out.set_patched_host(experiment.patched_host);
  for (const NodeRef& node : experiment.delayed) *out.add_delayed() = wire_ref(node);
  for (const auto& [first, second] : experiment.ordered) {
    wire::OrderedNodes& added = *out.add_ordered();
    *added.mutable_first() = wire_ref(first);
    *added.mutable_second() = wire_ref(second);
  }
  out.set_free_on_launch(experiment.free_on_launch);
  out.set_eager_loading(experiment.eager_loading);
  out.set_markers(experiment.markers);
  out.set_deadline_seconds(experiment.deadline_seconds);
  return out;
}

profiling::Experiment read_experiment(const wire::Experiment& message, FieldCheck& check) {
  profiling::Experiment experiment{.graph = message.graph(),
                                   .replays = message.replays(),
                                   .moved = {},
                                   .filled = {},
                                   .poisoned_workspaces = message.poisoned_workspaces(),
                                   .red_zones = message.red_zones(),
                                   .changed_inputs = message.changed_inputs(),
                                   .recaptured = message.recaptured(),
                                   .scribbled_host = message.scribbled_host(),
                                   .moved_inputs = message.moved_inputs(),
                                   .patched_host = message.patched_host(),
                                   .delayed = {},
                                   .ordered = {},
                                   .free_on_launch = message.free_on_launch(),
                                   .eager_loading = message.eager_loading(),
                                   .markers = message.markers(),
                                   .deadline_seconds = message.deadline_seconds()};
  for (const wire::MovedMemory& moved : message.moved()) {
    experiment.moved.push_back({.node = read_ref(moved.node()), .owner = moved.owner()});
  }
  for (const wire::FilledMemory& filled : message.filled()) {
    profiling::FilledMemory& added = experiment.filled.emplace_back();
    added.owner = filled.owner();
    check.integer(added.value, filled.value(), "experiment.filled.value");
  }
  for (const wire::NodeRef& node : message.delayed()) experiment.delayed.push_back(read_ref(node));
  for (const wire::OrderedNodes& pair : message.ordered()) {
    experiment.ordered.emplace_back(read_ref(pair.first()), read_ref(pair.second()));
  }
  return experiment;
}

wire::Outcome wire_outcome(const profiling::Outcome& outcome) {
  wire::Outcome out;
  out.set_verdict(as_number(outcome.verdict));
  out.set_message(wire_text(outcome.message));
  for (const profiling::OutputCheck& row : outcome.checks) {
    wire::OutputCheck& added = *out.add_checks();
    added.set_replay(row.replay);
    added.set_output(wire_text(row.output));
    added.set_parts(row.parts);
    added.mutable_wrong_parts()->Add(row.wrong_parts.begin(), row.wrong_parts.end());
  }
  for (const profiling::Stall& stall : outcome.stall) {
    wire::Stall& added = *out.add_stall();
    added.set_replay(stall.replay);
    added.set_graph(stall.graph);
    added.set_waited_seconds(stall.waited_seconds);
    added.set_deadline_seconds(stall.deadline_seconds);
    added.set_nodes(wire_states(stall.nodes));
    added.set_last_finished(stall.last_finished);
    added.set_kind(as_number(stall.kind));
    added.set_evidence(wire_text(stall.evidence));
    added.set_core_dump(wire_text(stall.core_dump));
    added.set_p99_seconds(stall.p99_seconds);
  }
  out.set_seconds(outcome.seconds);
  out.mutable_replay_us()->Add(outcome.replay_us.begin(), outcome.replay_us.end());
  if (outcome.marker_cost.samples > 0) {
    wire::MarkerCost& cost = *out.mutable_marker_cost();
    cost.set_samples(outcome.marker_cost.samples);
    cost.set_with_us(outcome.marker_cost.with_us);
    cost.set_without_us(outcome.marker_cost.without_us);
  }
  return out;
}

profiling::Outcome read_outcome(const wire::Outcome& message, FieldCheck& check) {
  profiling::Outcome outcome{.message = message.message(),
                             .checks = {},
                             .stall = {},
                             .seconds = message.seconds(),
                             .replay_us = {message.replay_us().begin(), message.replay_us().end()},
                             .marker_cost = {.samples = message.marker_cost().samples(),
                                             .with_us = message.marker_cost().with_us(),
                                             .without_us = message.marker_cost().without_us()}};
  check.require(outcome.marker_cost.samples >= 0, "marker_cost.samples is below 0");
  number(check, outcome.verdict, message.verdict(), profiling::Verdict::NotRun, "verdict");
  for (const wire::OutputCheck& row : message.checks()) {
    outcome.checks.push_back({.replay = row.replay(),
                              .output = row.output(),
                              .parts = row.parts(),
                              .wrong_parts = {row.wrong_parts().begin(), row.wrong_parts().end()}});
  }
  for (const wire::Stall& stall : message.stall()) {
    profiling::Stall& added = outcome.stall.emplace_back();
    added.replay = stall.replay();
    added.graph = stall.graph();
    added.waited_seconds = stall.waited_seconds();
    added.deadline_seconds = stall.deadline_seconds();
    added.nodes = read_states(stall.nodes(), check);
    added.last_finished = stall.last_finished();
    number(check, added.kind, stall.kind(), profiling::StallKind::Unknown, "stall.kind");
    added.evidence = stall.evidence();
    added.core_dump = stall.core_dump();
    added.p99_seconds = stall.p99_seconds();
  }
  return outcome;
}

}  // namespace

std::string wire_states(const std::vector<profiling::NodeState>& states) {
  std::string bytes(states.size(), '\0');
  for (std::size_t i = 0; i < states.size(); ++i) bytes[i] = static_cast<char>(states[i]);
  return bytes;
}

std::vector<profiling::NodeState> read_states(const std::string& bytes, FieldCheck& check) {
  std::vector<profiling::NodeState> states(bytes.size());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    number(check, states[i], static_cast<unsigned char>(bytes[i]), profiling::NodeState::Unmarked,
           "board");
  }
  return states;
}
wire::DoctorCommand to_wire(const DoctorOrder& order) {
  wire::DoctorCommand out;
  *out.mutable_request() = to_wire(order.request);
  out.set_gallery_case(wire_text(order.gallery_case));
  out.set_healthy(order.healthy);
  *out.mutable_experiment() = wire_experiment(order.experiment);
  return out;
}

engine::Result<DoctorOrder> from_wire(const wire::DoctorCommand& message) {
  engine::Result<engine::RunRequest> request = from_wire(message.request());
  if (!request.ok()) return request.error();
  FieldCheck check;
  DoctorOrder order{.request = std::move(request).value(),
                    .gallery_case = message.gallery_case(),
                    .healthy = message.healthy(),
                    .experiment = read_experiment(message.experiment(), check)};
  return check.result(std::move(order));
}

wire::DoctorReply to_wire(const DoctorDone& done) {
  wire::DoctorReply out;
  out.set_id(done.id);
  *out.mutable_snapshot() = to_wire(done.snapshot);
  *out.mutable_outcome() = wire_outcome(done.outcome);
  return out;
}

engine::Result<DoctorDone> from_wire(const wire::DoctorReply& message) {
  engine::Result<profiling::Snapshot> snapshot = from_wire(message.snapshot());
  if (!snapshot.ok()) return snapshot.error();
  FieldCheck check;
  DoctorDone done{.id = message.id(),
                  .snapshot = std::move(snapshot).value(),
                  .outcome = read_outcome(message.outcome(), check)};
  return check.result(std::move(done));
}

}  // namespace app
