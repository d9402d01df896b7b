// One update of delayed scaling, in place.
#include "kernels/amax/delayed_scaling.h"
#include "tests/numerics/quantize/dump/recipes.h"

namespace quantize_dump {

void dump_delayed(const Case& test) {
  auto history = test.values<float>("history");
  auto scale = test.values<float>("scale");
  const auto reduced = test.values<float>("reduced");
  std::vector<float> scale_inv = float_buffer(static_cast<std::int64_t>(scale.size()));
  const float noop = test.number("noop");
  kernels::delayed_scaling_update_cpu({.history = history.data(),
                                       .length = static_cast<int>(history.size() / scale.size()),
                                       .num_groups = static_cast<int>(scale.size()),
                                       .algorithm = test.text("algorithm") == "max"
                                                        ? kernels::AmaxAlgorithm::Max
                                                        : kernels::AmaxAlgorithm::MostRecent,
                                       .margin = static_cast<int>(test.integer("margin")),
                                       .format = test.format(),
                                       .pow2 = test.flag("pow2"),
                                       .reduced_amax = reduced.empty() ? nullptr : reduced.data(),
                                       .scale = scale.data(),
                                       .scale_inv = scale_inv.data(),
                                       .noop = test.has("noop") ? &noop : nullptr});
  test.write("history_after", history);
  test.write("scale_after", scale);
  test.write("scale_inv", scale_inv);
}

}  // namespace quantize_dump
