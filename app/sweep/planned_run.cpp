#include "app/sweep/planned_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/model/backend_traits.h"
#include "profiling/export/setting_names.h"

namespace app {
namespace {

/// "13.10.0" -> {13, 10, 0}; missing parts are 0.
std::vector<long> numbers_of(const std::string& version) {
  std::vector<long> numbers;
  const char* at = version.data();
  const char* end = at + version.size();
  while (at < end) {
    long number = 0;
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) break;
    numbers.push_back(number);
    at = next < end && *next == '.' ? next + 1 : end;
  }
  numbers.resize(std::max<std::size_t>(numbers.size(), 3));
  return numbers;
}

}  // namespace

const BackendOffer* offer_of(const WorkerHello& hello, engine::GemmBackend kind) {
  // One offer of a worker serves every backend of its device.
  const auto found = std::ranges::find_if(hello.backends, [&](const BackendOffer& one) {
    return engine::traits_of(one.kind).device == engine::traits_of(kind).device;
  });
  return found == hello.backends.end() ? nullptr : &*found;
}

engine::DeviceCapability capability_of(const BackendOffer& offer) {
  if (!engine::traits_of(offer.kind).device) return {};
  const std::vector<long> architecture = numbers_of(offer.device.compute_capability);
  const std::vector<long> version = numbers_of(offer.device.cublaslt_version);
  return {.cuda = offer.available,
          .compute_major = static_cast<int>(architecture[0]),
          .compute_minor = static_cast<int>(architecture[1]),
          .cublaslt_version = version[0] * 10000 + version[1] * 100 + version[2]};
}

std::string refusal_of(const engine::RunRequest& request, const WorkerHello& hello) {
  if (const engine::Status limits = engine::validate(request); !limits.ok()) {
    return limits.error().message;
  }
  const BackendOffer* offer = offer_of(hello, request.backend);
  if (offer == nullptr || !offer->available) {
    return offer != nullptr && !offer->reason.empty()
               ? offer->reason
               : fmt::format("The worker has no backend {}", engine::name_of(request.backend));
  }
  const engine::DeviceCapability device = capability_of(*offer);
  const engine::Verdict recipe =
      engine::recipe_support(request.recipe, request.backend, device, request.linear);
  if (recipe.support == engine::Support::Refused) return recipe.sentence;
  // Without CUDA the worker runs eagerly and without a workspace, and says so in its result.
  if (!engine::traits_of(request.backend).device) return {};
  for (const engine::Verdict& verdict :
       {engine::workspace_support(request.workspace, request, device),
        engine::launch_support(request.launch, request.backend, device)}) {
    if (verdict.support == engine::Support::Refused) return verdict.sentence;
  }
  return {};
}

}  // namespace app
