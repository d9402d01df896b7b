// Checksum of each group's bits on the CPU: a wrapping sum, so any order gives the same result.
#include "kernels/common/element_run.h"
#include "kernels/diagnostics/row_tasks.h"
#include "kernels/diagnostics/statistics.h"

namespace kernels {

namespace {

constexpr std::int64_t kElementsPerTask = 1 << 16;

KERNELS_VECTOR_CLONES
std::uint64_t span_checksum(const std::uint16_t* values, std::uint64_t first_index,
                            std::uint64_t count) {
  std::uint64_t sum = 0;
  for (std::uint64_t i = 0; i < count; ++i) sum += checksum_term(first_index + i, values[i]);
  return sum;
}

}  // namespace

void group_checksum_cpu(const GroupChecksumArgs& args) {
  const std::vector<RowTask> tasks =
      row_tasks(args.row_offsets, args.num_groups, args.columns, kElementsPerTask);
#pragma omp parallel for schedule(dynamic)
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const RowTask& task = tasks[t];
    const std::int64_t first = (args.row_offsets[task.group] + task.first_row) * args.columns;
    const std::uint64_t sum =
        span_checksum(static_cast<const std::uint16_t*>(args.values) + first,
                      static_cast<std::uint64_t>(task.first_row * args.columns),
                      static_cast<std::uint64_t>((task.last_row - task.first_row) * args.columns));
#pragma omp atomic
    args.checksums[task.group] += sum;
  }
}

}  // namespace kernels
