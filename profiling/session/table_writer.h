// Writes recorded values into their tables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/model/error.h"
#include "profiling/session/layout.h"
#include "profiling/session/session_file.h"
#include "profiling/session/sqlite_handle.h"

namespace profiling {

struct Target {
  sqlite3* database = nullptr;
  const std::string& path;
};

/// Inside the caller's transaction. InvalidArgument: a value that cannot be stored: an enumerator
/// without a name, or a text that is not UTF-8.
class RecordWriter {
 public:
  RecordWriter(const Target& to, const Layout& layout);

  /// Writes `record`, with number `id`, and everything that it owns.
  engine::Status write(std::int64_t id, const void* record);
  /// Replaces the record's rows in one table, which must belong to the record itself.
  engine::Status replace(std::string_view table, std::int64_t id, const void* record);

 private:
  using Key = std::variant<std::int64_t, std::string_view>;

  void write_table(const StoredTable& table, const void* owner);
  void write_row(const StoredTable& table, const Key& key, const void* owner, const void* record);
  void write_entries(const StoredTable& table, const void* owner);
  void write_entry(const StoredTable& table, const void* owner, std::size_t entry);
  void write_parts(const StoredTable& table, const void* record);
  void write_derived(const StoredTable& table, const void* owner, std::int64_t position);
  void bind_keys(const StoredTable& table);
  void bind(const StoredTable& table, const StoredColumn& column, const void* value);
  void bind_value(const StoredTable& table, const StoredColumn& column, const void* value);
  Statement* statement_of(const StoredTable& table);
  void finish(const StoredTable& table);
  void refuse(const StoredTable& table, const StoredColumn& column, std::string_view why);

  const Target& to_;
  const Layout& layout_;
  std::vector<std::vector<const StoredTable*>> parts_;  // of each table
  std::vector<Statement> statements_;                   // of each table, prepared for its first row
  std::vector<Key> keys_;                               // of the row that is being written
  engine::Status status_;
};

template <class Recorded>
engine::Status write_recorded(const Target& to, std::int64_t id, const Recorded& recorded) {
  return RecordWriter(to, layout_of<Recorded>()).write(id, &recorded);
}

/// In place of the notes that the `run`-th run has; 0 = the first.
engine::Status replace_time_notes(const Target& to, std::size_t run,
                                  const std::vector<TimeNote>& notes);
/// In place of the name that the `run`-th run has. A file from before runs had names gets the
/// column.
engine::Status replace_run_name(const Target& to, std::size_t run, const std::string& name);

}  // namespace profiling
