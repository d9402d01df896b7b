// Hazards 14 to 16 as far as the capture itself shows them: streams that were not joined, kernels
// that were loaded and calls that waited during the capture.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiling/hazards/rules/capture_errors.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

using Kind = CaptureEvent::Kind;

constexpr int kUnsupported = 900;
constexpr int kInvalidated = 901;
constexpr int kUnjoined = 904;
constexpr int kImplicit = 906;

bool breaks_by_call(int code) {
  return code == kUnsupported || code == kInvalidated || code == kImplicit;
}

std::vector<const CaptureEvent*> events_of(const GraphSnapshot& graph, Kind kind) {
  std::vector<const CaptureEvent*> events;
  for (const CaptureEvent& event : graph.events) {
    if (event.kind == kind && !refused_to_other_thread(event)) events.push_back(&event);
  }
  return events;
}

void add_evidence(Finding& finding, const GraphSnapshot& graph,
                  const std::vector<const CaptureEvent*>& events, const char* what) {
  constexpr std::size_t kShown = 8;
  if (graph.failure.code != 0) {
    finding.evidence.push_back("The capture ended with " + failure_text(graph.failure) + ".");
  }
  for (std::size_t i = 0; i < events.size() && i < kShown; ++i) {
    finding.evidence.push_back(
        events[i]->what.empty() ? std::string(what) : fmt::format("{}: {}", what, events[i]->what));
  }
  if (events.size() > kShown) {
    finding.evidence.push_back(fmt::format("and {} more", events.size() - kShown));
  }
}

void unjoined(const GraphSnapshot& graph, std::vector<Finding>& findings) {
  if (graph.failure.code != kUnjoined) return;
  Finding finding{.rule = "unjoined-capture", .hazard = 14, .confidence = Confidence::Likely};
  finding.title = fmt::format(
      "A stream that was forked into the capture of \"{}\" was never joined to it", graph.name);
  finding.explanation =
      "Work on a second stream became part of the capture because that stream waited for an event "
      "of the first. When the capture ended, nothing of the first stream waited for the second, so "
      "CUDA cannot tell when the graph is done and refuses it.";
  finding.missing_order = "no path from the forked stream's last node to the end of the capture";
  add_evidence(finding, graph, {}, "");
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "The capture is repeated in a separate process: a refusal is sufficient proof.";
  finding.proof.needs_cure = false;
  findings.push_back(std::move(finding));
}

void lazy_load(const GraphSnapshot& graph, std::vector<Finding>& findings) {
  const std::vector<const CaptureEvent*> loads = events_of(graph, Kind::LazyLoad);
  if (loads.empty()) return;
  const bool failed = breaks_by_call(graph.failure.code);
  Finding finding{.rule = "lazy-load",
                  .hazard = 15,
                  .confidence = failed ? Confidence::Likely : Confidence::Possible};
  finding.title =
      fmt::format("{} loaded while \"{}\" was captured",
                  loads.size() == 1 ? "A kernel was" : fmt::format("{} kernels were", loads.size()),
                  graph.name);
  finding.explanation =
      "CUDA loads a kernel at its first launch by default. Loading may allocate memory and wait "
      "for the device, which a capture does not allow: depending on the driver, on what else runs "
      "and on how much is loaded, the capture breaks or the host hangs in it.";
  add_evidence(finding, graph, loads, "Loaded during the capture");
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "The capture is repeated unchanged in a new process, and in another one that loads all "
      "kernels first.";
  finding.proof.cures.eager_loading = true;
  if (!failed) {
    // Nothing to replay: the experiment must show that a kernel is loaded during the capture.
    finding.proof.shows.replays = finding.proof.cures.replays = 0;
    finding.proof.words +=
        " Neither is replayed; module loading is watched, and the finding is proved if the driver "
        "loads in the first capture and not in the second.";
  }
  findings.push_back(std::move(finding));
}

void sync_in_capture(const GraphSnapshot& graph, std::vector<Finding>& findings) {
  const std::vector<const CaptureEvent*> waits = events_of(graph, Kind::HostSync);
  const bool failed = breaks_by_call(graph.failure.code);
  if (waits.empty() && !failed) return;
  // Another thread's call explains the failure (other_threads.cpp).
  if (waits.empty() && std::ranges::any_of(graph.events, refused_to_other_thread)) return;
  // A load also explains the failure.
  const bool explained = waits.empty() && !events_of(graph, Kind::LazyLoad).empty();
  Finding finding{.rule = "sync-in-capture",
                  .hazard = 16,
                  .confidence = failed && !explained ? Confidence::Likely : Confidence::Possible};
  finding.title = failed ? fmt::format("A call broke the capture of \"{}\": {}", graph.name,
                                       failure_text(graph.failure))
                         : fmt::format("The host waited while \"{}\" was captured", graph.name);
  finding.explanation =
      "Under capture nothing runs, so a call that waits for the device, or that must change memory "
      "at once, cannot do its work. CUDA refuses it, and the whole capture with it.";
  add_evidence(finding, graph, waits, "The host waited");
  for (const CaptureEvent* event : events_of(graph, Kind::Allocation)) {
    finding.evidence.push_back("Memory was allocated during the capture: " + event->what);
  }
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "The capture is repeated in a separate process: a refusal is sufficient proof.";
  finding.proof.needs_cure = false;
  findings.push_back(std::move(finding));
}

}  // namespace

std::string failure_text(const CaptureFailure& failure) {
  std::string text = failure.name.empty() ? fmt::format("error {}", failure.code)
                                          : fmt::format("{} ({})", failure.name, failure.code);
  if (!failure.call.empty()) text += fmt::format(" at {}", failure.call);
  return text;
}

void find_capture_mistakes(RuleContext& context, std::vector<Finding>& findings) {
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    unjoined(context.graph(g), findings);
    lazy_load(context.graph(g), findings);
    sync_in_capture(context.graph(g), findings);
  }
}

}  // namespace profiling
