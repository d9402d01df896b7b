// What a session file is recognised by, and the tables that a writer makes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace profiling {

inline constexpr std::int32_t kApplicationId = 0x58505343;  // "XPSC", shown by `file`
/// PRAGMA user_version. A column or a table more is no new format: files without it have the
/// defaults of its members.
inline constexpr std::int32_t kFormat = 9;

struct TableDefinition {
  std::string name;
  std::string sql;
};
std::vector<TableDefinition> session_tables();

inline constexpr int kMaxTextCellBytes = 4 << 20;
inline constexpr int kMaxCellBytes = 32 << 20;  // of a blob
inline constexpr std::int64_t kMaxNotes = 1000;

}  // namespace profiling
