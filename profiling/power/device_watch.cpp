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
    engine::Result<NvmlLibrary> loaded = load_nvml(library);
    if (!loaded.ok()) return loaded.error().message;
    nvml_ = loaded.value();
    if (const NvmlReturn failed = nvml_.init(); failed != 0) {
      return nvml_.error(failed, "Starting NVML").message;
    }
    open_ = true;
    const NvmlReturn found = nvml_.device_by_pci_bus_id(pci_bus_id.c_str(), &device_);
    if (found != 0) return nvml_.error(found, "Finding the device in NVML").message;
    watch_errors();
    return {};
  }
  ~Reader() {
    if (errors_ != nullptr) (void)nvml_.event_set_free(errors_);
    if (open_) (void)nvml_.shutdown();
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
    if (nvml_.event_set_create == nullptr || nvml_.register_events == nullptr ||
        nvml_.event_set_wait == nullptr || nvml_.event_set_free == nullptr) {
      return;
    }
    if (nvml_.event_set_create(&errors_) != 0) errors_ = nullptr;
    if (errors_ == nullptr || nvml_.register_events(device_, kNvmlEventXid, errors_) == 0) return;
    (void)nvml_.event_set_free(errors_);
    errors_ = nullptr;
  }

  int add_utilisation(std::vector<std::string>& answers) const {
    NvmlUtilisation share;
    if (nvml_.utilisation == nullptr || nvml_.utilisation(device_, &share) != 0) return -1;
    answers.push_back(fmt::format("busy {} % of the time", share.gpu));
    return static_cast<int>(share.gpu);
  }

  void add_clock(std::vector<std::string>& answers) const {
    unsigned mhz = 0;
    if (nvml_.clock(device_, kNvmlClockSm, &mhz) != 0) return;
    answers.push_back(fmt::format("SM clock {} MHz", mhz));
  }

  void add_power(std::vector<std::string>& answers, int busy) const {
    unsigned milliwatts = 0;
    if (nvml_.power_usage(device_, &milliwatts) != 0) return;
    unsigned limit = 0;
    const bool limited = nvml_.power_limit != nullptr && nvml_.power_limit(device_, &limit) == 0;
    std::string text = fmt::format("{:.0f} W", milliwatts / 1e3);
    if (limited) text += fmt::format(" of {:.0f} W", limit / 1e3);
    if (limited && busy >= static_cast<int>(kAlwaysBusyPercent) &&
        milliwatts < kLowPowerShare * limit) {
      text += " (always busy at low power: kernels that wait in a loop look like this)";
    }
    answers.push_back(std::move(text));
  }

  void add_processes(std::vector<std::string>& answers) const {
    if (nvml_.compute_processes == nullptr) return;
    std::vector<NvmlProcess> processes(kMaxProcesses);
    unsigned count = kMaxProcesses;
    if (nvml_.compute_processes(device_, &count, processes.data()) != 0) return;
    answers.push_back(
        fmt::format("{} {} on the device", count, count == 1 ? "process" : "processes"));
  }

  void add_errors(std::vector<std::string>& answers) {
    NvmlEvent event;
    while (errors_ != nullptr && nvml_.event_set_wait(errors_, &event, 0) == 0) {
      xids_.push_back(event.data);
    }
    if (!xids_.empty()) answers.push_back(fmt::format("Xid {}", fmt::join(xids_, ", ")));
  }

  NvmlLibrary nvml_;
  NvmlDevice device_ = nullptr;
  NvmlEventSet errors_ = nullptr;
  bool open_ = false;
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
