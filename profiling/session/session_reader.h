// What the writer asks of the reader.
#pragma once

#include <string>

#include "engine/model/error.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"

namespace profiling {

/// Whether a session whose tables are these could be opened; InvalidArgument says why not. `path`
/// begins the sentence.
engine::Status check_readable(sqlite3* database, const std::string& path,
                              const RequestCodec& codec);

}  // namespace profiling
