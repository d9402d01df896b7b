// The words for quantities, under the names by which plots and cards use them.
#pragma once

#include "profiling/document/quantity.h"
#include "profiling/hazards/model/kernel_name.h"

namespace app::plot {

using profiling::bytes_text;
using profiling::count_text;
using profiling::decibel_text;
using profiling::decibels;
using profiling::duration;
using profiling::duration_text;
using profiling::extent_text;
using profiling::flop_rate;
using profiling::kSnrDecimals;
using profiling::log2_text;
using profiling::number_text;
using profiling::percent_change;
using profiling::power_text;
using profiling::Quantity;
using profiling::share_text;
using profiling::short_kernel_name;
using profiling::si_text;
using profiling::time_unit;
using profiling::TimeUnit;
using profiling::work_label;
using profiling::work_name;

}  // namespace app::plot
