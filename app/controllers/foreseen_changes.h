// What a run will change of its request, said before it is made: where the request's device is not
// there, the CPU reference takes its place.
#pragma once

#include <functional>
#include <vector>

#include "app/protocol/worker_link.h"
#include "engine/model/run_request.h"
#include "engine/model/run_result.h"

namespace app {

/// All changes of a run on the CPU reference, whether the request asks for it or its own backend is
/// not available. None for a device that is there: only its run knows them.
std::vector<engine::Deviation> foreseen_changes(const engine::RunRequest& request,
                                                const WorkerHello& hello);

/// What a worker has for a backend; null = nothing.
using OfferOf = std::function<const BackendOffer*(engine::GemmBackend)>;

/// The request's backend needs a device and is not available, and the CPU reference is.
bool cpu_replaces_device(const engine::RunRequest& request, const OfferOf& offers);
bool cpu_replaces_device(const engine::RunRequest& request, const WorkerHello& hello);

}  // namespace app
