// The rail's measurement settings: how iterations follow each other, what is traced, and what is
// measured besides them.
#include "app/gui/controls/widgets.h"
#include "app/gui/shell/control_rail.h"
#include "app/gui/shell/request_choices.h"

namespace app {

void ControlRail::draw_measure(engine::RunRequest& request) {
  section("Measure");
  engine::MeasureOptions& measure = request.measure;
  const bool cuda = engine::runs_on_cuda(request.backend);
  constexpr const char* kCudaOnly =
      "The CPU backend keeps its spans of every expert: choose a cuBLASLt backend under Engine";
  row_label("Trace");
  int trace = static_cast<int>(measure.trace);
  if (controls::segmented(*context_, "measure.trace", trace, choices::trace_levels(),
                          {.enabled = cuda,
                           .reason = kCudaOnly,
                           .tooltip = "CUPTI records every node, one record a graph launch, or "
                                      "nothing. A graph is instantiated for the level it is "
                                      "replayed under"})) {
    measure.trace = static_cast<engine::TraceLevel>(trace);
  }
  std::int64_t traced = measure.traced_iterations;
  if (drag("measure.traced_iterations", "Traced", traced, 0, engine::kMaxIterations, 1000,
           "Only so many of the timed iterations are traced, the first ones")) {
    measure.traced_iterations = static_cast<int>(traced);
  }
  error_under("measure.traced_iterations");
  row_label("Caches");
  int cache = static_cast<int>(measure.cache);
  if (controls::segmented(*context_, "measure.cache", cache, choices::cache_modes(),
                          {.tooltip = "Warm: as the iteration before leaves them. Cold: twice the "
                                      "last cache is written between iterations"})) {
    measure.cache = static_cast<engine::CacheMode>(cache);
  }
  row_label("Pace");
  int pace = static_cast<int>(measure.pace);
  if (controls::segmented(*context_, "measure.pace", pace, choices::paces(),
                          {.tooltip = "Sustained: back to back, the clock settles where power "
                                      "allows. Burst: 50 ms of rest before each iteration"})) {
    measure.pace = static_cast<engine::Pace>(pace);
  }
  const auto option = [&](const char* tooltip) {
    return controls::Options{.enabled = cuda, .reason = kCudaOnly, .tooltip = tooltip};
  };
  const auto beside = [&] { ImGui::SameLine(0, context_->theme.px(kGapSection)); };
  controls::checkbox(*context_, "measure.isolated", "Isolated experts", measure.isolated,
                     option("Times every expert alone on the device, a stage at a time"));
  beside();
  controls::checkbox(*context_, "measure.stamps", "Stamps", measure.stamps,
                     option("Tiles of the quantize kernels write down when they ran"));
  controls::checkbox(*context_, "measure.ceilings", "Ceilings", measure.ceilings,
                     {.tooltip = "A copy and a dense product of this size: the roofs of the "
                                 "roofline"});
  beside();
  controls::checkbox(*context_, "measure.observer", "Observer", measure.observer,
                     option("The same step untraced, with graph records and with node records, by "
                            "turns: what does watching cost"));
}

}  // namespace app
