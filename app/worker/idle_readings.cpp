#include "app/worker/idle_readings.h"

#include "profiling/power/power_sampler.h"

namespace app {
struct IdleReadings::Shared : profiling::NvmlThread::Shared {
  Shared(const engine::RunProgress& of, const Options& with) : progress(of), options(with) {}

  // An abandoned thread outlives it: read under the lock, and not after `stop` is set.
  const engine::RunProgress& progress;
  const Options options;
  bool watched = false;
  std::optional<std::string> device;  // not known yet
  std::string missing;
  std::optional<profiling::PowerTrace> latest;

  bool idle() const { return watched && progress.request_id == 0; }
};

IdleReadings::IdleReadings(const engine::RunProgress& progress, const Options& options)
    : shared_(std::make_shared<Shared>(progress, options)) {
  thread_.emplace(shared_, [shared = shared_] { read_until_stopped(*shared); });
}

IdleReadings::~IdleReadings() = default;

void IdleReadings::set_device(const std::string& pci_bus_id, const std::string& missing) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->device = pci_bus_id;
    shared_->missing = missing;
  }
  shared_->changed.notify_all();
}

void IdleReadings::watch(bool on) {
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->watched = on;
    shared_->latest.reset();  // an earlier reading does not describe the present
  }
  shared_->changed.notify_all();
}

std::optional<profiling::PowerTrace> IdleReadings::latest() const {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->idle()) return std::nullopt;
  if (!shared_->missing.empty()) {
    return profiling::PowerTrace{.method = {}, .missing = shared_->missing, .samples = {}};
  }
  return shared_->latest;
}

void IdleReadings::read_until_stopped(Shared& shared) {
  std::optional<profiling::PowerReader> reader;  // opened when the window first watches
  std::unique_lock lock(shared.mutex);
  while (!shared.stop) {
    if (!shared.device || !shared.missing.empty() || !shared.watched) {
      shared.changed.wait(lock);
      continue;
    }
    if (!shared.idle()) {
      // A reading from before the order does not describe the state after it.
      shared.latest.reset();
    } else {
      const std::string device = *shared.device;
      lock.unlock();
      if (!reader) reader.emplace(device, shared.options.library);
      profiling::PowerTrace read{
          .method = reader->power_method(), .missing = reader->reason(), .samples = {}};
      if (read.missing.empty()) read.samples.push_back(reader->read());
      for (profiling::PowerSample& sample : read.samples) sample.time_ns = 0;
      lock.lock();
      if (!read.missing.empty()) shared.missing = read.missing;
      if (!shared.stop && shared.idle()) shared.latest = std::move(read);
    }
    shared.changed.wait_for(lock, shared.options.period, [&] { return shared.stop; });
  }
}

}  // namespace app
