// Whether the tensors that a request reads from files have the sizes of its step, in the words of
// the settings that a person has: an expert layer's dY has k columns, and a token's row counts for
// each of its experts.
#pragma once

#include "engine/model/error.h"
#include "engine/model/run_request.h"

namespace engine {

/// The refusal says which settings make the tensor fit. It does so only if the request is then
/// valid and whatever fits now still does: following it never leads back here. What is wrong
/// with a file otherwise is found, and said, when it is opened.
Status check_operand_files(const RunRequest& request);

}  // namespace engine
