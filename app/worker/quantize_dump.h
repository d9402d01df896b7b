// Quantizes one operand with the CPU twins and writes codes, scales and amax as .npy files, so that
// anyone can check the numerics with their own tools.
#pragma once

#include <string>
#include <vector>

#include "app/protocol/worker_link.h"
#include "engine/model/error.h"

namespace app {

/// Writes codes.npy, scale_inv.npy (MXFP8 and NVFP4: scales.npy), amax.npy (not MXFP8), splits.npy
/// and manifest.json into order.folder (created if missing, files of these names replaced); the
/// columnwise arrays are codes_columnwise.npy and so on. Scales are written in the plain order of
/// their blocks, not in the layout a matmul needs; the manifest says how to decode. Returns the
/// paths written.
engine::Result<std::vector<std::string>> dump_quantized(const QuantizeOrder& order);

}  // namespace app
