// Hazard 19: a capture in global mode forbids some calls to every thread of the process, not only
// to its own.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "profiling/hazards/rules/capture_errors.h"
#include "profiling/hazards/rules/rules.h"

namespace profiling {
namespace {

Finding finding_of(const GraphSnapshot& graph, const std::vector<const CaptureEvent*>& refused) {
  const CaptureEvent& first = *refused.front();
  Finding finding{
      .rule = "other-thread-in-capture",
      .hazard = 19,
      .confidence = graph.failure.code != 0 ? Confidence::Likely : Confidence::Possible};
  finding.title =
      fmt::format("{} of {} was refused because \"{}\" was under way{}", first.what,
                  first.other_thread, graph.name, graph.failure.code != 0 ? ", and broke it" : "");
  finding.explanation =
      "A capture in the global mode, which is the default, forbids calls that may allocate or wait "
      "to all threads of "
      "the process. The other thread gets an error for a call that is correct, and the capture is "
      "invalidated: the "
      "thread that captures reports an error that it did not cause.";
  constexpr std::size_t kShown = 8;
  for (std::size_t i = 0; i < refused.size() && i < kShown; ++i) {
    finding.evidence.push_back(fmt::format("{} by {}: error {}", refused[i]->what,
                                           refused[i]->other_thread, refused[i]->code));
  }
  if (refused.size() > kShown)
    finding.evidence.push_back(fmt::format("and {} more", refused.size() - kShown));
  if (graph.failure.code != 0) {
    finding.evidence.push_back("The capture ended with " + failure_text(graph.failure) + ".");
  }
  finding.fix = fix_of(finding.rule);
  finding.proof.words =
      "The refusal is the fault itself: the same call succeeds while nothing is captured.";
  finding.proof.needs_cure = false;
  return finding;
}

}  // namespace

bool refused_to_other_thread(const CaptureEvent& event) {
  return !event.other_thread.empty() && is_capture_error(event.code);
}

void find_other_threads(RuleContext& context, std::vector<Finding>& findings) {
  for (int g = 0; g < context.graphs(); ++g) {
    if (context.left_out(g)) continue;
    std::vector<const CaptureEvent*> refused;
    for (const CaptureEvent& event : context.graph(g).events) {
      if (refused_to_other_thread(event)) refused.push_back(&event);
    }
    if (!refused.empty()) findings.push_back(finding_of(context.graph(g), refused));
  }
}

}  // namespace profiling
