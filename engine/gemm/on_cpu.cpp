#include "engine/gemm/on_cpu.h"

#include <iterator>
#include <utility>

namespace engine {
namespace {

constexpr DeviceCapability kNoDeviceThere = {};

template <class Enum>
Deviation changed_word(const char* field, Enum requested, Enum effective, std::string reason) {
  return {.field = field,
          .requested = std::string(name_of(requested)),
          .effective = std::string(name_of(effective)),
          .reason = std::move(reason)};
}

}  // namespace

ForcedSettings settings_on_cpu(const RunRequest& request) {
  ForcedSettings here{.effective = request, .deviations = {}};
  RunRequest& effective = here.effective;
  if (traits_of(effective.backend).device) {
    here.deviations.push_back(
        changed_word("backend", effective.backend, GemmBackend::CpuReference,
                     recipe_support(effective.recipe, effective.backend, kNoDeviceThere).sentence));
    effective.backend = GemmBackend::CpuReference;
  }
  const Verdict launch = launch_support(effective.launch, effective.backend, kNoDeviceThere);
  if (effective.launch.kind != LaunchKind::Eager && launch.support == Support::Refused) {
    here.deviations.push_back(
        changed_word("launch", effective.launch.kind, LaunchKind::Eager, launch.sentence));
    effective.launch.kind = LaunchKind::Eager;
  }
  ForcedSettings forced = forced_settings(effective);
  effective = std::move(forced.effective);
  std::move(forced.deviations.begin(), forced.deviations.end(),
            std::back_inserter(here.deviations));
  return here;
}

}  // namespace engine
