#include "profiling/hazards/proofs/stall_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "engine/device/check.h"
#include "kernels/diagnostics/delay.h"

namespace profiling {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kTriggerBytes = 1U << 20;  // a short write may not trigger
constexpr std::chrono::milliseconds kPause{50};
constexpr int kQuietPauses = 10;  // after this many pauses without growth the file is complete

/// Empty, or why the driver could not be triggered.
std::string trigger(const char* pipe) {
  const int descriptor = ::open(pipe, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) {
    return fmt::format("the driver's trigger {} cannot be opened: {}", pipe, std::strerror(errno));
  }
  const std::vector<char> bytes(kTriggerBytes, '1');
  std::size_t written = 0;
  const Clock::time_point until = Clock::now() + std::chrono::seconds(2);
  while (written < bytes.size() && Clock::now() < until) {
    const ssize_t count = ::write(descriptor, bytes.data() + written, bytes.size() - written);
    if (count > 0) {
      written += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN || errno == EINTR) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      break;  // the driver has closed its end: it has been triggered
    }
  }
  ::close(descriptor);
  return written > 0 ? std::string() : "the driver did not read its trigger";
}

}  // namespace

CoreDump take_core_dump(double seconds) {
  const char* pipe = std::getenv("CUDA_COREDUMP_PIPE");
  const char* file = std::getenv("CUDA_COREDUMP_FILE");
  if (pipe == nullptr || file == nullptr) return {};
  if (std::string refused = trigger(pipe); !refused.empty())
    return {.path = {}, .missing = refused};
  const Clock::time_point until = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                     std::chrono::duration<double>(seconds));
  std::uintmax_t size = 0;
  int quiet = 0;
  while (Clock::now() < until && quiet < kQuietPauses) {
    std::this_thread::sleep_for(kPause);
    std::error_code error;
    const std::uintmax_t now = std::filesystem::file_size(file, error);
    quiet = !error && now > 0 && now == size ? quiet + 1 : 0;
    if (!error) size = now;
  }
  if (quiet < kQuietPauses) {
    return {.path = {}, .missing = fmt::format("no complete core dump after {:.0f} s", seconds)};
  }
  return {.path = file, .missing = {}};
}

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
