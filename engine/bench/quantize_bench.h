// The quantize benchmark: on every shape, all cases are interleaved, so that clock changes and
// other load affect all of them equally, including the copy that they are compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/bench/rounds.h"
#include "engine/model/bench_order.h"
#include "engine/model/error.h"
#include "engine/observe/step_observer.h"
#include "kernels/activation/activate.h"
#include "kernels/amax/group_amax.h"
#include "kernels/offsets/splits_to_offsets.h"
#include "kernels/quantize/quantize_block.h"
#include "kernels/quantize/quantize_mxfp8.h"
#include "kernels/quantize/quantize_nvfp4.h"
#include "kernels/quantize/quantize_per_tensor.h"

namespace engine {

struct CopyCall {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::int64_t bytes = 0;
};
struct BlockCall {
  kernels::QuantizeBlockArgs args;
  bool square = false;  // one scale per 128 x 128 elements instead of 1 x 128
};
/// A kernel and what it is launched with: a grouped kernel on a device, its twin on the CPU.
using KernelCall =
    std::variant<CopyCall, kernels::SplitsToOffsetsArgs, kernels::ActivateArgs,
                 kernels::GroupAmaxArgs, kernels::PerTensorScaleArgs,
                 kernels::QuantizePerTensorArgs, BlockCall, kernels::QuantizeMxfp8Args,
                 kernels::Nvfp4AmaxArgs, kernels::QuantizeNvfp4Args>;
/// A kernel, or a few that belong together.
using Launch = std::vector<KernelCall>;

// What a benchmark runs on: memory, kernels and a clock. Cases are written once against this and
// measured on a device or on the CPU.

class BenchTarget {
 public:
  virtual ~BenchTarget() = default;

  /// 256-byte aligned, zeroed; lives until release_all().
  virtual Result<std::byte*> allocate(std::int64_t bytes) = 0;
  virtual void release_all() = 0;
  /// Returns when `to` holds the bytes.
  virtual Status upload(std::byte* to, const void* from, std::int64_t bytes) = 0;
  /// Enqueues it on a device.
  virtual Status run(const KernelCall& call) = 0;

  Status run_all(const Launch& launch) {
    for (const KernelCall& call : launch) ENGINE_TRY(run(call));
    return {};
  }
  /// Mean microseconds of `launches` launches back to back, after one untimed launch.
  virtual Result<double> time_us(const Launch& launch, int launches) = 0;
  /// Number of launches per time.
  virtual int launches_per_time() const = 0;
  /// "CUDA events around ...": how times are taken.
  virtual std::string time_method() const = 0;
  /// In NVML's format; empty on the CPU.
  virtual std::string pci_bus_id() const = 0;
  /// "CUDA runtime 13.0"; empty on the CPU.
  virtual std::string runtime() const = 0;
  /// CPU threads that share a launch; 0 on a device.
  virtual int threads() const = 0;
};

// The CPU twins as a benchmark's target.

std::unique_ptr<BenchTarget> make_cpu_bench_target();

// The current CUDA device as a benchmark's target. CUDA flavour only.

Result<std::unique_ptr<BenchTarget>> make_cuda_bench_target();

struct MeasuredRow {
  BenchRow row;
  std::vector<MeasuredSpan> spans;  // one per round
};

/// All rows of a shape, once it is measured. An error ends the benchmark.
using ReportRows = std::function<Status(const std::vector<MeasuredRow>&)>;

/// The order has passed validate(). Cancelled when progress.cancel was seen: rows already reported
/// stay valid.
Status run_quantize_bench(BenchTarget& target, const BenchOrder& order, RunProgress& progress,
                          const ReportRows& report);

}  // namespace engine
