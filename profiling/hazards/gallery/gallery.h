// Programs with one known mistake each, and their healthy twins;
// profiling/hazards/model/gallery_catalogue.h is their catalogue.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>
#include <string>

#include "engine/model/error.h"
#include "profiling/hazards/proofs/subject.h"

namespace profiling {

/// NotFound for an unknown name, and for "shared-workspace", which is a step.
engine::Result<std::unique_ptr<Subject>> make_gallery_subject(const std::string& case_id,
                                                              bool healthy, cudaStream_t stream);

}  // namespace profiling
