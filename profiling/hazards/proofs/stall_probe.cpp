#include "profiling/hazards/proofs/stall_probe.h"

#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "engine/device/check.h"
#include "kernels/diagnostics/delay.h"

namespace profiling {

namespace {

using engine::wait_for;
using engine::Waited;
using Clock = std::chrono::steady_clock;

constexpr double kProbeSeconds = 0.3;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

int last_done(const std::vector<NodeState>& nodes) {
  const auto last = std::find(nodes.rbegin(), nodes.rend(), NodeState::Done);
  return static_cast<int>(nodes.rend() - last) - 1;
}

engine::Result<Probe> Probe::create() {
  Probe probe;
  for (engine::Stream* stream : {&probe.kernel_stream_, &probe.copy_stream_}) {
    ENGINE_ASSIGN(engine::Stream made, engine::make_stream());
    *stream = std::move(made);
  }
  for (engine::Event* event : {&probe.done_, &probe.copied_}) {
    ENGINE_ASSIGN(engine::Event made, engine::make_order_event());
    *event = std::move(made);
  }
  const engine::AllocationLabel label{engine::AllocationRole::Check, "probe"};
  ENGINE_ASSIGN(probe.source_, engine::DeviceBuffer::allocate(4, label));
  ENGINE_CUDA_TRY(
      cudaMemsetAsync(probe.source_.data(), 0, probe.source_.bytes(), probe.copy_stream_.get()),
      "Clearing the probe's memory");
  ENGINE_ASSIGN(probe.target_, engine::PinnedBuffer::allocate(4, label));
  // Loading a kernel may wait for the device: load it before anything is stuck.
  for (const engine::Result<Waited>& tried : {probe.try_kernel(), probe.try_copy()}) {
    if (!tried.ok()) return tried.error();
  }
  return probe;
}

engine::Result<Waited> Probe::try_kernel() const {
  ENGINE_CUDA_TRY(kernels::launch_nothing(kernel_stream_.get()), "Launching the probe");
  ENGINE_CUDA_TRY(cudaEventRecord(done_.get(), kernel_stream_.get()), "Launching the probe");
  return wait_for(done_.get(), kProbeSeconds, [] { return false; });
}

engine::Result<Waited> Probe::try_copy() const {
  ENGINE_CUDA_TRY(cudaMemcpyAsync(target_.as<void>(), source_.data(), 4, cudaMemcpyDeviceToHost,
                                  copy_stream_.get()),
                  "Copying next to the graph");
  ENGINE_CUDA_TRY(cudaEventRecord(copied_.get(), copy_stream_.get()), "Copying next to the graph");
  return wait_for(copied_.get(), kProbeSeconds, [] { return false; });
}

void Probe::explain(Stall& stall, const std::function<std::string()>& device) const {
  stall.last_finished = last_done(stall.nodes);
  stall.kind = triage(stall.nodes, stall.evidence);
  if (const std::string says = device(); !says.empty()) stall.evidence += "; " + says;
}

StallKind Probe::triage(const std::vector<NodeState>& nodes, std::string& evidence) const {
  const Clock::time_point start = Clock::now();
  const engine::Result<Waited> kernel = try_kernel();
  const double kernel_ms = 1e3 * seconds_since(start);
  const engine::Result<Waited> copy = try_copy();
  if (!kernel.ok() || !copy.ok()) {
    evidence = "neither a probe kernel nor a copy on another stream could be launched";
    return StallKind::Unknown;
  }
  const bool kernel_runs =
      nodes.empty() || std::find(nodes.begin(), nodes.end(), NodeState::Running) != nodes.end();
  if (kernel.value() == Waited::Done) {
    evidence = fmt::format(
        "a probe kernel on another stream finished in {:.1f} ms, so the device accepts work; {}",
        kernel_ms,
        kernel_runs ? "this graph's stream makes no progress"
                    : "no kernel of this graph is unfinished");
    return kernel_runs ? StallKind::KernelSpins : StallKind::NothingRuns;
  }
  if (copy.value() == Waited::Done) {
    evidence = fmt::format(
        "a copy on another stream finished, a probe kernel did not within {:.1f} s: a kernel "
        "occupies every multiprocessor",
        kProbeSeconds);
    return StallKind::KernelSpins;
  }
  evidence =
      fmt::format("neither a probe kernel nor a copy on another stream finished within {:.1f} s",
                  kProbeSeconds);
  return StallKind::Unknown;
}

}  // namespace profiling
