#include "app/controllers/foreseen_changes.h"

#include <utility>

#include "app/sweep/plan.h"
#include "engine/gemm/on_cpu.h"
#include "engine/model/backend_traits.h"

namespace app {

bool cpu_replaces_device(const engine::RunRequest& request, const OfferOf& offers) {
  if (!engine::traits_of(request.backend).device) return false;
  const BackendOffer* asked = offers(request.backend);
  const BackendOffer* cpu = offers(engine::GemmBackend::CpuReference);
  return (asked == nullptr || !asked->available) && cpu != nullptr && cpu->available;
}

bool cpu_replaces_device(const engine::RunRequest& request, const WorkerHello& hello) {
  return cpu_replaces_device(
      request, [&hello](engine::GemmBackend backend) { return offer_of(hello, backend); });
}

std::vector<engine::Deviation> foreseen_changes(const engine::RunRequest& request,
                                                const WorkerHello& hello) {
  const bool instead = cpu_replaces_device(request, hello);
  if (!instead && engine::traits_of(request.backend).device) return {};
  std::vector<engine::Deviation> changes = engine::settings_on_cpu(request).deviations;
  const BackendOffer* asked = offer_of(hello, request.backend);
  if (instead && asked != nullptr) {
    // The worker knows why better than the gate table, and its run will say it.
    for (engine::Deviation& one : changes) {
      if (one.field == "backend") one.reason = asked->reason;
    }
  }
  return changes;
}

}  // namespace app
