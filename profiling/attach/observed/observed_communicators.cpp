// NCCL's communicators: which captures use them, and when they end.
#include "profiling/attach/observed/observed_process.h"

#include <fmt/format.h>
#include <algorithm>
#include <string_view>

namespace profiling {
namespace {

constexpr std::size_t kMostCommunicators = 1 << 16;
constexpr std::size_t kMostOpen = 4096;

std::string_view name_of(spool::CommunicatorEnd by) {
  return by == spool::CommunicatorEnd::Destroy ? "ncclCommDestroy"
         : by == spool::CommunicatorEnd::Abort ? "ncclCommAbort"
                                               : "ncclCommFinalize";
}

/// One that has ended keeps its end: a later communicator may have the same handle.
void end(CapturedCommunicator& one, std::uint64_t position, std::string_view call) {
  if (one.ended_at != 0) return;
  one.ended_at = position;
  one.ended_by = call;
}

}  // namespace

const std::string& ObservedProcess::communicator_name(std::uint64_t handle) {
  std::string& name = communicators_[handle];
  if (name.empty()) name = fmt::format("communicator {}", ++communicators_made_);
  return name;
}

void ObservedProcess::take_communicator(const SpoolFrame& frame) {
  spool::Communicator made{};
  if (!frame.read(made) || communicators_.size() >= kMostCommunicators) return;
  communicators_.erase(made.communicator);  // one that ended unseen
  std::string name = communicator_name(made.communicator);
  if (made.ranks > 0) name += fmt::format(" (rank {} of {})", made.rank, made.ranks);
  communicators_[made.communicator] = std::move(name);
}

void ObservedProcess::take_communicator_captured(const SpoolFrame& frame) {
  spool::CommunicatorCaptured captured{};
  if (!frame.read(captured) || communicators_.size() >= kMostCommunicators) return;
  if (open_communicators_.size() >= kMostOpen && !open_communicators_.contains(captured.graph))
    open_communicators_.clear();  // mostly of captures that failed
  std::vector<ObservedCommunicator>& used = open_communicators_[captured.graph];
  const auto known = std::ranges::find_if(used, [&](const ObservedCommunicator& one) {
    return one.handle == captured.communicator && one.shown.ended_at == 0;
  });
  if (known != used.end()) {
    known->last_used = frame.position;
  } else if (used.size() < kMaxCapturedCommunicators) {
    used.push_back({.handle = captured.communicator,
                    .last_used = frame.position,
                    .shown = {.name = communicator_name(captured.communicator)}});
  }
}

void ObservedProcess::take_communicator_ended(const SpoolFrame& frame) {
  spool::CommunicatorEnded ended{};
  if (!frame.read(ended)) return;
  const std::string_view call = name_of(ended.by);
  const auto end_in = [&](std::vector<ObservedCommunicator>& used) {
    for (ObservedCommunicator& one : used) {
      if (one.handle == ended.communicator) end(one.shown, frame.position, call);
    }
  };
  for (auto& [graph, used] : open_communicators_) end_in(used);
  for (auto& [graph, capture] : captures_) end_in(capture.communicators);
  for (auto& [number, graph] : graphs_) {
    for (std::size_t at = 0; at < graph.communicators.size(); ++at) {
      if (graph.communicators[at] == ended.communicator)
        end(graph.graph.communicators[at], frame.position, call);
    }
  }
  if (ended.by != spool::CommunicatorEnd::Finalize) communicators_.erase(ended.communicator);
}

}  // namespace profiling
