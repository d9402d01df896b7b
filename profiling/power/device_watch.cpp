#include "profiling/power/device_watch.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace profiling {
namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMaxProcesses = 64;
// A device that is always busy but below this share of its power limit probably runs waiting loops.
constexpr unsigned kAlwaysBusyPercent = 95;
constexpr double kLowPowerShare = 0.4;

/// Queries one device, from one thread.
class Reader {
 public:
  /// Empty, or why there is no answer.
  std::string open(const std::string& library, const std::string& pci_bus_id) {
    const engine::Status opened = nvml_.open(pci_bus_id, library);
    if (!opened.ok()) return opened.error().message;
    watch_errors();
    return {};
  }
  ~Reader() {
    if (errors_ != nullptr) (void)nvml_.call.event_set_free(errors_);
  }

  std::string read() {
    std::vector<std::string> answers;
    const int busy = add_utilisation(answers);
    add_clock(answers);
    add_power(answers, busy);
    add_processes(answers);
    add_errors(answers);
    return answers.empty() ? "nothing reported by this driver"
                           : fmt::format("{}", fmt::join(answers, ", "));
  }

 private:
  void watch_errors() {
    if (nvml_.call.event_set_create == nullptr || nvml_.call.register_events == nullptr ||
        nvml_.call.event_set_wait == nullptr || nvml_.call.event_set_free == nullptr) {
      return;
    }
    if (nvml_.call.event_set_create(&errors_) != 0) errors_ = nullptr;
    if (errors_ == nullptr || nvml_.call.register_events(nvml_.device, kNvmlEventXid, errors_) == 0)
      return;
    (void)nvml_.call.event_set_free(errors_);
    errors_ = nullptr;
  }

  int add_utilisation(std::vector<std::string>& answers) const {
    NvmlUtilisation share;
    if (nvml_.call.utilisation == nullptr || nvml_.call.utilisation(nvml_.device, &share) != 0)
      return -1;
    answers.push_back(fmt::format("busy {} % of the time", share.gpu));
    return static_cast<int>(share.gpu);
  }

  void add_clock(std::vector<std::string>& answers) const {
    unsigned mhz = 0;
    if (nvml_.call.clock(nvml_.device, kNvmlClockSm, &mhz) != 0) return;
    answers.push_back(fmt::format("SM clock {} MHz", mhz));
  }

  void add_power(std::vector<std::string>& answers, int busy) const {
    unsigned milliwatts = 0;
    if (nvml_.call.power_usage(nvml_.device, &milliwatts) != 0) return;
    unsigned limit = 0;
    const bool limited =
        nvml_.call.power_limit != nullptr && nvml_.call.power_limit(nvml_.device, &limit) == 0;
    std::string text = fmt::format("{:.0f} W", milliwatts / 1e3);
    if (limited) text += fmt::format(" of {:.0f} W", limit / 1e3);
    if (limited && busy >= static_cast<int>(kAlwaysBusyPercent) &&
        milliwatts < kLowPowerShare * limit) {
      text += " (always busy at low power: kernels that wait in a loop look like this)";
    }
    answers.push_back(std::move(text));
  }

  void add_processes(std::vector<std::string>& answers) const {
    if (nvml_.call.compute_processes == nullptr) return;
    std::vector<NvmlProcess> processes(kMaxProcesses);
    unsigned count = kMaxProcesses;
    if (nvml_.call.compute_processes(nvml_.device, &count, processes.data()) != 0) return;
    answers.push_back(
        fmt::format("{} {} on the device", count, count == 1 ? "process" : "processes"));
  }

  void add_errors(std::vector<std::string>& answers) {
    NvmlEvent event;
    while (errors_ != nullptr && nvml_.call.event_set_wait(errors_, &event, 0) == 0) {
      xids_.push_back(event.data);
    }
    if (!xids_.empty()) answers.push_back(fmt::format("Xid {}", fmt::join(xids_, ", ")));
  }

  OpenNvml nvml_;
  NvmlEventSet errors_ = nullptr;
  std::vector<unsigned long long> xids_;  // since the watch started
};

}  // namespace

struct DeviceWatch::Shared : NvmlThread::Shared {
  Options options;
  Answer answer;        // the latest
  std::string missing;  // why there is none
};

DeviceWatch::DeviceWatch(const Options& options) : shared_(std::make_shared<Shared>()) {
  shared_->options = options;
  thread_.emplace(shared_, [shared = shared_] { read_until_stopped(*shared); });
}

DeviceWatch::~DeviceWatch() = default;

std::string DeviceWatch::wait_for_answer(std::chrono::milliseconds limit) const {
  {
    std::unique_lock lock(shared_->mutex);
    shared_->changed.wait_for(
        lock, limit, [this] { return !shared_->missing.empty() || !shared_->answer.text.empty(); });
  }
  return latest();
}

std::string DeviceWatch::latest() const {
  const std::lock_guard lock(shared_->mutex);
  if (!shared_->missing.empty()) return "NVML is unavailable: " + shared_->missing;
  if (shared_->answer.text.empty()) return "NVML has not answered yet";
  const double age = std::chrono::duration<double>(Clock::now() - shared_->answer.at).count();
  return fmt::format("NVML, {:.1f} s ago: {}", age, shared_->answer.text);
}

void DeviceWatch::read_until_stopped(Shared& shared) {
  Reader reader;
  std::string missing = reader.open(shared.options.library, shared.options.pci_bus_id);
  std::unique_lock lock(shared.mutex);
  shared.missing = std::move(missing);
  shared.changed.notify_all();
  while (!shared.stop && shared.missing.empty()) {
    lock.unlock();
    Answer answer{.text = reader.read(), .at = Clock::now()};
    lock.lock();
    shared.answer = std::move(answer);
    shared.changed.notify_all();
    shared.changed.wait_for(lock, shared.options.period, [&] { return shared.stop; });
  }
}

}  // namespace profiling
