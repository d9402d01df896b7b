// The few NVML functions that the sampler calls, with answers known to the test.
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "profiling/power/nvml_library.h"

namespace {
int the_device = 0;

/// A driver that never answers.
void wait_if_stuck() {
  if (std::getenv("FAKE_NVML_STUCK") != nullptr) std::this_thread::sleep_for(std::chrono::hours(1));
}
}  // namespace

extern "C" {

int nvmlInit_v2() { return 0; }
int nvmlShutdown() { return 0; }
const char* nvmlErrorString(int result) { return result == 6 ? "Not Found" : "Unknown Error"; }

int nvmlSystemGetDriverVersion(char* version, unsigned length) {
  std::strncpy(version, "123.45", length);
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  if (std::strcmp(bus_id, "0000:01:00.0") != 0) return 6;
  *device = &the_device;
  return 0;
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* megahertz) {
  if (device != &the_device) return 2;
  *megahertz = type == profiling::kNvmlClockSm ? 1755 : 3201;
  return 0;
}

int nvmlDeviceGetPowerUsage(void*, unsigned* milliwatts) {
  *milliwatts = 111000;
  return 0;
}

int nvmlDeviceGetTemperature(void*, int, unsigned*) { return 3; }  // not supported here

int nvmlDeviceGetCurrentClocksEventReasons(void*, unsigned long long* reasons) {
  *reasons = 0x4;
  return 0;
}

int nvmlDeviceGetFieldValues(void*, int count, profiling::NvmlFieldValue* values) {
  wait_if_stuck();
  for (int i = 0; i < count; ++i) {
    values[i].status = values[i].field == profiling::kNvmlFieldPowerInstant ? 0 : 3;
    values[i].as_unsigned = 642500;
  }
  return 0;
}

int nvmlDeviceGetUtilizationRates(void*, profiling::NvmlUtilisation* share) {
  wait_if_stuck();
  share->gpu = 100;
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(void*, unsigned* milliwatts) {
  *milliwatts = 700000;
  return 0;
}

int nvmlDeviceGetComputeRunningProcesses_v3(void*, unsigned* count, profiling::NvmlProcess*) {
  *count = 2;
  return 0;
}

int nvmlEventSetCreate(void** set) {
  *set = &the_device;
  return 0;
}
int nvmlDeviceRegisterEvents(void*, unsigned long long, void*) { return 0; }
int nvmlEventSetFree(void*) { return 0; }

int nvmlEventSetWait_v2(void*, profiling::NvmlEvent* event, unsigned) {
  static bool reported = false;
  if (reported) return 10;  // timeout
  reported = true;
  event->data = 31;
  return 0;
}

}  // extern "C"
