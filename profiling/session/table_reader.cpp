// No list is sized by a number in the file: lists grow by the rows that exist, in the order of
// their keys, without gaps. The exceptions, bulk and sparse tables, are bounded by the file's size
// and the member's limit. Foreign tables, columns and indices are ignored.
#include "profiling/session/table_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <utility>

#include "engine/input/value_json.h"
#include "engine/model/path_text.h"
#include "engine/model/values.h"
#include "profiling/session/former_names.h"
#include "profiling/session/row_reader.h"

namespace profiling {
namespace {

using engine::Kind;
using engine::Type;
using Form = StoredColumn::Form;

char* at(void* record, std::size_t offset) { return static_cast<char*>(record) + offset; }

/// Range of a column of integers.
struct Range {
  std::int64_t low = RowReader::kAnyLow;
  std::int64_t high = RowReader::kAnyHigh;
};

Range range_of(const StoredColumn& column) {
  const Type& type = *column.type;
  if (column.form == Form::Number) {
    const auto [low, high] = std::ranges::minmax(type.names, {}, &engine::EnumName::value);
    return {low.value, high.value};
  }
  const engine::FieldRules any;
  const bool limited = column.rules.low != any.low || column.rules.high != any.high;
  Range range;
  if (type.kind == Kind::Bool) {
    range = {0, 1};
  } else if (type.size < sizeof(std::int64_t)) {
    const int bits = static_cast<int>(8 * type.size);
    range = type.kind == Kind::Signed
                ? Range{-(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1}
                : Range{0, (std::int64_t{1} << bits) - 1};
  } else if (type.kind == Kind::Unsigned && limited) {
    range.low = 0;  // without limits all 64 bits count, kept as signed
  }
  constexpr double kHigh = 9.2e18;
  if (column.rules.low > -kHigh) {
    range.low = std::max(range.low, static_cast<std::int64_t>(column.rules.low));
  }
  if (column.rules.high < kHigh) {
    range.high = std::min(range.high, static_cast<std::int64_t>(column.rules.high));
  }
  return range;
}

/// Little-endian: the low bytes come first. Each width by itself, so that none is a call.
void put_integer(std::size_t size, void* to, std::int64_t value) {
  switch (size) {
    case 1:
      std::memcpy(to, &value, 1);
      return;
    case 2:
      std::memcpy(to, &value, 2);
      return;
    case 4:
      std::memcpy(to, &value, 4);
      return;
    default:
      std::memcpy(to, &value, sizeof(value));
  }
}

/// One column of the file: where in a row it is and where its values go.
struct Cell {
  const StoredColumn* column;
  int index;
  Range range;
  std::size_t offset;   // as in StoredColumn
  std::size_t integer;  // bytes of one; 0 = another kind of value
};

bool is_integer(const StoredColumn& column) {
  const Kind kind = column.type->kind;
  return column.form == Form::Number ||
         (column.form == Form::Value &&
          (kind == Kind::Bool || kind == Kind::Signed || kind == Kind::Unsigned));
}

class TableReader {
 public:
  TableReader(const TableSource& source, const StoredTable& table, const Type& list_type,
              void* list)
      : source_(source), table_(table), chain_(table.chain()), list_type_(list_type), list_(list) {}

  engine::Status read() {
    ENGINE_TRY(find_columns());
    if (missing_) return {};
    RowReader rows(source_.database, source_.path, table_.name, query_, source_.budget,
                   bytes_per_row());
    if (table_.bulk) return read_bulk(rows);
    while (rows.next()) {
      index_ = 0;
      void* owner = owner_of(rows);
      if (rows.ok()) read_row(rows, owner);
    }
    return rows.take_status();
  }

 private:
  engine::Error refuse(const std::string& why) const {
    return {engine::ErrorCode::InvalidArgument,
            fmt::format("{}: table {} {}", engine::shown_path(source_.path), table_.name, why)};
  }

  struct Found {
    std::int64_t key = 0;  // place in the primary key, from 1
    bool computed = false;
  };
  using FoundColumns = std::map<std::string, Found>;

  /// All columns of a table; none if the file does not have it. Unknown ones are ignored.
  engine::Result<FoundColumns> columns_of(const std::string& table) const {
    FoundColumns found;
    RowReader columns(source_.database, source_.path, table,
                      fmt::format("PRAGMA table_xinfo(\"{}\")", table), source_.budget, 0);
    while (columns.next()) {
      found[columns.text(1, "name")] = {.key = columns.integer(5, "pk"),
                                        .computed = columns.integer(6, "hidden") != 0};
    }
    ENGINE_TRY(columns.take_status());
    return found;
  }

  /// Finds the columns and builds the query for them.
  engine::Status find_columns() {
    std::string name = table_.name;
    ENGINE_ASSIGN(FoundColumns found, columns_of(name));
    if (found.empty() && !table_.former_name.empty()) {
      name = table_.former_name;
      ENGINE_ASSIGN(found, columns_of(name));
    }
    missing_ = found.empty();
    if (missing_) return {};
    std::string select;
    std::string order;
    std::int64_t keys = 0;
    const auto add_key = [&](const std::string& key, bool ordered) -> engine::Status {
      const auto column = found.find(key);
      if (column == found.end() || column->second.computed) {
        return refuse(fmt::format("has no column {}", key));
      }
      // Otherwise SQLite would have to sort, with memory and time under the file's control.
      if (ordered && column->second.key != ++keys) {
        return refuse(fmt::format("is not kept in the order of {}", key));
      }
      if (ordered) order += fmt::format("{}\"{}\"", order.empty() ? "" : ", ", key);
      return {};
    };
    int index = 0;
    for (const StoredTable* level : chain_) {
      if (level->key.empty() || (level->bulk && level == &table_)) continue;
      ENGINE_TRY(add_key(level->key, !table_.bulk));
      select += fmt::format("{}\"{}\"", select.empty() ? "" : ", ", level->key);
      ++index;
    }
    if (table_.bulk) {
      ENGINE_TRY(add_key("record_id", true));
    }
    for (const StoredColumn& column : table_.columns) {
      const auto known = found.find(column.name);
      if (known == found.end()) continue;
      if (known->second.computed) {
        return refuse(fmt::format("computes its column {}", column.name));
      }
      select += fmt::format(", \"{}\"", column.name);
      cells_.push_back({.column = &column,
                        .index = index++,
                        .range = range_of(column),
                        .offset = column.offset,
                        .integer = is_integer(column) ? column.type->size : 0});
    }
    query_ = fmt::format("SELECT {} FROM \"{}\" ORDER BY {}", select, name, order);
    return {};
  }

  std::size_t bytes_per_row() const {
    if (table_.rows == StoredTable::Rows::Recorded) return list_type_.element->size;
    if (table_.rows != StoredTable::Rows::Entries || table_.bulk || table_.sparse) return 0;
    std::size_t bytes = 0;
    for (const StoredTable::Place& place : table_.places) bytes += place.type->element->size;
    return bytes;
  }

  /// The record that owns the row: along the keys, from the list of what is recorded.
  void* owner_of(RowReader& rows) {
    void* record = list_;
    for (const StoredTable* level : chain_) {
      if (level == &table_ || !rows.ok()) return record;
      record = step_into(rows, *level, record);
    }
    return record;
  }

  void* step_into(RowReader& rows, const StoredTable& level, void* owner) {
    switch (level.rows) {
      case StoredTable::Rows::Recorded: {
        const auto size = static_cast<std::int64_t>(list_type_.list.size(list_));
        const std::int64_t id = rows.integer(index_++, level.key, 1, size);
        if (!rows.ok()) return nullptr;
        return at(list_type_.list.data(list_),
                  static_cast<std::size_t>(id - 1) * list_type_.element->size);
      }
      case StoredTable::Rows::Entries: {
        const StoredTable::Place& place = level.places.front();
        void* list = at(owner, place.offset);
        const auto size = static_cast<std::int64_t>(place.type->list.size(list));
        const std::int64_t entry = rows.integer(index_++, level.key, 0, size - 1);
        if (!rows.ok()) return nullptr;
        return at(place.type->list.data(list),
                  static_cast<std::size_t>(entry) * place.type->element->size);
      }
      case StoredTable::Rows::Members:
        return member_of(rows, level, owner);
      case StoredTable::Rows::Alternative:
        return held_by(rows, level, owner);
    }
    return nullptr;
  }

  void* member_of(RowReader& rows, const StoredTable& level, void* owner) {
    const std::string name = rows.text(index_++, level.key);
    for (const StoredTable::Place& place : level.places) {
      if (place.member == name) return at(owner, place.offset);
    }
    rows.refuse(fmt::format("{} is '{}', which is none of the {} known", level.key,
                            name.substr(0, 40), level.places.size()));
    return nullptr;
  }

  /// The value of an alternative whose row has been read before.
  static void* held_by(RowReader& rows, const StoredTable& level, void* owner) {
    const StoredTable::Place& place = level.places.front();
    void* choice = at(owner, place.offset);
    if (place.type->kind == Kind::Optional) {
      if (const void* held = place.type->maybe.value(choice)) return const_cast<void*>(held);
    } else if (place.type->choice.index(choice) == level.alternative) {
      return place.type->choice.chosen(choice);
    }
    rows.refuse(fmt::format("its row of {} is missing", level.name));
    return nullptr;
  }

  /// Millions of rows, in the order of the recorded values.
  engine::Status read_bulk(RowReader& rows) {
    const StoredTable::Place& place = table_.places.front();
    const std::size_t stride = place.type->element->size;
    const auto owners = static_cast<std::int64_t>(list_type_.list.size(list_));
    std::vector<std::size_t> filled(static_cast<std::size_t>(owners));
    const auto list_of = [&](std::size_t owner) {
      return at(at(list_type_.list.data(list_), owner * list_type_.element->size), place.offset);
    };
    std::int64_t current = 0;
    char* entries = nullptr;
    std::size_t size = 0;
    while (rows.next()) {
      const std::int64_t id = rows.integer(0, chain_.front()->key, 1, owners);
      if (!rows.ok()) break;
      const auto owner = static_cast<std::size_t>(id - 1);
      if (id != current) {
        current = id;
        size = place.type->list.size(list_of(owner));
        entries = static_cast<char*>(place.type->list.data(list_of(owner)));
      }
      if (filled[owner] == size) {
        rows.refuse(fmt::format("there are more rows than the {}_size of {}", place.member, size));
        break;
      }
      read_cells(rows, entries + filled[owner]++ * stride);
    }
    engine::Status status = rows.take_status();
    for (std::size_t i = 0; status.ok() && i < filled.size(); ++i) {
      const std::size_t wanted = place.type->list.size(list_of(i));
      if (filled[i] == wanted) continue;
      status = refuse(fmt::format("has {} rows of {} {} and a {}_size of {}", filled[i],
                                  chain_.front()->key, i + 1, place.member, wanted));
    }
    return status;
  }

  /// Appends an entry for the row and fills it.
  void read_row(RowReader& rows, void* owner) {
    switch (table_.rows) {
      case StoredTable::Rows::Recorded:
        return read_recorded_row(rows);
      case StoredTable::Rows::Entries:
        return read_entry(rows, owner);
      case StoredTable::Rows::Members: {
        void* record = member_of(rows, table_, owner);
        if (rows.ok()) read_cells(rows, record);
        return;
      }
      case StoredTable::Rows::Alternative: {
        const StoredTable::Place& place = table_.places.front();
        void* choice = at(owner, place.offset);
        if (place.type->kind == Kind::Optional)
          return read_cells(rows, place.type->maybe.make(choice));
        const std::size_t held = place.type->choice.index(choice);
        if (place.type->choice.types[held] != nullptr) {
          return rows.refuse(fmt::format("{} has two alternatives", place.member));
        }
        return read_cells(rows, place.type->choice.choose(choice, table_.alternative));
      }
    }
  }

  void read_recorded_row(RowReader& rows) {
    const std::size_t size = list_type_.list.size(list_);
    if (std::cmp_equal(size, source_.limits.max_runs)) {
      return rows.refuse(fmt::format("the file has more {} than the limit of {}", table_.name,
                                     source_.limits.max_runs));
    }
    if (!is_next(rows, size, 1, std::numeric_limits<std::int64_t>::max())) return;
    list_type_.list.resize(list_, size + 1);
    read_cells(rows, at(list_type_.list.data(list_), size * list_type_.element->size));
  }

  /// Whether the key is that of the row that follows `size` others.
  bool is_next(RowReader& rows, std::size_t size, std::int64_t first, std::int64_t most) {
    const std::int64_t key = rows.integer(index_++, table_.key, first, most);
    const std::int64_t next = static_cast<std::int64_t>(size) + first;
    if (rows.ok() && key != next) {
      rows.refuse(fmt::format("{} is {} where {} comes next", table_.key, key, next));
    }
    return rows.ok();
  }

  void read_entry(RowReader& rows, void* owner) {
    const StoredTable::Place& first = table_.places.front();
    const std::size_t size = first.type->list.size(at(owner, first.offset));
    std::size_t entry = size;
    if (table_.sparse) {
      entry = static_cast<std::size_t>(
          rows.integer(index_++, table_.key, 0, static_cast<std::int64_t>(size) - 1));
      if (!rows.ok()) return;
    } else if (!is_next(rows, size, 0, static_cast<std::int64_t>(table_.most) - 1)) {
      return;
    } else {
      for (const StoredTable::Place& place : table_.places) {
        if (!place.type->list.resize(at(owner, place.offset), size + 1)) {
          return rows.refuse(fmt::format("{} takes {} entries", place.member, size));
        }
      }
    }
    if (table_.record != nullptr) {
      return read_cells(rows, at(first.type->list.data(at(owner, first.offset)),
                                 entry * first.type->element->size));
    }
    for (const Cell& cell : cells_) {
      const StoredTable::Place& place = table_.places[cell.column->list];
      read_cell(
          rows, cell,
          at(place.type->list.data(at(owner, place.offset)), entry * place.type->element->size));
    }
  }

  void read_cells(RowReader& rows, void* record) {
    for (const Cell& cell : cells_) read_cell(rows, cell, at(record, cell.offset));
  }

  void read_cell(RowReader& rows, const Cell& cell, void* to) {
    const StoredColumn& column = *cell.column;
    if (cell.integer != 0) {  // most cells of a large file
      return put_integer(cell.integer, to,
                         rows.integer(cell.index, column.name, cell.range.low, cell.range.high));
    }
    if (!rows.ok()) return;
    switch (column.form) {
      case Form::Value:
      case Form::Number:
        return read_value(rows, cell, to);
      case Form::ExactText:
        *static_cast<std::string*>(to) = rows.exact_text(cell.index, column.name);
        return;
      case Form::Packed:
        return read_packed(rows, cell, to);
      case Form::Document:
        return read_document(rows, cell, to);
      case Form::Size:
      case Form::BulkSize:
        return read_size(rows, cell, to);
    }
  }

  static void read_value(RowReader& rows, const Cell& cell, void* to) {
    const StoredColumn& column = *cell.column;
    const Type& type = *column.type;
    if (type.kind == Kind::Text) {
      *static_cast<std::string*>(to) = rows.text(cell.index, column.name);
    } else if (type.kind == Kind::Enum) {
      const std::string name = rows.text(cell.index, column.name);
      auto known = std::ranges::find(type.names, name, &engine::EnumName::name);
      if (known == type.names.end()) {
        known = std::ranges::find(type.names, present_name(name), &engine::EnumName::name);
      }
      if (rows.ok() && known == type.names.end()) {
        rows.refuse(fmt::format("{} is '{}', which is none of the {} known", column.name,
                                name.substr(0, 40), type.names.size()));
      }
      if (rows.ok()) put_integer(type.size, to, known->value);
    } else {
      engine::store(type, to, rows.real_or_nan(cell.index, column.name));
      const std::string flaw = engine::number_flaw(type, to, column.rules);
      if (!flaw.empty()) rows.refuse(fmt::format("{} {}", column.name, flaw));
    }
  }

  static void read_packed(RowReader& rows, const Cell& cell, void* list) {
    const StoredColumn& column = *cell.column;
    const std::span<const std::byte> blob = rows.blob(cell.index, column.name);
    if (!rows.ok()) return;
    const std::size_t element = column.type->element->size;
    const engine::Result<std::size_t> content = content_bytes(blob);
    if (!content.ok()) {
      return rows.refuse(fmt::format("blob {} {}", column.name, content.error().message));
    }
    const std::size_t bytes = content.value();
    const std::size_t most = column.rules.most;
    if (bytes % element != 0 || bytes / element > most) {
      return rows.refuse(fmt::format(
          "blob {} declares {} bytes of content; it takes at most {} numbers of {} bytes",
          column.name, bytes, most, element));
    }
    if (!rows.take(bytes)) return;
    if (!column.type->list.resize(list, bytes / element)) {
      return rows.refuse(fmt::format("blob {} has {} numbers", column.name, bytes / element));
    }
    const engine::Status status =
        decompress_bytes(blob, {static_cast<std::byte*>(column.type->list.data(list)), bytes});
    if (!status.ok()) {
      rows.refuse(fmt::format("blob {} {}", column.name, status.error().message));
    }
  }

  void read_document(RowReader& rows, const Cell& cell, void* to) const {
    const std::string json = rows.exact_text(cell.index, cell.column->name);
    if (!rows.ok()) return;
    engine::Result<engine::RunRequest> request = engine::request_from_json(json);
    if (request.ok()) {
      *static_cast<engine::RunRequest*>(to) = std::move(request).value();
    } else {
      rows.refuse(fmt::format("{}: {}", cell.column->name, request.error().message));
    }
  }

  /// A row takes more than one byte, so the file's size bounds the allocation.
  void read_size(RowReader& rows, const Cell& cell, void* list) {
    const StoredColumn& column = *cell.column;
    const bool bulk = column.form == Form::BulkSize;
    const std::int64_t limit =
        bulk ? std::min(source_.limits.max_records - bulk_rows_, source_.file_bytes)
             : cell.range.high;
    const std::int64_t size = rows.integer(cell.index, column.name, 0, limit);
    if (!rows.ok()) return;
    if (bulk) bulk_rows_ += size;
    const auto entries = static_cast<std::size_t>(size);
    if (rows.take(entries * column.type->element->size)) column.type->list.resize(list, entries);
  }

  const TableSource& source_;
  const StoredTable& table_;
  const std::vector<const StoredTable*> chain_;
  const Type& list_type_;
  void* list_;
  std::vector<Cell> cells_;
  std::string query_;
  bool missing_ = false;
  int index_ = 0;  // of the next key in the row
  std::int64_t bulk_rows_ = 0;
};

}  // namespace

engine::Status read_recorded(const TableSource& source, const Layout& layout,
                             const engine::Type& list_type, void* list) {
  for (const auto& table : layout.tables) {
    ENGINE_TRY(TableReader(source, *table, list_type, list).read());
    if (list_type.list.size(list) == 0) break;  // nothing that rows could belong to
  }
  return {};
}

}  // namespace profiling
