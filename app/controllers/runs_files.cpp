// Files that the request takes its operands or its routing from, one or a dump of several: asked
// about by the worker, then the request is fitted to what it found.
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "app/controllers/operand_file.h"
#include "app/controllers/runs_controller.h"
#include "engine/model/path_text.h"
#include "engine/model/projections.h"

namespace app {
namespace {

// Beyond any number of presses of the mouse: an opened file is an undo step of its own.
constexpr std::uint64_t kFirstOpening = std::uint64_t{1} << 63;

std::string file_name(const std::string& path) {
  return engine::shown_path(std::filesystem::path(path).filename().string());
}

}  // namespace

void RunsController::use_tensor(const UseTensor& file) {
  state.last_error.clear();
  const std::uint64_t gesture = kFirstOpening + openings_++;
  engine::RunRequest request = state.requested;
  const engine::InputSpec before =
      std::exchange(input_of(request, file.operand), engine::FileInput{file.path, {}});
  history_.changed(state.requested, request, gesture);
  state.requested = std::move(request);
  notices_.set_status(
      fmt::format("{} gives the values of {}{}", file_name(file.path), operand_name(file.operand),
                  no_worker_ ? "; this window has no worker that could read it" : ""));
  if (no_worker_) return;
  opening_ = {.file = file, .before = before, .gesture = gesture};
}

void RunsController::use_dump(const std::vector<DumpPart>& parts) {
  state.last_error.clear();
  if (no_worker_) {
    return notices_.set_status("This window has no worker that could read the files");
  }
  opening_.reset();
  dump_.emplace(parts_for(parts, state.requested));
  dump_asked_ = false;
  notices_.set_status("Reading the headers of " + dump_words(dump_->parts()));
}

void RunsController::take_dump() {
  const DumpReading dump = *std::exchange(dump_, std::nullopt);
  auto request = dump.fitted(state.requested);
  if (!request.ok()) {
    state.last_error = request.error().message;
    notices_.set_status("");
    return;
  }
  history_.changed(state.requested, request.value(), kFirstOpening + openings_++);
  state.requested = std::move(request).value();
  notices_.set_status(dump_words(dump.parts()) + " come from the dump; Ctrl+Z takes them back");
  run_if_live();
}

void RunsController::fit_to(const FileReport& report) {
  Opening opening = *std::exchange(opening_, std::nullopt);
  const auto* file =
      std::get_if<engine::FileInput>(&input_of(state.requested, opening.file.operand));
  // Chosen otherwise meanwhile.
  if (file == nullptr || file->path != report.path) return run_if_live();
  auto request = fitted(opening, report);
  if (!request.ok()) {
    state.last_error = request.error().message;
    if (opening.file.opened && !report.error.empty()) unreadable_ = report.path;
    return;
  }
  const engine::RunRequest before = std::exchange(state.requested, std::move(request).value());
  history_.changed(before, state.requested, opening.gesture);
  engine::RunRequest resized = before;
  resized.shape = state.requested.shape;
  resized.shape.preset = before.shape.preset;
  const std::string change = request_difference(before, resized);
  const bool routes = state.requested.routing != before.routing;
  notices_.set_status(fmt::format(
      "{} gives {}{}", file_name(report.path),
      routes
          ? fmt::format("the routing{}", report.routing ? " (" + report.routing->source + ")" : "")
          : fmt::format("the values of {}", operand_name(opening.file.operand)),
      change.empty() ? "" : ": " + change));
  if (opening.run) return submit();
  run_if_live();
}

engine::Result<engine::RunRequest> RunsController::fitted_to_operand(
    Opening& opening, const FileReport& report) const {
  auto as_meant = fitted_to_file(state.requested, opening.file.operand, report);
  if (as_meant.ok() || !opening.file.opened || !report.error.empty()) return as_meant;
  // Nobody chose the operand: a file of weights is more than a file that is not X.
  for (const RequestOperand other : {RequestOperand::W, RequestOperand::WDown}) {
    if (other == RequestOperand::WDown && !engine::is_expert_layer(state.requested)) continue;
    engine::RunRequest request = state.requested;
    input_of(request, opening.file.operand) = opening.before;
    input_of(request, other) = engine::FileInput{report.path, {}};
    auto fits = fitted_to_file(std::move(request), other, report);
    if (!fits.ok() || !engine::validate(fits.value()).ok()) continue;
    opening.file.operand = other;
    return fits;
  }
  return as_meant;
}

engine::Result<engine::RunRequest> RunsController::fitted(Opening& opening,
                                                          const FileReport& report) const {
  if (!opening.file.opened || !(report.routing || holds_integers(report))) {
    return fitted_to_operand(opening, report);
  }
  engine::RunRequest request = state.requested;
  input_of(request, opening.file.operand) = opening.before;
  request.routing = {.distribution = engine::RoutingDistribution::File, .path = report.path};
  // A recording that needs another choice, of its layer say, is one too: its run says which.
  if (!report.routing) return request;
  return engine::fitted_to_routing(std::move(request), *report.routing);
}

void RunsController::inspect_file(const FileQuestion& question) {
  if (question.folder) return link.inspect_file(question);
  // One question can wait; the rail repeats its own until it is answered.
  if (question == asked_inspection_ || !link.hello() || dump_) return;
  asked_inspection_ = question;
  link.inspect_file(question);
}

void RunsController::take(FileReport&& report) {
  if (report.superseded) return;  // the answer to the newer question is on its way
  if (report.listing) return file_reports_.push_back(std::move(report));
  if (asked_inspection_ == FileQuestion{report.path, report.asked}) asked_inspection_.reset();
  if (opening_ && opening_->file.path == report.path && !report.asked) fit_to(report);
  if (dump_ && dump_->take(report)) {
    dump_asked_ = false;
    if (!dump_->next()) take_dump();
  }
  file_reports_.push_back(std::move(report));
}

}  // namespace app
