// The candidates of a product are timed once per key (shape, splits, types) and process; later
// products with that key take over what was found.
#pragma once

#include <functional>
#include <string>

#include "engine/gemm/grouped_product.h"

namespace engine {

/// The remembered trial of `key`, or a new one: `launch(i)` enqueues candidate i on `stream`. A
/// candidate that fails to launch is passed over; an error if all fail. Synchronises.
Result<AlgorithmTrial> remembered_trial(const std::string& key, int candidates, cudaStream_t stream,
                                        const std::function<Status(int)>& launch);

}  // namespace engine
