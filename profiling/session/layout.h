// How recorded values are stored in tables, derived from their descriptors (engine/model/fields.h),
// so that a new member is stored without further code:
//   number, text       a column of the member's name; an enumerator by its name, NaN as NULL
//   record             its columns, with the member's name and '_' in front
//   list               a table with a row per entry, keyed by the owner's key and a position
//   list of floats or  one cell: zstd of the numbers as in memory, little-endian
//    of bytes
//   variant, optional  a table per alternative, with a row where it is chosen
//   RunRequest         one cell: its JSON
// Names for people who query, and exceptions to these rules, are in tables.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/fields.h"
#include "profiling/hazards/model/snapshot.h"
#include "profiling/session/session_file.h"

namespace profiling {

struct StoredColumn {
  enum class Form : std::uint8_t {
    Value,      // a number, an enumerator's name, or a text that is made safe for display
    ExactText,  // a text that is read unchanged
    Number,     // an enumerator's number
    Packed,     // all numbers of a list
    Document,   // a RunRequest
    Size,       // number of entries of a list that its rows do not tell
    BulkSize,   // the same for StoredTable::bulk, bounded by SessionLimits only
  };
  std::string name = {};
  Form form = Form::Value;
  const engine::Type* type = nullptr;
  engine::FieldRules rules = {};
  std::size_t offset = 0;  // in the row's record; in a table of lists: in the entry
  std::size_t list = 0;    // index into StoredTable::places, in a table of lists
};

/// A column for people who query the file; the reader derives its value itself.
struct DerivedColumn {
  std::string_view name;
  double (*value)(const void* owner, std::int64_t position);
  bool integer = true;
};

struct StoredTable {
  enum class Rows : std::uint8_t {
    Recorded,     // one per recorded run, comparison, ...; numbers from 1
    Entries,      // one per entry of a list, or of several lists of one length; numbers from 0
    Members,      // one per member of the owner that has this type; the member's name
    Alternative,  // one where the owner's variant holds this alternative, or its optional a value
  };
  /// A member of the owner that has rows here.
  struct Place {
    std::string_view member;
    std::size_t offset = 0;  // in the owner's record
    const engine::Type* type = nullptr;
  };
  std::string name;
  std::string former_name = {};  // in recordings from before its member was renamed
  Rows rows = Rows::Recorded;
  std::string key;               // column that tells the rows of one owner apart
  std::string_view prefix = {};  // of the names of the tables of its members
  const StoredTable* owner = nullptr;
  const engine::Type* record = nullptr;  // of a row; of Entries that are no records: none
  std::vector<Place> places = {};
  std::size_t alternative = 0;
  std::vector<StoredColumn> columns = {};
  std::vector<DerivedColumn> derived = {};
  std::size_t derived_from = 0;  // offset of what DerivedColumn::value gets in the owner's record
  std::size_t most = 0;          // rows of one owner
  /// Millions of rows, owned by the recorded value itself: found by their order alone; their number
  /// is in its row.
  bool bulk = false;
  /// Entries that are 0 have no row; the owner's row has the number of entries.
  bool sparse = false;
  std::size_t number = 0;  // in Layout::tables

  /// Tables from the recorded value to this one.
  std::vector<const StoredTable*> chain() const;
};

/// All tables of one kind of recorded value; an owner comes before what it owns.
struct Layout {
  std::vector<std::unique_ptr<StoredTable>> tables;

  const StoredTable& root() const { return *tables.front(); }
  std::vector<const StoredTable*> parts_of(const StoredTable& owner) const;
};

/// An exception to the rules above for one member of one type.
struct MemberLayout {
  enum class How : std::uint8_t {
    AsUsual,
    Flat,    // the columns of this record without the member's name in front
    Rows,    // this record as a row of `table`, beside the owner's other members that are
    Packed,  // a list of records of numbers in one cell
    Bulk,    // StoredTable::bulk
    Sparse,  // StoredTable::sparse
    Exact,   // StoredColumn::Form::ExactText
    Apart,   // not stored here: recorded separately
  };
  const engine::Type* type = nullptr;
  std::string_view member = {};
  How how = How::AsUsual;
  std::string_view table = {};   // without the owner's prefix; else "OWNER_MEMBER"
  std::string_view prefix = {};  // StoredTable::prefix, if it is not that of the owner
  std::string_view key = {};     // else "position", or "MEMBER_position"
  std::string_view column = {};  // of a number, a text, or a list of them; else the member's name
  std::span<const DerivedColumn> derived = {};
};

/// All exceptions.
std::span<const MemberLayout> member_layouts();

Layout make_layout(const engine::Type& type, const RecordedKind& kind);

template <class Recorded>
const Layout& layout_of() {
  static const Layout layout = make_layout(engine::kType<Recorded>, Recorded::kKind);
  return layout;
}

/// The CREATE TABLE statement.
std::string definition_of(const StoredTable& table);

// The identity of a session file, and the tables that a writer creates.

inline constexpr std::int32_t kApplicationId = 0x58505343;  // "XPSC", shown by `file`
/// PRAGMA user_version. An additional column or table is not a new format: files without it have
/// the defaults of its members.
inline constexpr std::int32_t kFormat = 9;

struct TableDefinition {
  std::string name;
  std::string sql;
};
std::vector<TableDefinition> session_tables();

inline constexpr int kMaxTextCellBytes = 4 << 20;
inline constexpr int kMaxCellBytes = 32 << 20;  // of a blob
inline constexpr std::int64_t kMaxNotes = 1000;

// A captured graph, recorded separately from the run or visit that it belongs to.

struct RecordedSnapshot {
  static constexpr RecordedKind kKind = {.name = "snapshot", .table = "snapshots"};
  enum class Owner : std::uint8_t { Run, Visit };
  friend constexpr auto enum_names(Owner) {
    return std::to_array<std::string_view>({"run", "visit"});
  }
  Owner owner = Owner::Run;
  std::int64_t owner_id = 0;  // the number of its run or visit, from 1
  Snapshot snapshot = {};
  template <int = 0>
  static constexpr auto fields() {
    return std::array{
        engine::field<&RecordedSnapshot::owner>(),
        engine::field<&RecordedSnapshot::owner_id>({.low = 1, .high = engine::kMaxCount}),
        engine::field<&RecordedSnapshot::snapshot>()};
  }
};

}  // namespace profiling
