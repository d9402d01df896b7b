#include "kernels/dequantize/narrow.h"

#include <algorithm>

#include "kernels/common/element_run.h"

namespace kernels {

void narrow_cpu(const NarrowArgs& args) {
  constexpr std::int64_t kRun = std::int64_t{1} << 14;
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < args.count; first += kRun) {
    round_run(args.input + first, std::min(kRun, args.count - first), args.type, args.output,
              first);
  }
}

}  // namespace kernels
