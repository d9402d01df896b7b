// The typical error of an operand's elements beside that of their sum: a few columns with outliers
// decide the sum of squares, and with it the SNR, whatever happens to all other elements. Host
// arrays, so both backends state it the same way.
#pragma once

#include "kernels/common/types.h"

namespace engine {

/// Median over blocks of kErrorBlock neighbours in a row (fewer at its end) of 10 log10(sum x^2 /
/// sum (x - decoded)^2), of finite elements. Blocks of zeros are left out; a block that comes back
/// exactly counts as +inf. NaN without any other block. Does not depend on the number of threads.
double median_block_snr_db(const kernels::GroupedInput& input, const float* decoded);

}  // namespace engine
