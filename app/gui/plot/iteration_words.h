// The words for iterations, under the names by which plots and cards use them.
#pragma once

#include "profiling/document/iteration_words.h"

namespace app {

using profiling::first_iteration;
using profiling::iteration_noun;
using profiling::shown_iteration;

}  // namespace app
