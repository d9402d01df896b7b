// What each piece of a run's work is called where there is room for one name
// only: no two kernels of one operation have the same.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/step_tensors.h"
#include "profiling/trace/activity.h"

namespace profiling {

class WorkLabels {
 public:
  void add(std::string_view operation, std::string_view kernel);
  /// work_label(). Where other kernels were added for the operation as well, it
  /// also says which this one is, unless the operation is named like it:
  /// "permute X (routing map)".
  std::string label(std::string_view operation, std::string_view kernel) const;

 private:
  std::map<std::string, std::set<std::string>, std::less<>> kernels_;  // short names, by operation
};

/// A piece of work of a list that shows each by one name: a row of a heatmap, a box of a graph.
struct NamedWork {
  std::string operation;  // empty = not known
  std::string kernel;
};
/// The label of each, distinct from those of the others as above.
std::vector<std::string> labels_of(const std::vector<NamedWork>& list);

/// Of all records. Visits each of them.
WorkLabels work_labels(const Activity& activity, engine::StepKind step);

}  // namespace profiling
