#include "engine/linear/iteration_conditions.h"

#include <chrono>
#include <thread>

namespace engine {

Result<IterationConditions> IterationConditions::create(const MeasureOptions& options) {
  IterationConditions conditions;
  conditions.rest_ = options.pace == Pace::Burst;
  if (options.cache == CacheMode::Warm) return conditions;
  int device = 0;
  int cache_bytes = 0;
  ENGINE_CUDA_TRY(cudaGetDevice(&device), "Reading the size of the L2 cache");
  ENGINE_CUDA_TRY(cudaDeviceGetAttribute(&cache_bytes, cudaDevAttrL2CacheSize, device),
                  "Reading the size of the L2 cache");
  Result<DeviceBuffer> flush =
      DeviceBuffer::allocate(std::int64_t{2} * cache_bytes, {AllocationRole::Check, "cache flush"});
  if (!flush.ok()) return flush.error();
  conditions.flush_ = std::move(flush).value();
  return conditions;
}

Status IterationConditions::before(cudaStream_t stream) const {
  if (rest_) {
    ENGINE_CUDA_TRY(cudaStreamSynchronize(stream), "Waiting for an iteration");
    std::this_thread::sleep_for(std::chrono::milliseconds(kBurstIdleMs));
  }
  if (!flush_) return {};
  return check_cuda(cudaMemsetAsync(flush_.data(), 0, flush_.bytes(), stream),
                    "Clearing the L2 cache");
}

}  // namespace engine
