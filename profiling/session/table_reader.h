// Reads recorded values out of their tables, column by column name.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "engine/model/error.h"
#include "profiling/session/layout.h"
#include "profiling/session/row_reader.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"

namespace profiling {

struct TableSource {
  sqlite3* database = nullptr;
  const std::string& path;
  const SessionLimits& limits;
  std::int64_t file_bytes = 0;  // main file and log: no table can hold more rows than bytes
  MemoryBudget& budget;
};

/// Fills `list`, a vector of what the layout is of. Tables or columns that the file lacks leave the
/// members' defaults. Every cell is checked for its type and its member's range; what must hold
/// between cells is limits.h.
engine::Status read_recorded(const TableSource& source, const Layout& layout,
                             const engine::Type& list_type, void* list);
template <class Recorded>
engine::Status read_recorded(const TableSource& source, std::vector<Recorded>& list) {
  return read_recorded(source, layout_of<Recorded>(), engine::kType<std::vector<Recorded>>, &list);
}

// The writer's check.

/// Whether a session with these tables could be opened; InvalidArgument says why not. `path`
/// begins the sentence.
engine::Status check_readable(sqlite3* database, const std::string& path);

}  // namespace profiling
