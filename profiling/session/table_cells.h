// Groups of cells that several tables hold, read and checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/model/run_result.h"
#include "profiling/session/row_reader.h"
#include "profiling/session/session_file.h"

namespace profiling {

/// The next position of a list that has `size` entries and may have `limit`.
bool at_next(RowReader& rows, const char* column, std::size_t size, std::int64_t limit);
engine::RunRequest request_of(RowReader& rows, const char* column, const RequestCodec& codec);
engine::DeviceFacts device_of(RowReader& rows);
/// A compressed blob of exactly `count` floats.
std::vector<float> cells_of(RowReader& rows, const char* column, std::size_t count);

}  // namespace profiling
