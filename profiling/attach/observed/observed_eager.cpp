// What kernels were launched with outside of captures.
#include "profiling/attach/observed/observed_process.h"

#include <span>

namespace profiling {
namespace {

constexpr std::size_t kMostOfKernel = 64;  // as the library writes at most

}  // namespace

void ObservedProcess::take_eager_launch(const SpoolFrame& frame) {
  spool::EagerLaunch launch{};
  if (!frame.read(launch) || eager_.size() >= kMaxEagerLaunches) return;
  const auto function = functions_.find(launch.function);
  const std::span<const std::byte> arguments = frame.after(sizeof launch, 0, launch.argument_bytes);
  if (function == functions_.end() || arguments.empty() || arguments.size() > kMaxParameterBytes)
    return;
  const std::uint64_t code = function->second.code;
  if (function->second.eager_launches >= kMostOfKernel) return;
  ++function->second.eager_launches;
  const auto extent = [](const spool::Extent& from) { return Extent{from.x, from.y, from.z}; };
  eager_.push_back({.code = code,
                    .grid = extent(launch.grid),
                    .block = extent(launch.block),
                    .dynamic_shared_bytes = launch.shared_bytes,
                    .parameters = {arguments.begin(), arguments.end()},
                    .first_seen = launch.first_seen,
                    .launches = launch.launches});
}

}  // namespace profiling
