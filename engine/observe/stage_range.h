// The step's work as NVTX ranges of the calling thread, so that any profiler shows the stages by
// name. Without a profiler a range costs one comparison.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/observe/step_observer.h"

namespace engine {

/// The NVTX domain of all ranges.
inline constexpr const char* kRangeDomain = "Expertscope";

/// "fprop, layer 0" or "fprop, layer 0, expert 3"; "iteration 12".
std::string range_name(const WorkTag& tag);
std::string range_name(int iteration);

/// Parses the name of a range; empty for a name that range_name() did not make.
struct RangePlace {
  WorkTag tag;
  int iteration = -1;
};
std::optional<RangePlace> range_place(std::string_view name);

/// Open from construction to destruction, on the thread that made it.
class StageRange {
 public:
  explicit StageRange(const WorkTag& tag);
  explicit StageRange(int iteration);
  ~StageRange();
  StageRange(const StageRange&) = delete;
  StageRange& operator=(const StageRange&) = delete;

 private:
  bool open_ = false;
};

}  // namespace engine
